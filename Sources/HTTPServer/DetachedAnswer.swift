// Where the answer of an exchange without a socket goes.

/// Hands the first answer on and forgets its receiver.
final class DetachedAnswer: Sendable {
  /// Guards the receiver, so that it is called once.
  private let receiver: Guarded<(@Sendable (HTTPAnswer) -> Void)?>

  init(_ receive: @escaping @Sendable (HTTPAnswer) -> Void) {
    receiver = Guarded(receive)
  }

  /// Whether this was the first answer.
  @discardableResult
  func give(_ answer: HTTPAnswer) -> Bool {
    let receive = receiver.withLock { receiver in
      defer { receiver = nil }
      return receiver
    }
    receive?(answer)
    return receive != nil
  }
}
