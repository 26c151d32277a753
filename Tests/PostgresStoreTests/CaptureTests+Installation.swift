// Installing, comparing and removing the triggers.

import FetchModel
import TestSupport
import Testing

@testable import PostgresStore

extension CaptureTests {
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

  @Test("A table that a transaction holds is followed later, and other tables are at once")
  func lockedTable() throws {
    let target = try PostgresServer.shared().newDatabase()
    let connection = try PostgresConnection(target)
    try connection.execute("\(Self.city); CREATE TABLE busy (id int PRIMARY KEY)")
    let writer = try PostgresConnection(target)
    try writer.execute("BEGIN; INSERT INTO busy VALUES (1)")
    let first = try history.install(on: connection)
    #expect(first.tracked.map(\.name) == ["city"])
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
    #expect(second.tracked.map(\.name).sorted() == ["busy", "city"])
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
    #expect(try history.install(on: connection).tracked.count == 2)
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
}

extension String {
  fileprivate func replacingSuffix(_ suffix: String, by other: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) + other : self
  }
}
