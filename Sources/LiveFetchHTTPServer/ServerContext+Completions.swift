// The identity of a request and its end, for logs and quotas.
//
// Enters: a request whose head was examined. Leaves: the header fields that all its responses have,
// and one completion.

extension ServerContext {
  /// A year, in seconds.
  private static let strictTransport =
    (name: "Strict-Transport-Security", value: "max-age=31536000")

  /// Determines the request's id, and the fields that belong to every response to it.
  func identify(_ exchange: ExchangeState) {
    exchange.arrived = Deadlines.now
    exchange.origin = exchange.intake.headers.first("origin")
    if exchange.intake.forwarded?.isSecure ?? (configuration.certificate != nil) {
      exchange.extraHeaders = [Self.strictTransport]
    }
    let sent = exchange.intake.headers.first("x-request-id").flatMap(RequestID.usable)
    guard let id = sent ?? (configuration.reportsCompletions ? RequestID.new : nil) else { return }
    exchange.requestID = id
    exchange.extraHeaders.append(("X-Request-Id", id))
  }
}

/// `X-Request-Id`.
package enum RequestID {
  private static let maxCount = 128

  /// The text if it can be repeated in a header and in a log.
  static func usable(_ text: String) -> String? {
    let isUsable = (1...maxCount).contains(text.utf8.count) && text.utf8.allSatisfy(isAllowed)
    return isUsable ? text : nil
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    isTokenByte(byte) || [0x2B, 0x2F, 0x3A, 0x3D, 0x40].contains(byte)  // + / : = @
  }

  /// 32 random hexadecimal digits.
  package static var new: String {
    let digits = String(UInt128.random(in: 0 ... .max), radix: 16)
    return String(repeating: "0", count: 32 - digits.count) + digits
  }
}

extension ExchangeState {
  private static let clientClosedRequest = 499

  /// Records the status of the response, and the bytes of its body that are known beforehand.
  func recordResponse(_ status: Int, bytes: Int) {
    sent.status = sendableStatus(status)
    if bytes > 0 { willSend(bytes: bytes) }
  }

  /// Counts bytes of the response's body.
  func willSend(bytes: Int) {
    sent.bytes &+= bytes
    attachment?.willSend(bytes: bytes)
  }

  /// Reports the end of the request, unless its head was not complete.
  func report() {
    let attachment = detach()
    guard arrived != 0, attachment != nil || server.configuration.reportsCompletions else { return }
    var completion = HTTPCompletion()
    completion.requestID = requestID
    completion.method = intake.method
    completion.status = sent.status == 0 ? Self.clientClosedRequest : sent.status
    completion.nanoseconds = Deadlines.now &- arrived
    completion.bodyBytes = sent.bytes
    completion.clientAddress = (intake.forwarded?.client ?? connection.address)?.description ?? ""
    if let attachment {
      attachment.completed(completion)
    } else {
      server.handler.completed(completion)
    }
  }
}
