// Installing, comparing and removing the triggers; what they record.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import PostgresStore

private let history = PostgresHistory()

@Suite(.mayBlock)
struct CaptureTests {
  private static let city = "CREATE TABLE city (id int PRIMARY KEY, name text, size float8)"

  /// Installs, and returns the table that is the only one.
  private func install(_ connection: PostgresConnection) throws -> CapturedTable {
    try #require(try history.install(on: connection).captured.first)
  }

  @Test("installing again changes nothing, and keeps the epoch")
  func idempotent() throws {
    try withDatabase(Self.city) { connection, _ in
      #expect(try history.isIntact(on: connection) == false)
      #expect(try history.install(on: connection).changed == ["city"])
      let first = try position(connection)
      #expect(try history.isIntact(on: connection))
      #expect(try history.install(on: connection).changed == [])
      let second = try position(connection)
      #expect(second.epoch == first.epoch)
      #expect(first.snapshot.isSubset(of: second.snapshot))
    }
  }

  @Test("The rows before a large save are found by an anti join, whose time is not quadratic")
  func largeSave() throws {
    try withDatabase(Self.city) { connection, _ in
      let city = try install(connection)
      let before = try position(connection)
      try connection.execute(
        """
        INSERT INTO city SELECT g, 'a', 0 FROM generate_series(1, 5000) AS g;
        ANALYZE livefetch.history_\(city.oid); SET work_mem = '64kB'
        """)
      let overlay = city.overlay("old", at: HistoryPosition(before.snapshot))
      let statement = PostgresStatement(overlay)
      let plan = try connection.query(
        "EXPLAIN WITH \(statement.sql) SELECT * FROM old", statement.parameters)
      let lines = try plan.rows().map { "\($0[0])" }.joined(separator: "\n")
      #expect(lines.contains("Anti Join"), "\(lines)")
      #expect(try oldRows(of: city, since: before, on: connection).count == 5_000)
    }
  }

  @Test("A table that a transaction holds is followed later, and other tables are at once")
  func lockedTable() throws {
    let target = try PostgresServer.shared().newDatabase()
    let connection = try PostgresConnection(target)
    try connection.execute("\(Self.city); CREATE TABLE busy (id int PRIMARY KEY)")
    let writer = try PostgresConnection(target)
    try writer.execute("BEGIN; INSERT INTO busy VALUES (1)")
    let first = try history.install(on: connection)
    #expect(first.captured.map(\.name) == ["city"])
    #expect(first.locked.map(\.name) == ["busy"])
    let locked = Set(first.locked.map(\.oid))
    #expect(try history.isIntact(except: locked, on: connection))
    #expect(try history.canLock(anyOf: first.locked, on: connection) == false)
    // A waiting lock would hold up a second writer.
    let other = try PostgresConnection(target)
    try other.execute("SET lock_timeout = '2s'; INSERT INTO busy VALUES (2)")
    try writer.execute("COMMIT; BEGIN; SELECT id FROM busy")
    // A transaction that only reads the table holds nothing up.
    #expect(try history.canLock(anyOf: first.locked, on: connection))
    let second = try history.install(on: connection)
    #expect(second.captured.map(\.name).sorted() == ["busy", "city"])
    #expect(second.changed == ["busy"])
    #expect(second.locked.isEmpty)
    #expect(try history.isIntact(on: connection))
    try writer.execute("COMMIT")
  }

  @Test("A table with triggers that is altered while it is held is followed later, too")
  func lockedAlteredTable() throws {
    let target = try PostgresServer.shared().newDatabase()
    let connection = try PostgresConnection(target)
    try connection.execute("\(Self.city); CREATE TABLE busy (id int PRIMARY KEY)")
    _ = try history.install(on: connection)
    try connection.execute("ALTER TABLE busy ADD COLUMN n int")
    let writer = try PostgresConnection(target)
    try writer.execute("BEGIN; INSERT INTO busy VALUES (1)")
    let found = try history.install(on: connection)
    #expect(found.locked.map(\.name) == ["busy"])
    try writer.execute("COMMIT")
    let locked = Set(found.locked.map(\.oid))
    #expect(try history.isIntact(except: locked, on: connection))
    #expect(try history.install(on: connection).captured.count == 2)
    #expect(try history.isIntact(on: connection))
  }

