// One request on its way: from its target to the end of its answer.
//
// libmicrohttpd owns one reference from the moment it has read the target until the request is
// completed; the public HTTPExchange owns another. Promises: one answer; the connection is
// suspended only while there is none, resumed exactly once, and not touched after completion.

import CMicrohttpd
import Glibc
import Synchronization

/// The state machine of one request.
final class ExchangeState: Sendable {
  enum Phase {
    /// Its head and body are being read, or its handler is running.
    case open
    /// Waiting for an answer or for a hangup.
    case suspended
    /// Resumed: the worker will come back for the answer.
    case resumed
    /// Its answer is with libmicrohttpd.
    case answered
    case completed
  }

  private struct State {
    var phase = Phase.open
    var answer: HTTPAnswer?
    /// Counts the bytes of the answer; nil where they are few.
    var charge: MemoryCharge?
    /// Whether nothing but the handler's answer may be sent.
    var forbidsRefusal = false
    var stream: HTTPStream?
    var handle: ConnectionHandle?
    var isGone = false
    var wasParked = false
    /// The connection's socket while a silent one stands in its place.
    var ownSocket: Int32?
    var onDisconnect: (@Sendable () -> Void)?
  }

  /// What the worker has to do with the connection.
  enum Verdict {
    case send(HTTPAnswer)
    case stayAway
    case close
  }

  let server: ServerContext
  let connection: Connection
  /// What has been read of the request. Touched by the connection's worker alone.
  nonisolated(unsafe) var intake: RequestIntake
  /// What the handler says that it is, for whoever counts.
  let mark = Atomic<UInt8>(0)
  /// When its handler was called, on the clock of ``Deadlines/now``. Touched by the connection's
  /// worker alone.
  nonisolated(unsafe) var began: UInt64 = 0
  /// Guards the phase; suspending and resuming happen under it. Taken before the locks of a
  /// stream, of the connection table and of libmicrohttpd, never after.
  private let state = SanitizedMutex(State())

  init(server: ServerContext, connection: Connection, intake: RequestIntake) {
    self.server = server
    self.connection = connection
    self.intake = intake
  }

  /// The request as far as it has been read. To be called by the connection's worker.
  var request: HTTPRequest {
    HTTPRequest(
      method: intake.method, target: intake.target, headerBlock: intake.headers, body: intake.body,
      charge: intake.charge, connection: connection)
  }

  /// Whether this was the first answer and the client is still there.
  func answer(_ answer: HTTPAnswer, _ rings: WakeupBatch? = nil) -> Bool {
    let (accepted, forgotten): (Bool, (@Sendable () -> Void)?) = state.withLock { state in
      guard state.phase != .completed, state.phase != .answered, state.answer == nil, !state.isGone
      else { return (false, nil) }
      let answer = admitted(answer, &state)
      state.answer = answer
      if state.phase == .suspended {
        // The many waiters that are woken together are not worth a system call each.
        if rings == nil, connection.hasHungUp { state.ownSocket = connection.hideEnd() }
        Self.resume(&state, rings)
      }
      if case .stream = answer { return (true, nil) }
      defer { state.onDisconnect = nil }
      return (true, state.onDisconnect)
    }
    _ = forgotten
    return accepted
  }

  /// The answer itself if there is memory for it, otherwise a refusal.
  private func admitted(_ answer: HTTPAnswer, _ state: inout State) -> HTTPAnswer {
    let count: Int
    switch answer {
    case .response(let response):
      count = response.body.count
      state.charge = MemoryCharge(for: count)
    case .prepared(let prepared):
      count = prepared.bodyCount
      state.charge = prepared.charge
    case .notModified, .stream: return answer
    }
    guard let charge = state.charge,
      !charge.begin(with: count, in: server.memory, forced: state.forbidsRefusal)
    else { return answer }
    state.charge = nil
    return .response(server.render(.overloaded))
  }

  func forbidRefusal() { state.withLock { $0.forbidsRefusal = true } }

  /// What counts the answer, for the response that is made of it.
  func takeCharge() -> MemoryCharge? {
    state.withLock { state in
      defer { state.charge = nil }
      return state.charge
    }
  }

