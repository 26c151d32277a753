// The right to respond to one request, once.
//
// Promises: the first response wins, whatever thread it comes from; later ones are ignored; an
// exchange that is released without a response sends 500; a response after the client has
// disconnected or the server has stopped does nothing.

/// The right to respond to one request.
public final class HTTPExchange: Sendable {
  private let destination: Destination

  private enum Destination: Sendable {
    case connection(ExchangeState)
    case receiver(CallbackResponder)
  }

  private static let unanswered = AnyHTTPResponse.response(HTTPProblem.unanswered.response())

  init(_ state: ExchangeState) {
    destination = .connection(state)
  }

  /// Creates an exchange without a socket, for tests and for calls within the process.
  ///
  /// - Parameter receive: called at most once, on the thread that responds.
  public init(receive: @escaping @Sendable (AnyHTTPResponse) -> Void) {
    destination = .receiver(CallbackResponder(receive))
  }

  deinit {
    switch destination {
    case .connection(let state): state.handleRelease()
    case .receiver(let receiver): receiver.give(Self.unanswered)
    }
  }

  /// Sets the kind of request for metrics: a number above 0 that the handler defines.
  public func setTag(_ kind: UInt8) {
    if case .connection(let state) = destination { state.tag.store(kind, ordering: .relaxed) }
  }

  /// `X-Request-Id` of the response; nil if it has none.
  public var requestID: String? {
    guard case .connection(let state) = destination, !state.requestID.isEmpty else { return nil }
    return state.requestID
  }

  /// Attaches an object to the request. It is released when the request is completed; a later one
  /// replaces it.
  public func attach(_ attachment: any ExchangeAttachment) {
    switch destination {
    case .connection(let state): state.attach(attachment)
    case .receiver(let receiver): receiver.attach(attachment)
    }
  }

  /// The object that was attached last; nil without one.
  public var attachment: (any ExchangeAttachment)? {
    switch destination {
    case .connection(let state): state.attachment
    case .receiver(let receiver): receiver.attached
    }
  }

  /// Sends a response.
  public func respond(_ response: HTTPResponse) {
    send(.response(response))
  }

  /// Sends a prepared response; the body is not copied.
  ///
  /// - Parameter wakeups: pass one batch when responding to many exchanges in a row. The responses
  ///   are sent when ``WakeupBatch/wake()`` is called, at the latest.
  public func respond(_ prepared: PreparedResponse, _ wakeups: WakeupBatch? = nil) {
    send(.prepared(prepared), wakeups)
  }

  /// Sends the bytes that `source` produces while they are sent.
  ///
  /// The server calls `source` only when the socket has room. The length is not known beforehand:
  /// the bytes are sent in chunks (HTTP/1.1) or until the connection closes (HTTP/1.0).
  public func stream(
    status: Int = 200, headers: [(name: String, value: String)] = [], _ source: any StreamSource
  ) {
    let stream = HTTPStream(source)
    source.opened(stream)
    send(.stream(status: status, headers: headers, stream))
  }

  /// Registers a closure for a client that disconnects before its response was given, or before its
  /// stream ended. It is called at most once, on a thread of the server, immediately if the client
  /// has already disconnected, and never after a response other than a stream. A later call
  /// replaces an earlier one. `body` must not retain this exchange, because then releasing the
  /// exchange would not be detected.
  public func onDisconnect(_ body: @escaping @Sendable () -> Void) {
    if case .connection(let state) = destination { state.onDisconnect(body) }
  }

  /// Call before an action that may change stored data: from now on the client gets this exchange's
  /// response or none. A server that stops closes the connection instead of sending 503, and the
  /// response is sent even beyond the memory limit.
  public func forbidRefusal() {
    if case .connection(let state) = destination { state.forbidRefusal() }
  }

  /// True if request bodies and responses use all the memory available to them, so that a response
  /// made now would be refused.
  public var isMemoryExhausted: Bool {
    guard case .connection(let state) = destination else { return false }
    return !state.server.memory.hasRoom(for: 1)
  }

  /// True if the client disconnected before its response was given.
  public var isDisconnected: Bool {
    if case .connection(let state) = destination { state.isDisconnected } else { false }
  }

  private func send(_ response: AnyHTTPResponse, _ wakeups: WakeupBatch? = nil) {
    let accepted =
      switch destination {
      case .connection(let state): state.respond(response, wakeups)
      case .receiver(let receiver): receiver.give(response)
      }
    if !accepted { response.stream?.finish() }
  }
}
