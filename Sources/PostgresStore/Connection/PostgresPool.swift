// Work of many threads → a bounded number of connections, each used by one thread at a time.

import Foundation
import LiveFetchThreads
import Synchronization

/// Connections to one server. Used from any thread that may wait.
final class PostgresPool: Sendable {
  private struct Idle {
    var connections: [PostgresConnection] = []
    var isClosed = false
  }

  private let target: String
  private let setup: String
  /// Protects the idle connections. `Mutex` hands itself to the thread that waits longest, and with more
  /// threads than cores they would all wait for each other's turn.
  private let lock = NSLock()
  /// The most recently used one is taken first.
  nonisolated(unsafe) private var idle = Idle()
  /// The number of connections in use.
  private let busy = Atomic(0)
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

  /// Runs `body` with a connection on this thread, which waits for both.
  ///
  /// - Parameter deadline: the end of the wait for a connection.
  func withConnection<Result>(
    until deadline: ContinuousClock.Instant? = nil,
    _ body: (PostgresConnection) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    let limit = deadline.map { min(waitLimit, max(.zero, $0 - .now)) } ?? waitLimit
    guard permits.wait(seconds: limit / .seconds(1)) else { throw .noFreeConnection }
    defer { permits.signal() }
    let connection = try checkOut(until: deadline)
    busy.add(1, ordering: .relaxed)
    defer {
      busy.subtract(1, ordering: .relaxed)
      putBack(connection)
    }
    return try body(connection)
  }

  /// The numbers of open connections.
  var connectionCounts: (idle: Int, busy: Int) {
    (lock.withLock { idle.connections.count }, busy.load(ordering: .relaxed))
  }

  private func checkOut(
    until deadline: ContinuousClock.Instant?
  ) throws(PostgresError) -> PostgresConnection {
    while true {
      let (known, isClosed) = lock.withLock { (idle.connections.popLast(), idle.isClosed) }
      if isClosed { throw .closed }
      guard let known else {
        let limit = deadline.map { $0 - .now } ?? PostgresConnection.defaultLimit
        return try PostgresConnection(target, setup: setup, within: limit)
      }
      if known.isQuiet { return known }
      known.close()
    }
  }

  /// Returns a connection to the pool, unless it is lost or still inside a transaction.
  private func putBack(_ connection: PostgresConnection) {
    if connection.isInTransaction { connection.rollBack() }
    let isKept = lock.withLock {
      guard connection.isIdle, !idle.isClosed else { return false }
      idle.connections.append(connection)
      return true
    }
    if !isKept { connection.close() }
  }

  /// Closes every connection; those in use are closed when they are returned. Waiting and later work
  /// gets ``PostgresError/closed``.
  func close() {
    let connections = lock.withLock {
      defer { idle = Idle(connections: [], isClosed: true) }
      return idle.connections
    }
    for connection in connections { connection.close() }
  }
}