  /// The last holder of the right to answer let it go.
  func giveUp() {
    let isOpen = state.withLock { state in
      state.answer == nil && state.phase != .answered && state.phase != .completed
    }
    if isOpen { _ = answer(.response(server.render(.unanswered))) }
  }

  func onDisconnect(_ body: @escaping @Sendable () -> Void) {
    let runNow = state.withLock { state in
      if state.isGone { return true }
      let wasAnswered = state.answer != nil || state.phase == .answered
      if state.phase != .completed, !wasAnswered || state.stream != nil {
        state.onDisconnect = body
      }
      return false
    }
    if runNow { body() }
  }

  /// Whether the client has gone before its answer.
  var isLeft: Bool { state.withLock(\.isGone) }

  private func restoreSocket(_ state: inout State) {
    guard let ownSocket = state.ownSocket else { return }
    connection.showEnd(ownSocket)
    state.ownSocket = nil
  }

  private static func resume(_ state: inout State, _ rings: WakeupBatch? = nil) {
    state.phase = .resumed
    state.handle?.resume(rings)
  }
}

// MARK: The worker's side

extension ExchangeState {
  /// Called by the worker when the handler has returned, and after each resumption.
  func settle(_ handle: ConnectionHandle) -> Verdict {
    state.withLock { state in
      restoreSocket(&state)
      if state.isGone { return .close }
      if let answer = state.answer {
        state.answer = nil
        state.phase = .answered
        state.handle = handle
        if case .stream(_, _, let stream) = answer { seat(stream, &state, handle) }
        return .send(answer)
      }
      guard state.phase != .answered else { return .close }
      guard server.table.park(self, on: connection) else {
        state.phase = .answered
        if state.forbidsRefusal { return .close }
        return .send(.response(server.render(.shuttingDown)))
      }
      state.handle = handle
      state.wasParked = true
      handle.suspend()
      state.phase = .suspended
      return .stayAway
    }
  }

  private func seat(_ stream: HTTPStream, _ state: inout State, _ handle: ConnectionHandle) {
    state.stream = stream
    state.wasParked = true
    stream.take(
      HTTPStream.StreamAttachment(
        handle: handle, connection: connection, exchange: self, table: server.table))
  }

  /// libmicrohttpd is done with the request.
  func complete(wasSent: Bool) {
    let ending = state.withLock { state in
      defer {
        state.onDisconnect = nil
        state.stream = nil
        state.answer = nil
        state.charge = nil
      }
      restoreSocket(&state)
      state.handle = nil
      state.phase = .completed
      let unsent = state.answer?.stream
      let tell = wasSent || state.isGone ? nil : state.onDisconnect
      if !wasSent { state.isGone = true }
      return Ending(stream: state.stream ?? unsent, tell: tell, wasParked: state.wasParked)
    }
    if ending.wasParked { server.table.unpark(connection) }
    ending.stream?.finish()
    ending.tell?()
  }

  private struct Ending {
    let stream: HTTPStream?
    let tell: (@Sendable () -> Void)?
    let wasParked: Bool
  }

  /// Ends a suspended request, or a stream, whose client has reset the connection or finished
  /// sending. A save goes on after the latter: its client may still read the answer.
  func hangUp(isReset: Bool) {
    let (stream, tell): (HTTPStream?, (@Sendable () -> Void)?) = state.withLock { state in
      guard state.phase == .suspended || state.stream != nil, !state.isGone,
        state.phase != .completed, connection.hasHungUp, isReset || !state.forbidsRefusal
      else { return (nil, nil) }
      state.isGone = true
      if state.phase == .suspended { Self.resume(&state) }
      // A stream may be waiting for room in the socket, which never comes.
      if state.stream != nil { shutdown(connection.descriptor, Int32(SHUT_RDWR)) }
      defer { state.onDisconnect = nil }
      return (state.stream, state.onDisconnect)
    }
    stream?.cut()
    tell?()
  }

  /// The server stops: nothing may stay suspended. Where the handler alone knows the outcome, the
  /// connection is closed without an answer.
  func drain() {
    let stream = state.withLock { state in
      if state.forbidsRefusal, state.answer == nil, state.phase == .suspended {
        state.isGone = true
        Self.resume(&state)
      }
      return state.stream
    }
    stream?.cut()
    _ = answer(.response(server.render(.shuttingDown)))
  }
}
