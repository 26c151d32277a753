// Tables whose triggers arrive in another way than by LiveFetch: from a dump, and from a partitioned
// table.

import Foundation
import SQLComposer
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: restored tables and partitions", .mayBlock)
struct MovedTableTests {
  private let history = PostgresHistory.self

  private func triggers(_ connection: PostgresConnection) throws -> [String] {
    let result = try connection.query(
      """
      SELECT tgrelid::regclass || ' ' || tgname FROM pg_trigger
      WHERE NOT tgisinternal AND tgparentid = 0 ORDER BY 1
      """)
    return (0..<result.rowCount).map { result.text($0, 0) }
  }

  @Test("a database that was restored from a dump is served, with a history of its own")
  func dump() throws {
    let script = """
      CREATE TABLE city (id int PRIMARY KEY, name text);
      CREATE TABLE event (day int PRIMARY KEY) PARTITION BY RANGE (day);
      CREATE TABLE event1 PARTITION OF event FOR VALUES FROM (0) TO (10);
      """
    try withDatabase(script) { connection, target in
      _ = try history.install(on: connection)
      try connection.execute("INSERT INTO city VALUES (1, 'a'); INSERT INTO event VALUES (1)")
      let dumped = try position(connection)
      let copy = try PostgresConnection(try PostgresServer.shared().dumpedCopy(of: target))
      let installed = try history.install(on: copy)
      #expect(installed.changed == ["city", "event"])
      #expect(try history.isIntact(on: copy))
      #expect(try triggers(copy).count == 8)
      let start = try position(copy)
      #expect(start.epoch != dumped.epoch)
      try copy.execute("UPDATE city SET name = 'b'; TRUNCATE event")
      let old = try installed.tracked.map { try oldRows(of: $0, since: start, on: copy) }
      #expect(old == [[[1]: [1, "a"]], [[1]: [1]]])
      copy.close()
    }
  }

  @Test(
    "a changed type within the type of a column begins a new history",
    arguments: [
      "ALTER TYPE kind RENAME VALUE 'x' TO 'z'", "ALTER TYPE pair RENAME ATTRIBUTE b TO c",
      "ALTER TYPE pair DROP ATTRIBUTE a", "ALTER TYPE pair ADD ATTRIBUTE c int",
    ],
    ["kind[]", "named", "pair[]", "nested", "pairs"])
  func innerTypes(_ change: String, _ column: String) throws {
    let script = """
      CREATE TYPE kind AS ENUM ('x', 'y'); CREATE DOMAIN named AS kind;
      CREATE TYPE pair AS (a int, b kind); CREATE DOMAIN pairs AS pair; CREATE TYPE nested AS (p pair);
      CREATE TABLE city (id int PRIMARY KEY, v \(column));
      """
    try withDatabase(script) { connection, _ in
      let start = try history.install(on: connection).tracked.count
      #expect(start == 1)
      #expect(try history.isIntact(on: connection))
      try connection.execute(change)
      let isUsed = change.contains("kind") || column.contains("pair") || column == "nested"
      #expect(try history.isIntact(on: connection) != isUsed)
      let epoch = try position(connection).epoch
      _ = try history.install(on: connection)
      #expect(try (position(connection).epoch != epoch) == isUsed)
      #expect(try history.isIntact(on: connection))
    }
  }

  @Test("a table becomes a partition, and a partition a table")
  func partitions() throws {
    let script = """
      CREATE TABLE event (day int PRIMARY KEY) PARTITION BY RANGE (day);
      CREATE TABLE old (day int PRIMARY KEY); INSERT INTO old VALUES (1);
      CREATE TABLE later PARTITION OF event FOR VALUES FROM (10) TO (20);
      INSERT INTO event VALUES (11);
      """
    try withDatabase(script) { connection, _ in
      _ = try history.install(on: connection)
      try connection.execute(
        "ALTER TABLE event ATTACH PARTITION old FOR VALUES FROM (0) TO (10); "
          + "ALTER TABLE event DETACH PARTITION later; TRUNCATE later; INSERT INTO later VALUES (12)"
      )
      #expect(try history.isIntact(on: connection) == false)
      let tables = try history.install(on: connection).tracked
      #expect(tables.map(\.name) == ["event", "later"])
      #expect(try history.isIntact(on: connection))
      let start = try position(connection)
      try connection.execute("UPDATE event SET day = 2; TRUNCATE later")
      let old = try tables.map { try oldRows(of: $0, since: start, on: connection) }
      #expect(old == [[[1]: [1], [2]: Optional<[PostgresValue]>.none], [[12]: [12]]])
      let names = try triggers(connection)
      #expect(names.count { $0.hasPrefix("later ") } == 4)
      #expect(names.count { $0.hasPrefix("old ") } == 1)
      try connection.execute(
        "ALTER TABLE event ATTACH PARTITION later FOR VALUES FROM (10) TO (20)")
      _ = try history.install(on: connection)
      #expect(try triggers(connection).count == 5)
    }
  }

