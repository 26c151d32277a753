// A PostgreSQL store: reading, epochs, roles, limits and health.

import FetchModel
import Foundation
import SQLComposer
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: a store", .mayBlock)
struct PostgresStoreTests {
  private static let table = """
    CREATE TABLE "Note"(id int PRIMARY KEY, text text, tags text[], span interval);
    INSERT INTO "Note" VALUES (1, 'one', '{a,b}', '1 day'), (2, 'two', NULL, NULL);
    """

  static func withStore(
    _ script: String = table, _ options: PostgresStoreOptions = .init(),
    _ body: (PostgresStore, PostgresConnection) throws -> Void
  ) throws {
    try withDatabase(script) { connection, target in
      let store = try PostgresStore(target, options: options)
      defer { store.close() }
      try body(store, connection)
    }
  }

  @Test("arrays are JSON, and types without a counterpart are text")
  func types() throws {
    try Self.withStore { (store, _) throws in
      let snapshot = try ParityFixture.snapshot(store, "Note", "sort=id")
      #expect(
        snapshot.contains(
          #"{"id":1,"text":"one","tags":["a","b"],"span":"P1D"},"#
            + #"{"id":2,"text":"two","tags":null,"span":null}"#))
    }
  }

  @Test("a store is named after its database, and reads the newest committed state")
  func newestState() throws {
    try Self.withStore { (store, connection) throws in
      #expect(store.properties.kind == "postgres")
      #expect(store.properties.name?.hasPrefix("t_") == true)
      #expect(store.newlyTracked == ["Note"])
      let before = store.newestToken
      try connection.execute(#"DELETE FROM "Note" WHERE id = 1"#)
      #expect(try ParityFixture.snapshot(store, "Note", "as=ids").contains(#""items":[2]"#))
      #expect(store.newestToken != before)
    }
  }

  @Test("a read that sends answers itself begins once the commits that it sees are on disk")
  func durableBeforeBody() throws {
    try Self.withStore { (store, connection) throws in
      try connection.execute("SET synchronous_commit = off")
      for number in 0..<20 {
        try connection.execute(#"UPDATE "Note" SET text = '\#(number)' WHERE id = 1"#)
        let end = try connection.query("SELECT pg_current_wal_insert_lsn()::text").text(0, 0)
        let isFlushed = Mutex(false)
        try store.read(cancelledWhen: { false }) { _ throws(StoreError) in
          // The first record of a page begins after its header.
          let flushed = try? connection.query(
            "SELECT pg_current_wal_flush_lsn() + 40 >= '\(end)'::pg_lsn"
          ).bool(0, 0)
          isFlushed.withLock { $0 = flushed == true }
        }
        let wasFlushed = isFlushed.withLock { $0 }
        #expect(wasFlushed, "\(number)")
      }
    }
  }

  @Test("fetches have the new epoch soon after it has begun, and tokens of the old one are expired")
  func newEpoch() throws {
    try Self.withStore { (store, connection) throws in
      let plan = try ParityFixture.plan(store, "Note", "sort=id&limit=5")
      func token() throws -> Token { try store.snapshot(of: plan, queryClass: .full).token }
      let first = try token()
      #expect(try token().epoch == first.epoch)
      try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; TRUNCATE \"Note\"; COMMIT")
      let soon = try token()
      let validity = try store.read { read throws(StoreError) in
        [try read.validity(of: first), try read.validity(of: soon)]
      }
      #expect(validity.first == .expired)
      #expect(soon.epoch != first.epoch || validity.last == .expired)
      #expect(eventually(within: .seconds(60)) { store.newestToken.epoch != first.epoch })
      let last = try token()
      #expect(last.epoch != first.epoch)
      let isKnown = try store.read { read throws(StoreError) in
        try read.validity(of: last) == .known
      }
      #expect(isKnown)
    }
  }

  @Test("a read-only store leaves the database as it is")
  func readOnly() throws {
    var options = PostgresStoreOptions()
    options.isReadOnly = true
    try Self.withStore(Self.table, options) { (store, connection) throws in
      #expect(store.properties.isReadOnly)
      #expect(try ParityFixture.snapshot(store, "Note", "as=count").contains(#""total":2"#))
      let schemas = try connection.query(
        "SELECT count(*) FROM pg_namespace WHERE nspname = 'livefetch'")
      #expect(try schemas.integer(0, 0) == 0)
    }
  }

  @Test("a role that owns no table is served read-only, with the reason")
  func foreignTables() throws {
    try withDatabase(Self.table + #"GRANT SELECT ON "Note" TO PUBLIC;"#) { connection, target in
      let role = "reader_\(target.hashValue.magnitude)"
      try connection.execute("CREATE ROLE \(role) LOGIN")
      let store = try PostgresStore(target.replacing("user=tester", with: "user=\(role)"))
      defer { store.close() }
      #expect(store.properties.isReadOnly)
      #expect(store.readOnlyReason?.contains("does not own") == true)
      #expect(try ParityFixture.snapshot(store, "Note", "as=count").contains(#""total":2"#))
    }
  }

  @Test("a table that the role may not read is refused as that, not as read-only")
  func unreadableTables() throws {
    try withDatabase(Self.table + #"CREATE TABLE "Own"(id int PRIMARY KEY);"#) {
      connection, target in
      let role = "blind_\(target.hashValue.magnitude)"
      try connection.execute(#"CREATE ROLE \#(role) LOGIN; ALTER TABLE "Own" OWNER TO \#(role)"#)
      let store = try PostgresStore(target.replacing("user=tester", with: "user=\(role)"))
      defer { store.close() }
      #expect(
        throws: StoreError.unsupported(
          "Reading a table or column that the server's role may not read")
      ) {
        try ParityFixture.snapshot(store, "Note", "as=count")
      }
    }
  }

  @Test("a refused explanation names the reason and leaves no prepared statement")
  func refusedExplanation() throws {
    try withDatabase(Self.table + #"CREATE TABLE "Own"(id int PRIMARY KEY);"#) {
      connection, target in
      let role = "curious_\(target.hashValue.magnitude)"
      try connection.execute(#"CREATE ROLE \#(role) LOGIN; ALTER TABLE "Own" OWNER TO \#(role)"#)
      var options = PostgresStoreOptions()
      options.connections = 1
      let store = try PostgresStore(
        target.replacing("user=tester", with: "user=\(role)"), options: options)
      defer { store.close() }
      for _ in 0..<2 {
        #expect(
          throws: StoreError.unsupported(
            "Reading a table or column that the server's role may not read")
        ) {
          _ = try store.explain(ParityFixture.plan(store, "Note", ""), queryClass: .full)
        }
      }
      let left = try store.pool.withConnection { connection throws(PostgresError) in
        try connection.query(
          "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'PREPARE %'"
        ).integer(0, 0)
      }
      #expect(left == 0)
    }
  }

  @Test("a query ends at its time limit, and when it is cancelled")
  func limits() throws {
    let slow =
      Self.table + """
        CREATE FUNCTION slowly(int) RETURNS int LANGUAGE plpgsql STABLE AS
          $$ BEGIN PERFORM pg_sleep(60); RETURN $1; END $$;
        CREATE VIEW "Slow" AS SELECT id, slowly(id) AS value FROM "Note";
        """
    var options = PostgresStoreOptions()
    options.queryTimeout = 0.3
    try Self.withStore(slow, options) { (store, _) throws in
      #expect(throws: StoreError.queryTimeout) {
        try ParityFixture.snapshot(store, "Slow", "")
      }
    }
    // Longer than the query.
    options.queryTimeout = 600
    try Self.withStore(slow, options) { (store, _) throws in
      #expect(throws: StoreError.queryTimeout) {
        let plan = try ParityFixture.plan(store, "Slow", "")
        _ = try store.withCancellation({ true }, until: nil) { () throws(StoreError) in
          try store.snapshot(of: plan, queryClass: .full)
        }
      }
    }
  }

