// Deletes expired history and idempotency keys every 60 seconds, on its own thread and connection, so
// that nothing else waits for it. Several servers may do this at the same time.

import LiveFetchThreads
import Synchronization

/// Prunes a history while a store serves it. Used from any thread.
final class HistoryPruner: Sendable {
  /// The seconds between two runs.
  private static let interval: Double = 60
  /// The maximum number of rows that one statement deletes.
  private static let rowsPerStatement = 5_000
  /// The time limit of one statement.
  private static let timeLimit = Duration.seconds(10)

  private let tables: [PostgresTrackedTable]
  private let keptTime: Duration
  private let connect: @Sendable () throws(PostgresError) -> PostgresConnection
  private let wakeup = MonotonicSemaphore()
  private let isClosed = Atomic(false)

  init(
    _ tables: [PostgresTrackedTable], keeping time: Duration,
    connect: @escaping @Sendable () throws(PostgresError) -> PostgresConnection
  ) throws(PostgresError) {
    self.tables = tables
    keptTime = time
    self.connect = connect
    guard startThread(name: "lf-pg-prune", { [self] in run() }) else {
      throw .disconnected("no thread is left")
    }
  }

  func close() {
    isClosed.store(true, ordering: .relaxed)
    wakeup.signal()
  }

  private func run() {
    while !isClosed.load(ordering: .relaxed) {
      guard !wakeup.wait(seconds: Self.interval) else { continue }
      // The error is ignored: the next run tries again.
      try? prune()
    }
  }

  func prune() throws(PostgresError) {
    let connection = try connect()
    defer { connection.close() }
    connection.deadline = .now + Self.timeLimit
    try PostgresHistory.mark(on: connection)
    connection.deadline = .now + Self.timeLimit
    try PostgresHistory.advanceHorizon(keeping: keptTime, on: connection)
    for table in tables where !isClosed.load(ordering: .relaxed) {
      // An error in one table does not stop the pruning of the next one.
      try? repeatUntilDone(on: connection) { () throws(PostgresError) in
        try PostgresHistory.prune(table, limit: Self.rowsPerStatement, on: connection)
      }
    }
    try repeatUntilDone(on: connection) { () throws(PostgresError) in
      try PostgresIdempotencyTable.prune(limit: Self.rowsPerStatement, on: connection)
    }
  }

  /// Repeats `body` until it deletes fewer than `rowsPerStatement` rows or the pruner is closed.
  private func repeatUntilDone(
    on connection: PostgresConnection, _ body: () throws(PostgresError) -> Int
  ) throws(PostgresError) {
    repeat {
      connection.deadline = .now + Self.timeLimit
    } while try body() == Self.rowsPerStatement && !isClosed.load(ordering: .relaxed)
  }
}
