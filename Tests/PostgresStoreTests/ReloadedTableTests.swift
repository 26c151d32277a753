// Reads and saves while another program empties a table and fills it again, or builds it again, in one
// transaction.

import Dispatch
import FetchModel
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: reads and saves during the reload of a table", .mayBlock)
struct ReloadedTableTests {
  /// SQL that is true while a session with the query `$1`, a pattern of LIKE, waits for a lock.
  private static let waits = """
    SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
      AND wait_event_type = 'Lock' AND query LIKE $1::text)
    """

  /// Runs `body`, which waits for a transaction of another program with the statements `reload`, in a query
  /// like `pattern`. The transaction commits then, or when `body` has ended.
  private func during<Result>(
    _ reload: String, of target: String, until pattern: String = "%",
    _ body: () throws -> Result
  ) throws -> Result {
    let other = try PostgresConnection(target)
    let observer = try PostgresConnection(target)
    defer {
      other.close()
      observer.close()
    }
    try other.execute("BEGIN; \(reload)")
    let committed = DispatchSemaphore(value: 0)
    let ended = WrittenOnce()
    Thread.detachNewThread {
      _ = try? eventually(within: .seconds(60)) {
        if ended.isWritten { return true }
        return try observer.query(Self.waits, [.text(pattern)]).bool(0, 0)
      }
      _ = try? other.execute("COMMIT")
      committed.signal()
    }
    defer {
      ended.write()
      committed.wait()
    }
    return try body()
  }

  /// A flag that another thread reads.
  private final class WrittenOnce: Sendable {
    private let flag = Mutex(false)
    var isWritten: Bool { flag.withLock { $0 } }
    func write() { flag.withLock { $0 = true } }
  }

  /// The outcome of a save that waits for a transaction with the statements `reload`.
  private func outcome(
    _ body: String, during reload: String, rules: String? = nil
  ) throws -> [String] {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    return try during(reload, of: fixture.target) {
      try fixture.save(body, to: fixture.postgres, rules: rules).map(SaveFixture.short)
    }
  }

  private static let tables = """
    CREATE TABLE city (id int PRIMARY KEY, name text); INSERT INTO city VALUES (1, 'a'), (2, 'b');
    CREATE VIEW large AS SELECT id, name FROM city WHERE id > 0;
    """
  private static let reloads = [
    "TRUNCATE city; INSERT INTO city VALUES (1, 'c'), (2, 'd'), (3, 'e')",
    "INSERT INTO city VALUES (3, 'e'); ALTER TABLE city ADD rank float DEFAULT random()",
    """
    CREATE TABLE built (LIKE city INCLUDING ALL);
    INSERT INTO built VALUES (1, 'c'), (2, 'd'), (3, 'e');
    DROP TABLE city CASCADE; ALTER TABLE built RENAME TO city;
    CREATE VIEW large AS SELECT id, name FROM city WHERE id > 0
    """,
  ]

  @Test(
    "a count that waits for a table to be filled again counts the new rows, also of a view over it",
    arguments: reloads, ["city", "large"])
  func counts(reload: String, entity: String) throws {
    for isReadOnly in [false, true] {
      try withDatabase(Self.tables) { _, target in
        var options = PostgresStoreOptions()
        options.isReadOnly = isReadOnly
        options.queryTimeout = 60
        let store = try PostgresStore(target, options: options)
        defer { store.close() }
        let count = try during(reload, of: target) {
          try ParityFixture.snapshot(store, entity, "as=count")
        }
        #expect(count.contains(#""total":3"#), "read-only: \(isReadOnly)")
      }
    }
  }

  @Test("a fetch waits for a table before its snapshot, without a limit but its own deadline")
  func unlimitedWait() throws {
    try withDatabase(Self.tables) { _, target in
      var options = PostgresStoreOptions()
      options.queryTimeout = 60
      let store = try PostgresStore(target, options: options)
      defer { store.close() }
      let pattern = "BEGIN %lock_timeout = 0; LOCK TABLE %"
      let count = try during(Self.reloads[0], of: target, until: pattern) {
        try ParityFixture.snapshot(store, "city", "as=count")
      }
      #expect(count.contains(#""total":3"#))
    }
  }

