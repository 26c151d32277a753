// One request, from its target to the end of its response.
//
// libmicrohttpd owns one reference from the time that it has read the target until the request is
// completed; the public HTTPExchange owns another. Promises: one response; the connection is
// suspended only while there is no response, resumed exactly once, and not used after completion.

import CMicrohttpd
import Glibc
import Synchronization

/// The state machine of one request.
final class ExchangeState: Sendable {
  enum Phase {
    /// Its head and body are being read, or its handler is running.
    case open
    /// Waiting for a response or for the client's disconnect.
    case suspended
    /// Resumed: the worker will call again for the response.
    case resumed
    /// The response was passed to libmicrohttpd.
    case answered
    case completed
  }

  private struct State {
    var phase = Phase.open
    var response: AnyHTTPResponse?
    /// Counts the bytes of the response; nil for a small one.
    var reservation: MemoryReservation?
    /// True if no response other than the handler's may be sent.
    var forbidsRefusal = false
    var stream: HTTPStream?
    var handle: ConnectionHandle?
    var isGone = false
    var wasParked = false
    /// The connection's socket while a silent one stands in its place.
    var ownSocket: Int32?
    var onDisconnect: (@Sendable () -> Void)?
    var attachment: (any ExchangeAttachment)?
  }

  /// The worker's next action for the connection.
  enum NextAction {
    case send(AnyHTTPResponse)
    /// The connection is suspended: the worker must not touch it.
    case wait
    case close
  }

  let server: ServerContext
  let connection: Connection
  // Of the following properties, each access ends before the next begins. Checks of that would be a
  // tenth of the server's instructions for a short request.

  /// The part of the request that has been read. Used only by the connection's worker.
  @exclusivity(unchecked) nonisolated(unsafe) var intake: RequestIntake
  /// The kind of request that the handler set with ``HTTPExchange/setTag(_:)``, for metrics.
  let tag = Atomic<UInt8>(0)
  /// The time at which the handler was called, on the clock of ``Deadlines/now``. Used only by the
  /// connection's worker.
  @exclusivity(unchecked) nonisolated(unsafe) var began: UInt64 = 0
  /// Empty if the request has none and the server gives none. Set before the handler is called.
  @exclusivity(unchecked) nonisolated(unsafe) var requestID = ""
  /// The header `Origin`; nil without one. Set before the handler is called.
  @exclusivity(unchecked) nonisolated(unsafe) var origin: String?
  /// Header fields that every response to this request has. Used only by the connection's worker.
  @exclusivity(unchecked) nonisolated(unsafe) var extraHeaders: [(name: String, value: String)] = []
  /// The time at which the head was complete. Used only by the connection's worker.
  @exclusivity(unchecked) nonisolated(unsafe) var arrived: UInt64 = 0
  /// The status that was sent, and the bytes of its body. Used only by the connection's worker.
  @exclusivity(unchecked) nonisolated(unsafe) var sent: (status: Int, bytes: Int) = (0, 0)
  /// Protects the phase; suspending and resuming happen while it is held. Taken before the locks of
  /// a stream, of the connection table and of libmicrohttpd, never after.
  private let state = SanitizedMutex(State())

  init(server: ServerContext, connection: Connection, intake: RequestIntake) {
    self.server = server
    self.connection = connection
    self.intake = intake
  }

  /// The part of the request that has been read. Call only on the connection's worker.
  var request: HTTPRequest {
    HTTPRequest(
      method: intake.method, target: intake.target, headerBlock: intake.headers, body: intake.body,
      reservation: intake.reservation, connection: connection, forwarded: intake.forwarded)
  }

  /// The response for a problem of the server's own.
  func render(_ problem: HTTPProblem) -> HTTPResponse { server.render(problem, origin: origin) }

  /// Sets the response. Returns true if it was the first one and the client is still connected.
  func respond(_ response: AnyHTTPResponse, _ wakeups: WakeupBatch? = nil) -> Bool {
    let (accepted, released): (Bool, (@Sendable () -> Void)?) = state.withLock { state in
      guard state.phase != .completed, state.phase != .answered, state.response == nil,
        !state.isGone
      else { return (false, nil) }
      state.response = admits(response, &state) ? response : .response(render(.overloaded))
      if state.phase == .suspended {
        // Saves a system call for each of many waiters that are woken together. One of those that has
        // closed its sending side gets no answer.
        let isOneOfMany = (wakeups?.count ?? 0) >= 64
        if !isOneOfMany, connection.peerHasClosed {
          state.ownSocket = connection.silenceSocket()
        }
        Self.resume(&state, wakeups)
      }
      if response.stream != nil { return (true, nil) }
      defer { state.onDisconnect = nil }
      return (true, state.onDisconnect)
    }
    _ = released
    return accepted
  }

  /// True if there is memory for the response.
  private func admits(_ response: AnyHTTPResponse, _ state: inout State) -> Bool {
    let count: Int
    switch response {
    case .response(let response):
      count = response.body.count
      state.reservation = MemoryReservation(for: count)
    case .prepared(let prepared):
      count = prepared.bodyCount
      state.reservation = prepared.reservation
    case .stream: return true
    }
    guard let reservation = state.reservation,
      !reservation.reserve(count, in: server.memory, forced: state.forbidsRefusal)
    else { return true }
    state.reservation = nil
    return false
  }