  @Test("opening a database does not execute a view that calls a volatile function")
  func volatileViews() throws {
    let script =
      Self.table + """
        CREATE SEQUENCE reads;
        CREATE VIEW "Counted" AS SELECT id, nextval('reads') AS place FROM "Note";
        CREATE VIEW "Outer" AS SELECT id, place + 1 AS place FROM "Counted";
        CREATE VIEW "Double" AS SELECT 7 AS id, note.text FROM "Note" AS note;
        """
    try Self.withStore(script) { (store, connection) throws in
      #expect(try connection.query("SELECT is_called FROM reads").rows() == [[false]])
      let names = { (entity: String) in
        store.model.entities.first { $0.name == entity }?.attributes.map(\.name).sorted()
      }
      #expect(names("Outer") == ["place"])
      // The others are executed.
      #expect(names("Double") == ["id_", "text"])
    }
  }

  @Test("time limits that are infinite, negative or no numbers are understood")
  func unusualLimits() throws {
    var options = PostgresStoreOptions()
    options.queryTimeout = .infinity
    options.keptSeconds = .infinity
    try Self.withStore(Self.table, options) { (store, _) throws in
      #expect(try ParityFixture.snapshot(store, "Note", "as=count").contains(#""total":2"#))
    }
    for limit in [Double.nan, -1, -Double.infinity] {
      options.queryTimeout = limit
      #expect(options.timeLimit == .zero)
      options.keptSeconds = limit
      #expect(options.keptTime == .zero)
    }
  }

