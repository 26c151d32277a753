// Receives the response of an exchange without a socket.

/// Passes the first response to a closure and releases it.
final class CallbackResponder: Sendable {
  /// Protects the closure, which is called once.
  private let receiver: SanitizedMutex<(@Sendable (AnyHTTPResponse) -> Void)?>

  init(_ receive: @escaping @Sendable (AnyHTTPResponse) -> Void) {
    receiver = SanitizedMutex(receive)
  }

  /// Protects an object that lives as long as the exchange.
  private let attachment = SanitizedMutex<(any ExchangeAttachment)?>(nil)

  var attached: (any ExchangeAttachment)? { attachment.withLock { $0 } }

  func attach(_ attachment: any ExchangeAttachment) {
    self.attachment.withLock { $0 = attachment }
  }

  /// Returns true if this was the first response.
  @discardableResult
  func give(_ response: AnyHTTPResponse) -> Bool {
    let receive = receiver.withLock { receiver in
      defer { receiver = nil }
      return receiver
    }
    receive?(response)
    return receive != nil
  }
}