  @Test("a read of the live engine does not wait for a reload, and reads the table after it")
  func liveRead() throws {
    try withDatabase(Self.tables + "CREATE TABLE note (id int PRIMARY KEY)") { connection, target in
      var options = PostgresStoreOptions()
      options.queryTimeout = 60
      let store = try PostgresStore(target, options: options)
      defer { store.close() }
      let note = try ParityFixture.plan(store, "note", "")
      let city = try ParityFixture.plan(store, "city", "")
      try connection.execute("BEGIN; \(Self.reloads[0])")
      for _ in 0..<2 {
        let error = #expect(throws: StoreError.self) {
          try store.read(cancelledWhen: { false }) { transaction throws(StoreError) in
            _ = try transaction.total(of: city.definition)
          }
        }
        #expect(error == .busy)
        let notes = try store.read(cancelledWhen: { false }) { transaction throws(StoreError) in
          try transaction.total(of: note.definition)
        }
        #expect(notes == 0)
      }
      try connection.execute("COMMIT")
      let cities = try store.read(cancelledWhen: { false }) { transaction throws(StoreError) in
        try transaction.total(of: city.definition)
      }
      #expect(cities == 3)
    }
  }

  @Test(
    "a transaction that reads a table after its replacement is refused", arguments: [false, true])
  func secondStatement(isReadOnly: Bool) throws {
    try withDatabase(Self.tables + "CREATE TABLE note (id int PRIMARY KEY)") { _, target in
      var options = PostgresStoreOptions()
      options.isReadOnly = isReadOnly
      options.queryTimeout = 60
      let store = try PostgresStore(target, options: options)
      defer { store.close() }
      let note = try ParityFixture.plan(store, "note", "")
      let large = try ParityFixture.plan(store, "large", "")
      let error = #expect(throws: StoreError.self) {
        try during(Self.reloads[0], of: target) {
          try store.read { transaction throws(StoreError) in
            _ = try transaction.total(of: note.definition)
            _ = try transaction.total(of: large.definition)
          }
        }
      }
      #expect(error == .busy)
    }
  }

  @Test("a repeated transaction waits for the replaced table before it takes its snapshot")
  func repeatedTransaction() throws {
    try withDatabase(Self.tables) { connection, target in
      let tables = try CatalogReader(connection: connection).read().lockable
      _ = try PostgresHistory.install(on: connection)
      func count() throws -> Int64 {
        try during(Self.reloads[0], of: target) {
          try HistoryTransaction.read(tables, on: connection) {
            (transaction) throws(PostgresError) -> Int64 in
            let sql = #"SELECT count(*) FROM "city""#
            try transaction.locks.lock(for: sql)
            return try connection.query(sql).integer(0, 0)
          }
        }
      }
      let error = #expect(throws: PostgresError.self) { try count() }
      #expect(error?.sqlState == "40001")
      #expect(connection.replacedTables.map(\.name) == ["city"])
      #expect(try count() == 3)
      #expect(connection.replacedTables.isEmpty)
    }
  }

  @Test("a save that waits for a table that is built again under its name changes the new row")
  func builtTable() throws {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    let reload = """
      CREATE TABLE built (LIKE "Log" INCLUDING ALL);
      INSERT INTO built(id, number) VALUES (1, 7), (2, 8);
      DROP TABLE "Log"; ALTER TABLE built RENAME TO "Log"
      """
    _ = try during(reload, of: fixture.target) {
      try fixture.save(
        #"{"changes":[{"update":"Log","id":1,"values":{"number":3}}]}"#, to: fixture.postgres)
    }
    let connection = try PostgresConnection(fixture.target)
    defer { connection.close() }
    let numbers = try connection.query(#"SELECT number FROM "Log" ORDER BY id"#).rows()
    #expect(numbers == [[3], [8]])
  }

  @Test(
    "a save that waits for a TRUNCATE and an INSERT changes the new rows",
    arguments: [
      (
        #"{"changes":[{"update":"Log","id":1,"values":{"number":3}}]}"#,
        ["+0 ~1 -0", "0 Log 1 updated"]
      ),
      (
        #"{"changes":[{"update":"Log","where":"number > 0","values":{"number":3}}]}"#,
        ["+0 ~2 -0"]
      ),
      (#"{"changes":[{"delete":"Log","id":2}]}"#, ["+0 ~0 -1", "0 Log 2 deleted"]),
    ])
  func newRows(body: String, expected: [String]) throws {
    let reload = #"TRUNCATE "Log"; INSERT INTO "Log"(id, number) VALUES (1, 7), (2, 8)"#
    #expect(try outcome(body, during: reload) == expected)
  }

  @Test("an access rule reads the new rows of a table that is emptied and filled again")
  func rules() throws {
    let rules = """
      {"access":{"default":true},"entities":{"City":{"access":{"read":true,"insert":true,
        "delete":true,"update":"NOT (ANY Tag.id == 'big')"}}}}
      """
    let reload = #"TRUNCATE "City_Tag"; INSERT INTO "City_Tag" VALUES (10, 'big'), (11, 'old')"#
    func save(_ city: Int) throws -> [String] {
      try outcome(
        #"{"changes":[{"update":"City","id":\#(city),"values":{"population":4}}]}"#,
        during: reload, rules: rules)
    }
    #expect(try save(10) == ["403 0 - forbidden"])
    #expect(try save(11) == ["+0 ~1 -0", "0 City 11 updated"])
  }
}