  func attach(_ attachment: any ExchangeAttachment) {
    let old = state.withLock { state in
      defer { state.attachment = attachment }
      return state.attachment
    }
    _ = old
  }

  var attachment: (any ExchangeAttachment)? { state.withLock(\.attachment) }

  /// Removes the attachment and returns it.
  func detach() -> (any ExchangeAttachment)? {
    state.withLock { state in
      defer { state.attachment = nil }
      return state.attachment
    }
  }

  func forbidRefusal() { state.withLock { $0.forbidsRefusal = true } }

  /// Transfers the memory reservation of the response to the caller.
  func takeReservation() -> MemoryReservation? {
    state.withLock { state in
      defer { state.reservation = nil }
      return state.reservation
    }
  }

  /// Called when the last reference to the public exchange is released: responds with 500 if there
  /// is no response yet and the client is still connected.
  func handleRelease() {
    let isOpen = state.withLock { state in
      state.response == nil && state.phase != .answered && state.phase != .completed
        && !state.isGone
    }
    guard isOpen else { return }
    var problem = HTTPProblem.unanswered
    problem.isNewRequestID = requestID.isEmpty
    problem.requestID = requestID.isEmpty ? RequestID.new : requestID
    _ = respond(.response(render(problem)))
  }

  func onDisconnect(_ body: @escaping @Sendable () -> Void) {
    let runNow = state.withLock { state in
      if state.isGone { return true }
      let hadResponse = state.response != nil || state.phase == .answered
      if state.phase != .completed, !hadResponse || state.stream != nil {
        state.onDisconnect = body
      }
      return false
    }
    if runNow { body() }
  }

  /// True if the client disconnected before its response.
  var isDisconnected: Bool { state.withLock(\.isGone) }

  private func restoreSocket(_ state: inout State) {
    guard let ownSocket = state.ownSocket else { return }
    connection.restoreSocket(ownSocket)
    state.ownSocket = nil
  }

  private static func resume(_ state: inout State, _ wakeups: WakeupBatch? = nil) {
    state.phase = .resumed
    state.handle?.resume(wakeups)
  }
}

// MARK: The worker's side

extension ExchangeState {
  /// Called by the worker when the handler has returned, and after each resumption. Returns the
  /// worker's next action.
  func nextAction(_ handle: ConnectionHandle) -> NextAction {
    state.withLock { state in
      restoreSocket(&state)
      if state.isGone { return .close }
      if let response = state.response {
        state.response = nil
        state.phase = .answered
        state.handle = handle
        if case .stream(_, _, let stream) = response { attach(stream, &state, handle) }
        return .send(response)
      }
      guard state.phase != .answered else { return .close }
      guard server.table.park(self, on: connection) else {
        state.phase = .answered
        if state.forbidsRefusal { return .close }
        return .send(.response(render(.shuttingDown)))
      }
      state.handle = handle
      state.wasParked = true
      handle.suspend()
      state.phase = .suspended
      return .wait
    }
  }

  private func attach(_ stream: HTTPStream, _ state: inout State, _ handle: ConnectionHandle) {
    state.stream = stream
    state.wasParked = true
    stream.attach(
      HTTPStream.StreamAttachment(
        handle: handle, connection: connection, exchange: self, table: server.table))
  }

  /// Called when libmicrohttpd has completed the request.
  func complete(wasSent: Bool) {
    let ending = state.withLock { state in
      defer {
        state.onDisconnect = nil
        state.stream = nil
        state.response = nil
        state.reservation = nil
      }
      restoreSocket(&state)
      state.handle = nil
      state.phase = .completed
      let unsent = state.response?.stream
      let onDisconnect = wasSent || state.isGone ? nil : state.onDisconnect
      if !wasSent { state.isGone = true }
      return Ending(
        stream: state.stream ?? unsent, onDisconnect: onDisconnect, wasParked: state.wasParked)
    }
    if ending.wasParked { server.table.unpark(connection) }
    ending.stream?.finish()
    ending.onDisconnect?()
  }

  private struct Ending {
    let stream: HTTPStream?
    let onDisconnect: (@Sendable () -> Void)?
    let wasParked: Bool
  }

  /// Ends a suspended request, or a stream, whose client has reset the connection or finished
  /// sending. A save continues in the second case: its client may still read the response.
  func hangUp(isReset: Bool) {
    let (stream, onDisconnect): (HTTPStream?, (@Sendable () -> Void)?) = state.withLock { state in
      guard state.phase == .suspended || state.stream != nil, !state.isGone,
        state.phase != .completed, connection.peerHasClosed, isReset || !state.forbidsRefusal
      else { return (nil, nil) }
      state.isGone = true
      if state.phase == .suspended { Self.resume(&state) }
      // A stream may be waiting for room in the socket, which will never come.
      if state.stream != nil { shutdown(connection.descriptor, Int32(SHUT_RDWR)) }
      defer { state.onDisconnect = nil }
      return (state.stream, state.onDisconnect)
    }
    stream?.endEarly()
    onDisconnect?()
  }

  /// Ends a suspended exchange when the server stops. If a refusal is forbidden, closes the
  /// connection without a response.
  func drain() {
    let stream = state.withLock { state in
      if state.forbidsRefusal, state.response == nil, state.phase == .suspended {
        state.isGone = true
        Self.resume(&state)
      }
      return state.stream
    }
    stream?.endEarly()
    _ = respond(.response(render(.shuttingDown)))
  }
}
