// Noticing commits, waiting for positions, and durability.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

@Suite(.mayBlock)
struct CommitMonitorTests {
  /// Reports of a monitor.
  private final class Reports: Sendable {
    let all = Mutex<[CommitMonitor.Report]>([])
    let failures = Mutex<[PostgresError]>([])
    let failureTimes = Mutex<[ContinuousClock.Instant]>([])
    let changes = Mutex(0)

    func monitor(
      _ target: String, _ settings: CommitMonitor.Settings = .init(), tables: [String] = []
    ) throws -> CommitMonitor {
      try CommitMonitor(
        target, tables: tables, settings: settings,
        failed: { failure in
          self.failures.withLock { $0.append(failure) }
          self.failureTimes.withLock { $0.append(.now) }
        },
        report: { report, hasChanged in
          self.all.withLock { $0.append(report) }
          if hasChanged { self.changes.withLock { $0 += 1 } }
        })
    }

    var lastPosition: PostgresPosition? { all.withLock { $0.last?.position } }
    var last: PostgresSnapshot? { lastPosition?.snapshot }
  }

  /// Polls so rarely that only notifications and signals explain an early report.
  private static let rare = CommitMonitor.Settings(
    shortestInterval: .seconds(600), longestInterval: .seconds(600))

  private static func database() throws -> (String, PostgresConnection) {
    let target = try PostgresServer.shared().newDatabase()
    let connection = try PostgresConnection(target)
    try connection.execute("CREATE TABLE city (id int PRIMARY KEY)")
    _ = try PostgresHistory.install(on: connection)
    return (target, connection)
  }