  @Test("What a held join table relates waits for it, and other tables do not")
  func lockedJoinTable() throws {
    let target = try PostgresServer.shared().newDatabase()
    try PostgresConnection(target).execute(
      """
      CREATE TABLE post (id int PRIMARY KEY); CREATE TABLE tag (id int PRIMARY KEY);
      CREATE TABLE post_tag (post_id int REFERENCES post, tag_id int REFERENCES tag,
        PRIMARY KEY (post_id, tag_id));
      CREATE TABLE person (id int PRIMARY KEY); CREATE TABLE shop (id int PRIMARY KEY);
      CREATE TABLE sale (id int PRIMARY KEY, person_id int REFERENCES person,
        shop_id int REFERENCES shop, price int);
      INSERT INTO post VALUES (1); INSERT INTO tag VALUES (1);
      """)
    let writer = try PostgresConnection(target)
    try writer.execute("BEGIN; LOCK TABLE post_tag, sale IN ROW EXCLUSIVE MODE")
    #expect(try Self.lockedEntities(of: target) == ["post", "sale", "tag"])
    try writer.execute("COMMIT")
    #expect(try Self.lockedEntities(of: target) == [])
  }

  private static func lockedEntities(of target: String) throws -> [String] {
    let store = try PostgresStore(target)
    defer { store.close() }
    return store.model.entities.filter(\.isLocked).map(\.name).sorted()
  }

  @Test("detaching removes everything, twice as well as once")
  func detach() throws {
    try withDatabase(Self.city) { connection, _ in
      _ = try install(connection)
      try history.detach(on: connection)
      try history.detach(on: connection)
      let left = try connection.query(
        """
        SELECT (SELECT count(*) FROM pg_trigger WHERE tgname LIKE '%livefetch%'),
          (SELECT count(*) FROM pg_namespace WHERE nspname = 'livefetch')
        """)
      #expect(try left.rows() == [[0, 0]])
      try connection.execute("INSERT INTO city VALUES (1, 'Bonn', 1)")
    }
  }

  @Test("servers that install at the same time install once")
  func concurrentInstallation() async throws {
    let target = try PostgresServer.shared().newDatabase()
    try PostgresConnection(target).execute(Self.city)
    let pool = PostgresPool(target, connections: 4)
    defer { pool.close() }
    let changed = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<4 {
        group.addTask {
          try pool.withConnection { (connection) throws(PostgresError) in
            try history.install(on: connection).changed.count
          }
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(changed == 1)
  }

  @Test("the old row of an update and of a deletion, and the key of an insertion, are recorded")
  func oldValues() throws {
    try withDatabase(Self.city + "; INSERT INTO city VALUES (1, 'Bonn', 0.1), (2, 'Ulm', 0.2)") {
      connection, _ in
      let table = try install(connection)
      let start = try position(connection)
      try connection.execute("UPDATE city SET name = 'Köln' WHERE id = 1")
      try connection.execute("UPDATE city SET name = 'Mainz' WHERE id = 1")
      try connection.execute("DELETE FROM city WHERE id = 2; INSERT INTO city VALUES (3, 'Rom', 1)")
      #expect(
        try oldRows(of: table, since: start, on: connection) == [
          [1]: [1, "Bonn", 0.1], [2]: [2, "Ulm", 0.2], [3]: Optional<[PostgresValue]>.none,
        ])
    }
  }

  @Test("a change of the key is a deletion and an insertion")
  func rekeyed() throws {
    try withDatabase(Self.city + "; INSERT INTO city VALUES (1, 'Bonn', 1)") { connection, _ in
      let table = try install(connection)
      let start = try position(connection)
      try connection.execute("UPDATE city SET id = 7")
      #expect(
        try oldRows(of: table, since: start, on: connection) == [
          [1]: [1, "Bonn", 1.0], [7]: Optional<[PostgresValue]>.none,
        ])
    }
  }