  @Test("the rows before a transaction that rewrites the table are those that it did not make")
  func rewritten() throws {
    let script = """
      CREATE TABLE city (id int PRIMARY KEY, name text); INSERT INTO city VALUES (1, 'a'), (2, 'b');
      """
    try withDatabase(script) { connection, _ in
      let table = try #require(try history.install(on: connection).tracked.first)
      let start = try position(connection)
      try connection.execute(
        """
        BEGIN; INSERT INTO city VALUES (3, 'new'); UPDATE city SET name = 'c' WHERE id = 1;
        CLUSTER city USING city_pkey; UPDATE city SET name = 'd' WHERE id IN (1, 2);
        DELETE FROM city WHERE id = 3; COMMIT
        """)
      #expect(
        try oldRows(of: table, since: start, on: connection)
          == [[1]: [1, "a"], [2]: [2, "b"], [3]: Optional<[PostgresValue]>.none])
    }
  }

  @Test("a role that creates partitions of its own table needs no rights on the history")
  func ownersPartition() throws {
    try withDatabase { connection, target in
      let role = "owner_" + UUID().uuidString.prefix(8).lowercased()
      try connection.execute(
        """
        CREATE ROLE \(role); GRANT CREATE ON SCHEMA public TO \(role); SET ROLE \(role);
        CREATE TABLE event (day int PRIMARY KEY) PARTITION BY RANGE (day); RESET ROLE
        """)
      let table = try #require(try history.install(on: connection).tracked.first)
      let writer = try PostgresConnection(target)
      try writer.execute(
        "SET ROLE \(role); CREATE TABLE e1 PARTITION OF event FOR VALUES FROM (0) TO (10); "
          + "INSERT INTO event VALUES (1)")
      let other = "other_" + UUID().uuidString.prefix(8).lowercased()
      try connection.execute(
        "CREATE ROLE \(other); GRANT CREATE ON SCHEMA public TO \(other); SET ROLE \(other); "
          + "CREATE TABLE mine (day int)")
      let error = #expect(throws: PostgresError.self) {
        try connection.execute(
          "CREATE TRIGGER t AFTER INSERT ON mine FOR EACH ROW "
            + "EXECUTE FUNCTION livefetch.capture_insert_\(table.oid)()")
      }
      #expect(error?.sqlState == "42501")
      writer.close()
    }
  }

  @Test("tables of other roles and of extensions are served without a history")
  func foreignTables() throws {
    try withDatabase("CREATE TABLE theirs (id int PRIMARY KEY)") { connection, target in
      let role = "app_" + UUID().uuidString.prefix(8).lowercased()
      let database = try connection.query("SELECT current_database()").text(0, 0)
      try connection.execute(
        """
        CREATE ROLE \(role) LOGIN; GRANT SELECT ON theirs TO \(role);
        GRANT CREATE ON DATABASE \(database) TO \(role); GRANT CREATE ON SCHEMA public TO \(role);
        SET ROLE \(role); CREATE TABLE mine (id int PRIMARY KEY); RESET ROLE
        """)
      let store = try PostgresStore(target.replacing("user=tester", with: "user=\(role)"))
      defer { store.close() }
      #expect(store.readOnlyReason == nil)
      #expect(store.newlyTracked == ["mine"])
      #expect(store.model.entities.map(\.name).sorted() == ["mine", "theirs"])
      #expect(try ParityFixture.snapshot(store, "theirs", "as=count").contains(#""total":0"#))
    }
  }
}