  @Test("a commit of another program is reported")
  func foreignCommit() throws {
    let (target, connection) = try Self.database()
    let reports = Reports()
    let monitor = try reports.monitor(target)
    defer { monitor.close() }
    try connection.execute("INSERT INTO city VALUES (1)")
    let after = try position(connection)
    #expect(
      eventually(within: .seconds(60)) {
        reports.last.map { after.snapshot.isSubset(of: $0) } == true
      })
  }

  /// Transactions of the other databases of the server may change positions at any time.
  @Test("a commit that changes no tracked table leaves what was read current")
  func otherCommit() throws {
    let target = try PostgresServer.shared().newDatabase()
    let connection = try PostgresConnection(target)
    try connection.execute("CREATE TABLE city (id int PRIMARY KEY)")
    let tables = try PostgresHistory.install(on: connection).tracked.map(\.historyName)
    try connection.execute("CREATE TABLE heap (n int)")
    let open = try PostgresConnection(target)
    try open.execute("BEGIN; INSERT INTO city VALUES (7)")
    let reports = Reports()
    let monitor = try reports.monitor(target, tables: tables)
    defer { monitor.close() }
    func isReported(_ position: PostgresPosition) -> Bool {
      eventually(within: .seconds(60)) {
        reports.last.map { position.snapshot.isSubset(of: $0) } == true
      }
    }
    #expect(eventually(within: .seconds(60)) { reports.last != nil })
    let first = try #require(reports.lastPosition)
    try connection.execute("INSERT INTO heap VALUES (1)")
    let second = try position(connection)
    #expect(isReported(second))
    #expect(eventually(within: .seconds(60)) { monitor.isCurrent(first, isExact: false) })
    #expect(!monitor.isCurrent(first, isExact: true))
    #expect(reports.changes.withLock { $0 } == 1)
    // The transaction has used its number of the history before the first report.
    try open.execute("COMMIT")
    #expect(isReported(try position(connection)))
    #expect(!monitor.isCurrent(first, isExact: false))
    #expect(!monitor.isCurrent(second, isExact: false))
    #expect(reports.changes.withLock { $0 } == 2)
    let third = try #require(reports.lastPosition)
    try connection.execute("INSERT INTO city VALUES (8)")
    #expect(isReported(try position(connection)))
    #expect(!monitor.isCurrent(third, isExact: false))
    #expect(reports.changes.withLock { $0 } == 3)
  }

  @Test("after a while a position that nothing has changed is no longer current")
  func oldPosition() throws {
    let (target, connection) = try Self.database()
    try connection.execute("CREATE TABLE heap (n int)")
    let reports = Reports()
    let monitor = try reports.monitor(target, .init(longestUnchanged: .milliseconds(300)))
    defer { monitor.close() }
    #expect(eventually(within: .seconds(60)) { reports.last != nil })
    let first = try #require(reports.lastPosition)
    let isOver = eventually(within: .seconds(60)) {
      _ = try? connection.execute("INSERT INTO heap VALUES (1)")
      return reports.changes.withLock { $0 } > 1
    }
    #expect(isOver)
    #expect(!monitor.isCurrent(first, isExact: false))
  }

  @Test("a transaction is reported when it commits, not when it writes")
  func openTransaction() throws {
    let (target, connection) = try Self.database()
    try connection.execute("BEGIN; INSERT INTO city VALUES (1)")
    let id = UInt64(try connection.query("SELECT pg_current_xact_id()").integer(0, 0))
    let reports = Reports()
    let monitor = try reports.monitor(target)
    defer { monitor.close() }
    #expect(eventually(within: .seconds(60)) { reports.last != nil })
    #expect(reports.last?.contains(id) == false)
    try connection.execute("COMMIT")
    #expect(eventually(within: .seconds(60)) { reports.last?.contains(id) == true })
  }

  @Test("a save of this server is noticed at once, and by other servers through a notification")
  func ownCommit() throws {
    let (target, connection) = try Self.database()
    let (own, other) = (Reports(), Reports())
    let monitor = try own.monitor(target, Self.rare)
    let otherMonitor = try other.monitor(target, Self.rare)
    defer {
      monitor.close()
      otherMonitor.close()
    }
    #expect(eventually(within: .seconds(60)) { own.last != nil && other.last != nil })
    try connection.execute("INSERT INTO city VALUES (1)")
    let after = try position(connection).snapshot
    monitor.recordCommit()
    #expect(
      eventually(within: .seconds(60)) {
        [own, other].allSatisfy { $0.last.map { after.isSubset(of: $0) } == true }
      })
  }

  @Test("nothing is reported while nothing commits")
  func silence() throws {
    let server = try PostgresServer.takeIdle()
    defer { server.giveBack() }
    let target = try server.newDatabase()
    let connection = try PostgresConnection(target)
    defer { connection.close() }
    try connection.execute("CREATE TABLE city (id int PRIMARY KEY)")
    _ = try PostgresHistory.install(on: connection)
    let reports = Reports()
    let monitor = try reports.monitor(target)
    defer { monitor.close() }
    #expect(eventually(within: .seconds(60)) { reports.last != nil })
    for _ in 0..<20 { monitor.recordCommit() }
    Thread.sleep(forTimeInterval: 0.3)
    // Maintenance of the server itself may have committed something.
    #expect(reports.all.withLock { $0.count } <= 3)
  }

  @Test("a lost connection is reported and opened again")
  func reconnecting() throws {
    let (target, connection) = try Self.database()
    let reports = Reports()
    let monitor = try reports.monitor(target)
    defer { monitor.close() }
    #expect(eventually(within: .seconds(60)) { reports.last != nil })
    try connection.execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        + "WHERE datname = current_database() AND pid <> pg_backend_pid()")
    #expect(eventually(within: .seconds(60)) { !reports.failures.withLock(\.isEmpty) })
    try connection.execute("INSERT INTO city VALUES (1)")
    let after = try position(connection).snapshot
    #expect(
      eventually(within: .seconds(60)) { reports.last.map { after.isSubset(of: $0) } == true })
  }

  @Test("after a lost connection the first report counts as a change")
  func changeAfterReconnecting() throws {
    let target = try PostgresServer.shared().newDatabase()
    let connection = try PostgresConnection(target)
    try connection.execute("CREATE TABLE city (id int PRIMARY KEY)")
    let tables = try PostgresHistory.install(on: connection).tracked.map(\.historyName)
    let reports = Reports()
    let settings = CommitMonitor.Settings(longestUnchanged: .seconds(600))
    let monitor = try reports.monitor(target, settings, tables: tables)
    defer { monitor.close() }
    #expect(eventually(within: .seconds(60)) { reports.last != nil })
    let before = reports.changes.withLock(\.self)
    try connection.execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        + "WHERE datname = current_database() AND pid <> pg_backend_pid()")
    #expect(eventually(within: .seconds(60)) { reports.changes.withLock(\.self) > before })
  }

  @Test("each attempt to connect is made after twice the pause of the one before")
  func growingPause() throws {
    let reports = Reports()
    let monitor = try reports.monitor("host=/nowhere user=tester dbname=postgres")
    defer { monitor.close() }
    #expect(eventually(within: .seconds(60)) { reports.failureTimes.withLock(\.count) >= 5 })
    let times = reports.failureTimes.withLock(\.self)
    for (index, pause) in [100, 200, 400, 800].enumerated() {
      #expect(times[index + 1] - times[index] >= .milliseconds(pause - 1))
    }
  }

  @Test("a server that no longer answers is left after a time limit")
  func frozenServer() throws {
    let (target, connection) = try Self.database()
    let reports = Reports()
    let monitor = try reports.monitor(target, .init(longestPoll: .milliseconds(500)))
    defer { monitor.close() }
    #expect(eventually(within: .seconds(60)) { reports.last != nil })
    let process = try connection.query(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE $1",
      ["%livefetch.history_seq%"])
    try #require(process.rowCount == 1)
    let frozen = pid_t(try process.integer(0, 0))
    kill(frozen, SIGSTOP)
    defer { kill(frozen, SIGCONT) }
    #expect(eventually(within: .seconds(60)) { !reports.failures.withLock(\.isEmpty) })
    try connection.execute("INSERT INTO city VALUES (1)")
    let after = try position(connection).snapshot
    #expect(
      eventually(within: .seconds(60)) { reports.last.map { after.isSubset(of: $0) } == true })
    #expect(eventually(within: .seconds(60)) { monitor.age < .seconds(10) })
  }

  @Test("a commit that is visible but not flushed is flushed before it is used")
  func flush() throws {
    let (_, connection) = try Self.database()
    try connection.execute("SET synchronous_commit = off")
    for id in 0..<50 {
      try connection.execute("INSERT INTO city VALUES (\(id))")
      let end = try HistoryTransaction.read([], on: connection) {
        (transaction) throws(PostgresError) in transaction.logEnd
      }
      try connection.withDeadline(.seconds(60)) { () throws(PostgresError) in
        try connection.waitForLogFlush(upTo: end)
      }
      let flushed = try connection.query("SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint")
      #expect(try flushed.integer(0, 0) + 40 >= end)
    }
  }

  @Test("the pauses before a log is flushed grow up to 20 ms and stay there")
  func flushPauses() {
    let pauses = [0, 1, 2, 3, 4, 5, 6, 62, 63, 64, 1_000].map {
      PostgresConnection.flushPause(round: $0)
    }
    #expect(pauses == [1, 2, 4, 8, 16, 20, 20, 20, 20, 20, 20])
  }

  @Test("a log that nobody flushes does not make a reader wait for ever")
  func unflushedAbort() throws {
    let (_, connection) = try Self.database()
    for id in 0..<20 {
      // An aborted transaction's records are not flushed.
      try connection.execute("BEGIN; INSERT INTO city VALUES (\(id)); ROLLBACK")
      let end = try HistoryTransaction.read([], on: connection) {
        (transaction) throws(PostgresError) in transaction.logEnd
      }
      try connection.withDeadline(.seconds(60)) { () throws(PostgresError) in
        try connection.waitForLogFlush(upTo: end)
      }
    }
  }
}
