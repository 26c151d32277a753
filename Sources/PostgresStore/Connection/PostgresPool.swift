// Work of many callers → a bounded number of connections, each used by one thread at a time.
//
// Waiting for a server's answer blocks a thread. `perform` therefore runs its work on threads of the
// pool: a task or a worker of the HTTP server that calls it does not block.

import Foundation
import LiveFetchThreads
import Synchronization

/// Connections to one server, and the threads that use them. May be used from any thread.
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
  private let threads: ThreadPool
  private let waitLimit: Duration

  /// - Parameters:
  ///   - target: the connection string.
  ///   - connections: the most connections, and the most threads of the pool; at least one.
  ///   - setup: statements that each connection runs first.
  ///   - queue: the most pieces of work that may wait for a thread.
  ///   - waitLimit: the longest wait for a connection, after which ``PostgresError/busy`` is thrown.
  init(
    _ target: String, connections: Int = 16, setup: String = "", queue: Int = 1_024,
    waitLimit: Duration = .seconds(5)
  ) {
    self.target = target
    self.setup = setup
    self.waitLimit = waitLimit
    permits = MonotonicSemaphore(value: max(1, connections))
    threads = ThreadPool(name: "lf-postgres", threads: connections, queue: queue)
  }

  /// The number of pieces of work that wait for a thread.
  var waiting: Int { threads.waiting }

  /// Runs `body` with a connection on this thread, which waits for both.
  ///
  /// - Parameter deadline: the end of the wait for a connection.
  func withConnection<Result>(
    until deadline: ContinuousClock.Instant? = nil,
    _ body: (PostgresConnection) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    let limit = deadline.map { min(waitLimit, max(.zero, $0 - .now)) } ?? waitLimit
    guard permits.wait(seconds: limit / .seconds(1)) else { throw .busy }
    defer { permits.signal() }
    let connection = try take(until: deadline)
    busy.add(1, ordering: .relaxed)
    defer {
      busy.subtract(1, ordering: .relaxed)
      giveBack(connection)
    }
    return try body(connection)
  }

  /// Runs `body` with a connection on a thread of the pool, in its caller's turn. The caller's task
  /// is suspended, and no thread waits for it. Cancelling the task cancels the running query.
  ///
  /// - Parameters:
  ///   - key: the caller between whom and others the pool is fair.
  ///   - limit: the time budget of the wait and the work.
  func perform<Result: Sendable>(
    for key: QueueKey = QueueKey(), limit: Duration? = nil,
    _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Result
  ) async throws(PostgresError) -> Result {
    let now = ContinuousClock.now
    let deadline = limit.map { now + $0 }
    let admission = now + min(waitLimit, limit ?? waitLimit)
    let expiry = Task { [threads] in
      try await Task.sleep(until: admission, clock: .continuous)
      threads.refuseExpired()
    }
    defer { expiry.cancel() }
    let isCancelled = CancellationFlag()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        threads.run(
          for: key, until: admission,
          refused: { continuation.resume(returning: .failure(Self.error($0))) },
          { [self] in
            continuation.resume(returning: run(until: deadline, isCancelled, body))
          })
      }
    } onCancel: {
      isCancelled.set()
    }
    return try result.get()
  }

  /// The numbers of open connections.
  var connectionCounts: (idle: Int, busy: Int) {
    (lock.withLock { idle.connections.count }, busy.load(ordering: .relaxed))
  }

  private func run<Value>(
    until deadline: ContinuousClock.Instant?, _ flag: CancellationFlag,
    _ body: (PostgresConnection) throws(PostgresError) -> Value
  ) -> Result<Value, PostgresError> {
    Result { () throws(PostgresError) in
      try withConnection { (connection) throws(PostgresError) in
        try connection.withDeadline(deadline.map { $0 - .now }) { () throws(PostgresError) in
          try connection.withCancellation({ flag.isSet }) { () throws(PostgresError) in
            try body(connection)
          }
        }
      }
    }
  }

  private static func error(_ refusal: ThreadPool.Refusal) -> PostgresError {
    switch refusal {
    case .full, .expired: .busy
    case .closed: .closed
    }
  }

  private func take(
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
  private func giveBack(_ connection: PostgresConnection) {
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
    threads.close(refusesWaiting: true)
    let connections = lock.withLock {
      defer { idle = Idle(connections: [], isClosed: true) }
      return idle.connections
    }
    for connection in connections { connection.close() }
  }
}

/// True once a task has been cancelled.
private final class CancellationFlag: Sendable {
  private let flag = Atomic(false)
  var isSet: Bool { flag.load(ordering: .relaxed) }
  func set() { flag.store(true, ordering: .relaxed) }
}