  @Test("an answer beyond the limit is refused, and the connection can be used again")
  func largeAnswers() throws {
    var options = PostgresStoreOptions()
    options.maxResponseBytes = 10_000
    options.connections = 1
    let script =
      Self.table
      + #"INSERT INTO "Note" SELECT i, repeat('x', 100) FROM generate_series(3, 900) AS i"#
    try Self.withStore(script, options) { (store, _) throws in
      #expect(throws: StoreError.answerTooLarge(limit: 10_000)) {
        try ParityFixture.snapshot(store, "Note", "")
      }
      #expect(try ParityFixture.snapshot(store, "Note", "as=count").contains(#""total":900"#))
    }
  }

  @Test("an answer beyond the limit is refused without waiting for its other rows")
  func largeFirstRows() throws {
    let script =
      Self.table + """
        CREATE FUNCTION slowly(int) RETURNS text LANGUAGE plpgsql STABLE COST 10000 AS $$ BEGIN
          IF $1 > 2 THEN PERFORM pg_sleep(60); END IF; RETURN repeat('x', 20000); END $$;
        CREATE VIEW "Slow" AS SELECT id, slowly(id) AS value FROM generate_series(1, 3) AS id;
        """
    var options = PostgresStoreOptions()
    options.maxResponseBytes = 10_000
    options.connections = 1
    for isReadOnly in [false, true] {
      options.isReadOnly = isReadOnly
      try Self.withStore(script, options) { (store, _) throws in
        // The second one is a transaction, and both compute values after they have sorted the rows.
        for query in ["limit=3", "limit=300"] {
          #expect(throws: StoreError.answerTooLarge(limit: 10_000)) {
            try ParityFixture.snapshot(store, "Slow", query)
          }
        }
        let slow = try ParityFixture.plan(store, "Slow", "limit=300")
        let note = try ParityFixture.plan(store, "Note", "as=count")
        // The transaction goes on.
        let total = try store.readResponses { transaction throws(StoreError) in
          #expect(throws: StoreError.answerTooLarge(limit: 10_000)) {
            try transaction.snapshot(of: slow)
          }
          return try transaction.total(of: note.definition)
        }
        #expect(total == 2)
      }
    }
  }

  @Test("a changed table makes the store outdated")
  func outdated() throws {
    try Self.withStore { (store, connection) throws in
      let isOutdated = Mutex(false)
      store.onOutdated { reason in isOutdated.withLock { $0 = reason == .schemaChanged } }
      try connection.execute(#"ALTER TABLE "Note" ADD COLUMN extra int"#)
      #expect(eventually(within: .seconds(60)) { isOutdated.withLock(\.self) })
    }
  }

  @Test("a database that can be reached is healthy")
  func health() async throws {
    let target = try PostgresServer.shared().newDatabase()
    let store = try PostgresStore(target)
    defer { store.close() }
    let faults = await withCheckedContinuation { continuation in
      store.checkHealth { continuation.resume(returning: $0) }
    }
    #expect(faults == [])
  }

  @Test("a database in which a transaction holds a table of the history is healthy")
  func healthDuringLock() async throws {
    let target = try PostgresServer.shared().newDatabase()
    try PostgresStore(target).close()
    let connection = try PostgresConnection(target)
    try connection.execute("BEGIN; LOCK TABLE livefetch.mark IN ACCESS EXCLUSIVE MODE")
    let store = try PostgresStore(target)
    defer { store.close() }
    let faults = await withCheckedContinuation { continuation in
      store.checkHealth { continuation.resume(returning: $0) }
    }
    #expect(faults == [])
    connection.close()
  }

  @Test("the status has the time of the oldest change at once")
  func oldestChange() throws {
    try withDatabase(Self.table) { connection, target in
      let store = try PostgresStore(target)
      defer { store.close() }
      let empty = try #require(try PostgresStore.status(target).history)
      #expect(empty.oldest == nil)
      let start = try connection.query("SELECT extract(epoch FROM now())::bigint").integer(0, 0)
      try connection.execute(#"DELETE FROM "Note""#)
      let oldest = try #require(try PostgresStore.status(target).history?.oldest)
      #expect(oldest >= Double(start) - 1 && oldest < Double(start) + 60)
    }
  }

  @Test("what SQL over PostgreSQL cannot express is refused by name")
  func unsupported() throws {
    try Self.withStore { (store, _) throws in
      #expect(throws: StoreError.unsupported("This pattern of MATCHES over PostgreSQL")) {
        try ParityFixture.snapshot(store, "Note", "where=text%20MATCHES%20'%5C%5CX'")
      }
    }
  }
}
