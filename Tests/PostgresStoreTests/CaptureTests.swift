// What the triggers record.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import PostgresStore

@Suite(.mayBlock)
struct CaptureTests {
  static let city = "CREATE TABLE city (id int PRIMARY KEY, name text, size float8)"

  let history = PostgresHistory.self

  /// Installs, and returns the table that is the only one.
  func install(_ connection: PostgresConnection) throws -> PostgresTrackedTable {
    try #require(try history.install(on: connection).tracked.first)
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

  @Test("keys of a type whose schema is named like another type are compared as text")
  func keysOfOwnTypes() throws {
    let types = "CREATE SCHEMA dates; CREATE TYPE dates.period AS RANGE (subtype = numeric);"
    try withDatabase(
      types + """
        CREATE TABLE plan (at dates.period, day date, due timestamptz(3),
          PRIMARY KEY (at, day, due))
        """
    ) { connection, _ in
      let table = try install(connection)
      #expect(table.identity() == #""at"::text COLLATE "C", "day", "due""#)
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
      let tables = try history.install(on: connection).tracked
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

  @Test("a writer's own type named record is not used with the rights of the history's owner")
  func temporaryRecordType() throws {
    try withDatabase(Self.city + "; INSERT INTO city VALUES (1, 'a', 1)") { connection, target in
      let table = try install(connection)
      let start = try position(connection)
      let role = "role_" + UUID().uuidString.prefix(8).lowercased()
      try connection.execute("CREATE ROLE \(role); GRANT ALL ON city TO \(role)")
      let writer = try PostgresConnection(target)
      try writer.execute("SET ROLE \(role)")
      try writer.execute(
        """
        CREATE FUNCTION pg_temp.check_owner(value bigint) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
          IF current_user <> '\(role)' THEN RAISE EXCEPTION 'runs as %', current_user; END IF;
          RETURN true;
        END $$;
        CREATE DOMAIN pg_temp.checked AS bigint CHECK (pg_temp.check_owner(VALUE));
        CREATE TYPE pg_temp.record AS (id pg_temp.checked)
        """)
      try writer.execute("UPDATE public.city SET size = 2")
      #expect(try oldRows(of: table, since: start, on: connection) == [[1]: [1, "a", 1.0]])
    }
  }

  @Test("the history and the keys have none of the privileges that new tables get by default")
  func defaultPrivileges() throws {
    try withDatabase(Self.city + "; INSERT INTO city VALUES (1, 'a', 1)") { connection, target in
      let role = "role_" + UUID().uuidString.prefix(8).lowercased()
      try connection.execute(
        """
        CREATE ROLE \(role); ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO \(role);
        ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO PUBLIC
        """)
      _ = try install(connection)
      try connection.execute(PostgresAPIKeyTable.creation)
      try connection.execute(PostgresAPIKeyTable.creation)
      let granted = try connection.query(
        """
        SELECT string_agg(DISTINCT c.relname, ' ') FROM pg_class AS c, aclexplode(c.relacl) AS a
        WHERE c.relnamespace = 'livefetch'::regnamespace AND a.grantee <> c.relowner
        """)
      #expect(granted.text(0, 0) == "")
      try connection.execute(
        """
        ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM \(role);
        ALTER DEFAULT PRIVILEGES REVOKE ALL ON SEQUENCES FROM PUBLIC
        """)
    }
  }

  @Test("trigger functions of another version are replaced, and the history goes on")
  func olderFunctions() throws {
    try withDatabase(Self.city + "; INSERT INTO city VALUES (1, 'a', 1)") { connection, _ in
      let table = try install(connection)
      let start = try position(connection)
      let function = "livefetch.capture_update_\(table.oid)()"
      let source = try connection.query(
        "SELECT pg_get_functiondef('\(function)'::regprocedure)"
      ).text(0, 0)
      try connection.execute(source.replacing("pg_catalog.record", with: "record"))
      // As the other version has stored it.
      let signature = try #require(try history.signature(of: table.oid, on: connection))
      try connection.execute("UPDATE livefetch.captured SET signature = '\(signature)'")
      #expect(try history.install(on: connection).changed == [])
      #expect(
        try connection.query(
          "SELECT pg_get_functiondef('\(function)'::regprocedure)"
        ).text(0, 0) == source)
      #expect(try history.isIntact(on: connection))
      #expect(try position(connection).epoch == start.epoch)
      try connection.execute("UPDATE city SET size = 2")
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
}