  @Test("the old row before an update that changes nothing and the next one is the first")
  func unchanged() throws {
    try withDatabase(Self.city + "; INSERT INTO city VALUES (1, 'Bonn', 1), (2, 'Ulm', 2)") {
      connection, _ in
      let table = try install(connection)
      let start = try position(connection)
      try connection.execute(
        "BEGIN; UPDATE city SET size = size WHERE id = 1; UPDATE city SET size = 5 WHERE id = 1; "
          + "UPDATE city SET size = 6 WHERE id = 1; COMMIT")
      #expect(try oldRows(of: table, since: start, on: connection) == [[1]: [1, "Bonn", 1.0]])
    }
  }

  @Test("a trigger that changes rows whose own trigger has yet to fire leaves the first old values")
  func nestedChanges() throws {
    let script = """
      CREATE TABLE city (id int PRIMARY KEY, name text, size float8);
      INSERT INTO city SELECT i, 'old', 0 FROM generate_series(1, 4) AS i;
      CREATE FUNCTION spread() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF pg_trigger_depth() = 1 THEN UPDATE city SET size = size + 1, name = 'spread'; END IF;
        RETURN NULL; END $$;
      CREATE TRIGGER " first" AFTER INSERT OR UPDATE ON city FOR EACH ROW EXECUTE FUNCTION spread();
      """
    try withDatabase(script) { connection, _ in
      let table = try install(connection)
      let start = try position(connection)
      try connection.execute("UPDATE city SET name = 'new' WHERE id < 4")
      try connection.execute("INSERT INTO city VALUES (5, 'five', 0), (6, 'six', 0)")
      let old = try oldRows(of: table, since: start, on: connection)
      for id in 1...4 {
        #expect(old[[.integer(Int64(id))]] == [.integer(Int64(id)), "old", 0.0])
      }
      #expect(old[[5]] == Optional<[PostgresValue]>.none)
      #expect(old[[6]] == Optional<[PostgresValue]>.none)
    }
  }

