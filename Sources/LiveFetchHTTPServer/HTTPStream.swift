// One stream that is being sent: connects libmicrohttpd, which requests bytes, with a source, which
// produces them.
//
// Promises: while the source waits, the connection is suspended and uses no processor time; wakes
// coalesce and none is lost; `closed()` is called on the source exactly once, after its last
// `next`.

import CMicrohttpd

/// A stream that is being sent. Its source wakes it from any thread.
public final class HTTPStream: Sendable {
  private enum Phase {
    /// Not suspended: before its first `next`, during one, or while its bytes are sent.
    case running
    case suspended
    /// The source was notified and released.
    case finished
  }

  private struct State {
    var phase = Phase.running
    var wakeIsPending = false
    var isEnding = false
    /// True while a `next` runs: if the stream finishes meanwhile, the end of `next` calls
    /// `closed()`.
    var isInNext = false
    var source: (any StreamSource)?
    var attachment: StreamAttachment?
  }

  /// The connection of a stream with a socket; set when its response is queued.
  struct StreamAttachment {
    let handle: ConnectionHandle
    let connection: Connection
    let exchange: ExchangeState
    let table: ConnectionTable
  }

  /// Protects the state. Suspending and resuming happen while it is held, so that neither overtakes
  /// the other. Taken before the locks of the connection table and of libmicrohttpd, never after.
  private let state: SanitizedMutex<State>
  private let unsent = UnsentBytes()

  init(_ source: any StreamSource) {
    state = SanitizedMutex(State(source: source))
  }

  /// Makes the server call the source's `next` again. May be called from any thread, any number of
  /// times; wakes before that call count as one. Does nothing after the end.
  public func wake() {
    state.withLock { state in
      switch state.phase {
      case .running: state.wakeIsPending = true
      case .suspended: Self.resume(&state)
      case .finished: break
      }
    }
  }

  /// Returns the source's next step, for streams without a socket; `end` once it has ended. Costs what
  /// the source's `next` costs.
  public func next() -> StreamStep {
    guard let source = beginNext() else { return .end }
    let step = source.next()
    let isFinished = endNext()
    if case .end = step {
      finish()
      return .end
    }
    return isFinished ? .end : step
  }

  /// True if request bodies and responses use all the memory available to them.
  public var isMemoryExhausted: Bool {
    state.withLock { state in
      state.attachment.map { !$0.exchange.server.memory.hasRoom(for: 1) } ?? false
    }
  }

  func attach(_ attachment: StreamAttachment) {
    unsent.budget = attachment.exchange.server.memory
    unsent.exchange = attachment.exchange
    state.withLock { state in
      if state.phase != .finished { state.attachment = attachment }
    }
  }

  /// Sends the bytes already read from the source, then ends. Does not call `next` again.
  func endEarly() {
    state.withLock { state in
      state.isEnding = true
      if state.phase == .suspended { Self.resume(&state) }
    }
  }

  /// Called when sending has ended, for whatever reason.
  func finish() {
    let source: (any StreamSource)? = state.withLock { state in
      state.phase = .finished
      state.attachment = nil
      guard !state.isInNext else { return nil }
      defer { state.source = nil }
      return state.source
    }
    source?.closed()
  }

  private static func resume(_ state: inout State) {
    state.phase = .running
    state.attachment?.handle.resume()
  }
}

// MARK: Requests of libmicrohttpd for bytes

extension HTTPStream {
  enum ReadOutcome: Equatable {
    case copied(Int)
    case suspended
    case end
  }

  /// Fills `buffer`, suspends the connection, or ends. Called only by the connection's worker.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    while true {
      if let count = unsent.move(into: buffer) { return .copied(count) }
      switch next() {
      case .bytes(let bytes): unsent.replace(with: bytes)
      case .end: return .end
      case .wait: if suspend() { return .suspended }
      }
    }
  }

  private func beginNext() -> (any StreamSource)? {
    state.withLock { state in
      guard state.phase != .finished, !state.isEnding else { return nil }
      state.wakeIsPending = false
      state.isInNext = true
      return state.source
    }
  }

  /// Returns true if the stream was finished or cut meanwhile.
  private func endNext() -> Bool {
    let (isFinished, source): (Bool, (any StreamSource)?) = state.withLock { state in
      state.isInNext = false
      guard state.phase == .finished else { return (state.isEnding, nil) }
      defer { state.source = nil }
      return (true, state.source)
    }
    source?.closed()
    return isFinished
  }

  /// Suspends the connection. Returns false if the source was woken meanwhile, so that `next` has
  /// to be called again at once.
  private func suspend() -> Bool {
    state.withLock { state in
      guard state.phase == .running, !state.wakeIsPending, !state.isEnding,
        let attachment = state.attachment
      else { return false }
      guard attachment.table.park(attachment.exchange, on: attachment.connection) else {
        state.isEnding = true
        return false
      }
      attachment.handle.suspend()
      state.phase = .suspended
      return true
    }
  }
}

/// Bytes that were taken from the source and did not fit into the socket's buffer. Used only by the
/// connection's worker.
private final class UnsentBytes: @unchecked Sendable {
  var budget: MemoryBudget?
  /// The request of the stream, whose bytes are counted.
  weak var exchange: ExchangeState?
  private var bytes: [UInt8] = []
  private var sent = 0
  /// Counts the bytes in memory.
  private var reservation: MemoryReservation?

  func replace(with more: [UInt8]) {
    (bytes, sent) = (more, 0)
    let reservation = MemoryReservation()
    self.reservation = reservation
    exchange?.willSend(bytes: more.count)
    // Bytes that exist are sent in any case: sources check the memory before they produce events.
    if let budget { _ = reservation.reserve(more.count, in: budget, forced: true) }
  }

  /// Moves bytes into `buffer` and returns their number; nil if none are left.
  func move(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    let count = min(bytes.count &- sent, buffer.count)
    guard count > 0 else { return nil }
    bytes.withUnsafeBytes { source in
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[sent..<(sent &+ count)]))
    }
    sent &+= count
    if sent == bytes.count { (bytes, sent, reservation) = ([], 0, nil) }
    return count
  }
}
