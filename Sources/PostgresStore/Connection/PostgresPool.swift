// Work of many threads → a bounded number of connections, each used by one thread at a time.

import Foundation
import LiveFetchThreads

/// Connections to one server. Used from any thread that may wait.
final class PostgresPool: Sendable {
  private struct State {
    /// The most recently used one is last, and taken first.
    var idle: [PostgresConnection] = []
    /// The number of connections in use, and of those that are being opened.
    var busy = 0
    /// The number of connections that are being opened.
    var opening = 0
    /// After a connection could not be opened: the error, and the time before which no other one is opened
    /// while some are busy.
    var failure: (error: PostgresError, nextAttempt: ContinuousClock.Instant)?
    var isClosed = false

    /// True if a caller without an idle connection waits for one in use instead of opening another one.
    var mustWait: Bool {
      guard idle.isEmpty, busy > 0, let failure else { return false }
      return ContinuousClock.now < failure.nextAttempt
    }
  }

  /// The pause before another connection is tried after one that failed.
  private static let pause = Duration.seconds(1)

  private let target: String
  private let setup: String
  /// Protects `state`. Not a `Mutex`, which passes to the thread that waits longest: with more threads than
  /// cores, each call would wait for a switch of threads.
  private let lock = NSLock()
  nonisolated(unsafe) private var state = State()
  /// As many permits as there may be connections.
  private let permits: MonotonicSemaphore
  private let waitLimit: Duration

  /// - Parameters:
  ///   - target: the connection string.
  ///   - connections: the most connections; at least one.
  ///   - setup: statements that each connection runs first.
  ///   - waitLimit: the longest wait for a connection, after which ``PostgresError/noFreeConnection`` is
  ///     thrown.
  init(
    _ target: String, connections: Int = 16, setup: String = "",
    waitLimit: Duration = .seconds(5)
  ) {
    self.target = target
    self.setup = setup
    self.waitLimit = waitLimit
    permits = MonotonicSemaphore(value: max(1, connections))
  }

  /// Runs `body` with a connection. Blocks this thread until one is free. If no further one can be opened,
  /// waits for one that is in use.
  ///
  /// - Parameter deadline: the end of the wait for a connection.
  func withConnection<Result>(
    until deadline: ContinuousClock.Instant? = nil,
    _ body: (PostgresConnection) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    let limit = deadline.map { min(waitLimit, max(.zero, $0 - .now)) } ?? waitLimit
    let end = ContinuousClock.now + limit
    guard permits.wait(seconds: limit / .seconds(1)) else { throw .noFreeConnection }
    defer { permits.signal() }
    while true {
      if let connection = try checkOut(until: end) {
        defer { putBack(connection) }
        return try body(connection)
      }
      guard ContinuousClock.now < end else { throw reasonForNone }
      usleep(5_000)
    }
  }

  /// The error of a wait that has ended without a connection.
  private var reasonForNone: PostgresError {
    lock.withLock {
      // A server may allow fewer connections than the pool.
      let isInUse = state.busy > state.opening
      return isInUse ? .noFreeConnection : state.failure?.error ?? .noFreeConnection
    }
  }

  /// The numbers of idle connections, and of those in use or being opened.
  var connectionCounts: (idle: Int, busy: Int) {
    lock.withLock { (state.idle.count, state.busy) }
  }

  /// Returns nil if no further connection can be opened while others are busy.
  private func checkOut(
    until deadline: ContinuousClock.Instant
  ) throws(PostgresError) -> PostgresConnection? {
    while true {
      let (known, isClosed, mustWait) = lock.withLock {
        let mustWait = state.mustWait
        if !state.isClosed, !mustWait { state.busy += 1 }
        return (state.idle.popLast(), state.isClosed, mustWait)
      }
      if isClosed { throw .closed }
      if mustWait { return nil }
      guard let known else { return try open(until: deadline) }
      if known.isQuiet { return known }
      lock.withLock { state.busy -= 1 }
      known.close()
    }
  }

  /// Returns nil if the connection fails while there are others.
  private func open(
    until deadline: ContinuousClock.Instant
  ) throws(PostgresError) -> PostgresConnection? {
    lock.withLock { state.opening += 1 }
    defer { lock.withLock { state.opening -= 1 } }
    do throws(PostgresError) {
      let connection = try PostgresConnection(target, setup: setup, within: deadline - .now)
      lock.withLock { state.failure = nil }
      return connection
    } catch {
      let hasOthers = lock.withLock {
        state.busy -= 1
        state.failure = (error, .now + Self.pause)
        return state.busy > 0 || !state.idle.isEmpty
      }
      guard hasOthers else { throw error }
      return nil
    }
  }

  /// Returns a connection to the pool, unless it is lost or still inside a transaction.
  private func putBack(_ connection: PostgresConnection) {
    if connection.isInTransaction { connection.rollBack() }
    let isKept = lock.withLock {
      state.busy -= 1
      guard connection.isIdle, !state.isClosed else { return false }
      state.idle.append(connection)
      return true
    }
    if !isKept { connection.close() }
  }

  /// Closes every connection; those in use are closed when they are returned. Waiting and later work
  /// gets ``PostgresError/closed``.
  func close() {
    let connections = lock.withLock {
      let connections = state.idle
      state.idle = []
      state.isClosed = true
      return connections
    }
    for connection in connections { connection.close() }
  }
}