  @Test("a row that a trigger inserts in place of one whose deletion is not recorded yet existed")
  func replacedByTrigger() throws {
    let script = """
      CREATE TABLE city (id int PRIMARY KEY, name text, size float8);
      INSERT INTO city VALUES (1, 'a', 1), (2, 'b', 2);
      CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF OLD.id = 1 THEN INSERT INTO city VALUES (2, 'again', 0); END IF; RETURN NULL; END $$;
      CREATE TRIGGER " first" AFTER DELETE ON city FOR EACH ROW EXECUTE FUNCTION again();
      """
    try withDatabase(script) { connection, _ in
      let table = try install(connection)
      let start = try position(connection)
      try connection.execute("DELETE FROM city")
      #expect(
        try oldRows(of: table, since: start, on: connection) == [
          [1]: [1, "a", 1.0], [2]: [2, "b", 2.0],
        ])
    }
  }

  @Test("values of every type are recorded exactly")
  func exactValues() throws {
    let script = """
      CREATE TYPE mood AS ENUM ('sad', 'glad');
      CREATE DOMAIN percent AS numeric(5, 2) NOT NULL CHECK (VALUE >= 0);
      CREATE TABLE t (id bigint PRIMARY KEY, b bool, i int2, f float4, d float8, n numeric,
        p percent, s text, c char(5), v varchar(9), m mood, ms mood[], j json, jb jsonb, u uuid,
        y bytea, da date, ts timestamp, tz timestamptz, iv interval, a int[],
        g text GENERATED ALWAYS AS (s || '!') STORED, "we""ird % 'name" text);
      INSERT INTO t (id, b, i, f, d, n, p, s, c, v, m, ms, j, jb, u, y, da, ts, tz, iv, a,
        "we""ird % 'name") VALUES (9007199254740993, true, -1, 0.1, '-0', 1.500, 99.9, 'Ä''\\', 'x',
        'y', 'glad', '{sad,NULL}', '{"b":1, "a":[2 ]}', '{"b":1}', gen_random_uuid(), '\\x0001',
        'infinity', '0044-03-15 BC', now(), '1 mon 2 days', '{1,NULL}', 'q');
      """
    try withDatabase(script) { connection, _ in
      let table = try install(connection)
      let before = try connection.query("SELECT to_json(t) AS r, m::text, ms::text[] FROM t").rows()
      let start = try position(connection)
      try connection.execute("SET extra_float_digits = -15; SET DateStyle = 'German'")
      try connection.execute("UPDATE t SET s = 'other'; TRUNCATE t")
      try connection.execute("RESET extra_float_digits; SET DateStyle = 'ISO, YMD'")
      let after = try connection.query(
        "SELECT to_json(t) AS r, t.m, t.ms FROM (SELECT \(table.columnList) FROM "
          + "\(table.historyName) WHERE livefetch_existed ORDER BY livefetch_seq LIMIT 1) AS t"
      ).rows()
      #expect(after == before)
      let old = try #require(try oldRows(of: table, since: start, on: connection).first?.value)
      #expect(old[0] == 9_007_199_254_740_993)
      #expect(old[4] == .double(-0.0))
      #expect(old[5] == .numeric("1.500"))
      guard case .other(_, Array("glad".utf8)) = old[10] else {
        Issue.record("\(old[10])")
        return
      }
    }
  }

  @Test("TRUNCATE records every row, also of a partition and of tables that it cascades to")
  func truncate() throws {
    let script = """
      CREATE TABLE country (id int PRIMARY KEY);
      CREATE TABLE city (id int PRIMARY KEY, country int REFERENCES country);
      CREATE TABLE event (day int PRIMARY KEY) PARTITION BY RANGE (day);
      CREATE TABLE event1 PARTITION OF event FOR VALUES FROM (0) TO (10);
      CREATE TABLE event2 PARTITION OF event FOR VALUES FROM (10) TO (20);
      INSERT INTO country VALUES (1); INSERT INTO city VALUES (1, 1), (2, NULL);
      INSERT INTO event VALUES (1), (11);
      """
    try withDatabase(script) { connection, _ in
      let tables = try history.install(on: connection).captured
      let start = try position(connection)
      try connection.execute("TRUNCATE country CASCADE; TRUNCATE event1")
      try connection.execute("UPDATE event SET day = 2")
      #expect(try position(connection).epoch == start.epoch)
      let old = try tables.map { try oldRows(of: $0, since: start, on: connection) }
      #expect(old[0] == [[1]: [1, 1], [2]: [2, nil]])
      #expect(old[1] == [[1]: [1]])
      #expect(old[2] == [[1]: [1], [11]: [11], [2]: Optional<[PostgresValue]>.none])
    }
  }

  @Test("rows written after a TRUNCATE of their transaction do not hide those that it removed")
  func rowsAfterTruncate() throws {
    try withDatabase(Self.city + "; INSERT INTO city VALUES (1, 'a', 1), (2, 'b', 2)") {
      connection, _ in
      let table = try install(connection)
      let start = try position(connection)
      try connection.execute(
        "BEGIN; TRUNCATE city; INSERT INTO city VALUES (2, 'c', 3), (1, 'd', 4); COMMIT")
      #expect(
        try oldRows(of: table, since: start, on: connection) == [
          [1]: [1, "a", 1.0], [2]: [2, "b", 2.0],
        ])
    }
  }

  @Test("a TRUNCATE whose transaction may not see all rows begins a new epoch")
  func truncateBegun() throws {
    try withDatabase(Self.city + "; INSERT INTO city VALUES (1, 'a', 1)") { connection, _ in
      _ = try install(connection)
      let start = try position(connection)
      try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; TRUNCATE city; COMMIT")
      #expect(try position(connection).epoch != start.epoch)
      #expect(try history.isIntact(on: connection) == false)
    }
  }

  @Test(
    "a change of the schema is noticed, and never makes a writer fail",
    arguments: [
      "ALTER TABLE city RENAME COLUMN name TO title", "ALTER TABLE city DROP COLUMN size",
      "ALTER TABLE city ALTER COLUMN size TYPE text", "ALTER TABLE city ADD COLUMN more int",
      "ALTER TABLE city RENAME TO town", "ALTER TABLE city DROP CONSTRAINT city_pkey",
      "ALTER TABLE city DISABLE TRIGGER ALL", "ALTER TABLE city SET SCHEMA other",
      "DROP TRIGGER \"!livefetch_%_update\" ON city", "CREATE TABLE another (id int PRIMARY KEY)",
      "ALTER TYPE mood ADD VALUE 'new'", "DROP TABLE livefetch.history_%",
      "ALTER TABLE city ALTER COLUMN size TYPE float8 USING size * 2",
      "ALTER TABLE city ADD CHECK (size IS NULL OR size::text <> '7'), ADD UNIQUE (name)",
    ])
  func schemaChanges(_ change: String) throws {
    let script = """
      CREATE TYPE mood AS ENUM ('a'); CREATE SCHEMA other;
      CREATE TABLE city (id int PRIMARY KEY, name text, size float8, m mood);
      INSERT INTO city VALUES (1, 'a', 1), (2, 'b', 2)
      """
    try withDatabase(script) { connection, _ in
      let table = try install(connection)
      let start = try position(connection)
      try connection.execute(
        "\(change.split(separator: "%").joined(separator: "\(table.oid)")) "
          .replacingSuffix("_ ", by: "_\(table.oid)"))
      if !change.contains("history_") {
        let name =
          change.contains("town") ? "town" : change.contains("SCHEMA") ? "other.city" : "city"
        try connection.execute("INSERT INTO \(name) (id) VALUES (3)")
        try connection.execute("UPDATE \(name) SET id = id + 10; DELETE FROM \(name) WHERE id = 12")
      }
      #expect(try history.isIntact(on: connection) == false)
      _ = try history.install(on: connection)
      #expect(try history.isIntact(on: connection))
      #expect(try position(connection).epoch != start.epoch)
    }
  }

  @Test("a writer without rights on the history is recorded")
  func otherRole() throws {
    try withDatabase(Self.city + "; INSERT INTO city VALUES (1, 'a', 1)") { connection, target in
      let table = try install(connection)
      let start = try position(connection)
      let role = "role_" + UUID().uuidString.prefix(8).lowercased()
      try connection.execute("CREATE ROLE \(role); GRANT ALL ON city TO \(role)")
      let writer = try PostgresConnection(target)
      try writer.execute("SET ROLE \(role); SET search_path = ''")
      try writer.execute("UPDATE public.city SET size = 2")
      #expect(try oldRows(of: table, since: start, on: connection) == [[1]: [1, "a", 1.0]])
    }
  }

  @Test("changes that another server's replication applies are recorded")
  func replica() throws {
    try withDatabase(Self.city) { connection, _ in
      let table = try install(connection)
      let start = try position(connection)
      try connection.execute(
        "SET session_replication_role = replica; INSERT INTO city VALUES (1, 'a', 1)")
      #expect(
        try oldRows(of: table, since: start, on: connection) == [
          [1]: Optional<[PostgresValue]>.none
        ])
    }
  }

  @Test("a copy of the database has another epoch")
  func copiedDatabase() throws {
    let server = try PostgresServer.shared()
    let target = try server.newDatabase()
    let connection = try PostgresConnection(target)
    try connection.execute(Self.city)
    _ = try install(connection)
    let start = try position(connection)
    let name = try connection.query("SELECT current_database()").text(0, 0)
    connection.close()
    try server.run("CREATE DATABASE \(name)_copy TEMPLATE \(name)", on: "postgres")
    let copy = try PostgresConnection(server.target("\(name)_copy"))
    #expect(try position(copy).epoch != start.epoch)
  }

  @Test("the history contains positions from its horizon to the present, and none that it has lost")
  func validity() throws {
    try withDatabase(Self.city) { connection, target in
      _ = try install(connection)
      let open = try PostgresConnection(target)
      try open.execute("BEGIN; INSERT INTO city VALUES (1, 'a', 1)")
      try connection.execute("INSERT INTO city VALUES (2, 'b', 2)")
      let first = try position(connection)
      try open.execute("COMMIT")
      let second = try position(connection)
      func isKnown(_ position: PostgresPosition, _ horizon: PostgresPosition) throws -> Bool {
        try connection.query(
          "UPDATE livefetch.store SET horizon = $1::pg_snapshot",
          [.text(horizon.snapshot.postgresText)])
        return try HistoryTransaction.read([], on: connection) {
          (transaction) throws(PostgresError) in transaction.contains(position)
        }
      }
      #expect(try isKnown(first, first))
      #expect(try !isKnown(first, second))
      let end = second.snapshot.end + 1_000_000
      let future = PostgresPosition(
        epoch: first.epoch, snapshot: PostgresSnapshot(end: end, inProgress: []))
      #expect(try !isKnown(future, first))
      #expect(try !isKnown(PostgresPosition(epoch: "x", snapshot: first.snapshot), first))
    }
  }

  @Test("pruning removes what no valid position needs, beside another server that prunes")
  func pruning() throws {
    try withDatabase(Self.city) { connection, target in
      let table = try install(connection)
      let open = try PostgresConnection(target)
      try open.execute("BEGIN; INSERT INTO city VALUES (0, 'open', 0)")
      try connection.execute("INSERT INTO city SELECT i, 'a', 1 FROM generate_series(1, 50) AS i")
      try history.mark(on: connection)
      try history.mark(on: connection)
      #expect(try connection.query("SELECT count(*) FROM livefetch.mark").integer(0, 0) == 1)
      let kept = try position(connection)
      try open.execute("COMMIT")
      try connection.execute("UPDATE city SET name = 'b'")
      try history.advanceHorizon(keeping: .seconds(3600), on: connection)
      #expect(try history.prune(table, limit: 1_000, on: connection) == 0)
      try history.advanceHorizon(keeping: .zero, on: connection)
      let other = try PostgresConnection(target)
      try other.execute("BEGIN")
      #expect(try history.prune(table, limit: 20, on: other) == 20)
      // Skips the rows that the other one deletes.
      #expect(try history.prune(table, limit: 1_000, on: connection) == 30)
      try other.execute("COMMIT")
      #expect(try history.prune(table, limit: 1_000, on: connection) == 0)
      let old = try oldRows(of: table, since: kept, on: connection)
      #expect(old[[0]] == Optional<[PostgresValue]>.none)
      #expect(old[[50]] == [50, "a", 1.0])
      #expect(old.count == 51)
    }
  }

  @Test("pruning continues with the other tables after one that it cannot prune")
  func pruningDespiteError() throws {
    try withDatabase("\(Self.city); CREATE TABLE town (id int PRIMARY KEY)") { connection, target in
      let tables = try history.install(on: connection).captured
      #expect(tables.map(\.name) == ["city", "town"])
      try connection.execute("INSERT INTO town VALUES (1), (2)")
      try connection.execute("DROP TABLE \(tables[0].historyName) CASCADE")
      let pruner = try HistoryPruner(history, tables, keeping: .zero) {
        () throws(PostgresError) in try PostgresConnection(target)
      }
      defer { pruner.close() }
      try pruner.prune()
      let left = try connection.query("SELECT count(*) FROM \(tables[1].historyName)")
      #expect(try left.integer(0, 0) == 0)
    }
  }
}

extension String {
  fileprivate func replacingSuffix(_ suffix: String, by other: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) + other : self
  }
}
