// The right to answer one request, once.
//
// Promises: the first answer wins, whatever thread it comes from; later ones are ignored; an
// exchange that is let go without an answer answers 500 by itself; an answer after the client or
// the server is gone does nothing.

/// The right to answer one request.
public final class HTTPExchange: Sendable {
  private let destination: Destination

  private enum Destination: Sendable {
    case connection(ExchangeState)
    case receiver(CallbackResponder)
  }

  init(_ state: ExchangeState) {
    destination = .connection(state)
  }

  /// An exchange without a socket, for tests and for calls inside the process.
  ///
  /// - Parameter receive: called at most once, on the thread that answers.
  public init(receive: @escaping @Sendable (HTTPAnswer) -> Void) {
    destination = .receiver(CallbackResponder(receive))
  }

  deinit {
    switch destination {
    case .connection(let state): state.giveUp()
    case .receiver(let receiver): receiver.give(.response(HTTPProblem.unanswered.response()))
    }
  }

  /// Says what kind of request it is, in the handler's own numbers above 0.
  public func mark(_ kind: UInt8) {
    if case .connection(let state) = destination { state.mark.store(kind, ordering: .relaxed) }
  }

  /// Answers with a value.
  public func respond(_ response: HTTPResponse) {
    answer(.response(response))
  }

  /// Answers with a response made before; costs no copy of the body.
  ///
  /// - Parameter rings: of many exchanges that are answered in a row; then it is sent when these
  ///   are rung, at the latest.
  public func respond(_ prepared: PreparedResponse, _ rings: WakeupBatch? = nil) {
    answer(.prepared(prepared), rings)
  }

  /// Answers 304 in place of a response made before: its header fields and its length, without its
  /// body. Costs no allocation.
  public func respondNotModified(_ prepared: PreparedResponse) {
    answer(.notModified(prepared))
  }

  /// Answers with bytes that `source` makes while they are sent.
  ///
  /// `source` is asked only when the socket can take more. The length is not known beforehand:
  /// the bytes go out in chunks (HTTP/1.1) or until the connection closes (HTTP/1.0).
  public func stream(
    status: Int = 200, headers: [(name: String, value: String)] = [], _ source: any StreamSource
  ) {
    let stream = HTTPStream(source)
    source.opened(stream)
    answer(.stream(status: status, headers: headers, stream))
  }

  /// Registers what to do when the client leaves before its answer was given, or before its
  /// stream ended. Called at most once, on a thread of the server's, also at once if the client
  /// has already gone; never after an answer other than a stream. A later call replaces an
  /// earlier one. Let `body` not hold this exchange, or letting go of it goes unnoticed.
  public func onDisconnect(_ body: @escaping @Sendable () -> Void) {
    if case .connection(let state) = destination { state.onDisconnect(body) }
  }

  /// To be called before something is begun that may change what is stored: from now on the client
  /// gets this exchange's answer or none. A server that stops closes the connection instead of
  /// answering 503, and the answer is sent whatever memory it takes.
  public func forbidRefusal() {
    if case .connection(let state) = destination { state.forbidRefusal() }
  }

  /// Whether bodies and answers take all the memory that there is for them, so that an answer that
  /// is made now would be refused.
  public var isMemoryExhausted: Bool {
    guard case .connection(let state) = destination else { return false }
    return !state.server.memory.hasRoom(for: 1)
  }

  /// Whether the client has left before its answer was given, so that nobody waits for it.
  public var isLeft: Bool {
    if case .connection(let state) = destination { state.isLeft } else { false }
  }

  private func answer(_ answer: HTTPAnswer, _ rings: WakeupBatch? = nil) {
    let accepted =
      switch destination {
      case .connection(let state): state.answer(answer, rings)
      case .receiver(let receiver): receiver.give(answer)
      }
    if !accepted { answer.stream?.finish() }
  }
}
