// What the reader of the system catalog returns for the tables of a database.

import FetchModel
import SQLComposer
import TestSupport
import Testing

@testable import PostgresStore

@Suite(.mayBlock)
struct CatalogTests {
  /// Returns the catalog of a new database in which `script` was executed.
  private static func catalog(_ script: String) throws -> Catalog {
    try withDatabase(script) { connection, _ in
      try CatalogReader(connection: connection).read()
    }
  }

  @Test("columns have the types behind their domains; defaults and generated values are known")
  func columns() throws {
    let catalog = try Self.catalog(
      """
      CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE TYPE pair AS (a int, b int);
      CREATE DOMAIN percent AS numeric(5, 2) NOT NULL; CREATE DOMAIN small AS percent;
      CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b bool NOT NULL,
        i smallint DEFAULT 7, d double precision, n numeric, p small, m mood, ms mood[], pr pair,
        a int[], j jsonb, da date, tz timestamptz, u uuid, y bytea, r int4range, v varchar(9),
        g text GENERATED ALWAYS AS (v || '!') STORED, gone int);
      ALTER TABLE t DROP COLUMN gone;
      """)
    let table = try #require(catalog.tables.first)
    let types = table.columns.map { "\($0.name) \($0.attributeType)" }
    #expect(
      types == [
        "id integer", "b boolean", "i integer", "d double", "n decimal", "p decimal", "m string",
        "ms json", "pr json", "a json", "j json", "da date", "tz date", "u uuid", "y binary",
        "r string", "v string", "g string",
      ])
    #expect(table.column("p")?.typeName == "numeric(5,2)")
    #expect(table.column("p")?.isNullable == false)
    #expect(table.column("b")?.isNullable == false)
    #expect(table.column("i")?.isNullable == true)
    #expect(table.column("m")?.labels == ["sad", "glad"])
    #expect(table.column("m")?.historyType == "text")
    #expect(table.column("ms")?.historyType == "text[]")
    #expect(table.column("pr")?.typeName == "public.pair")
    #expect(table.columns.filter { !$0.isWritable }.map(\.name) == ["id", "g"])
    #expect(table.columns.filter(\.hasDefault).map(\.name) == ["id", "i", "g"])
  }

  @Test("the key is the primary key, or a unique key without nullable columns, in its order")
  func keys() throws {
    let catalog = try Self.catalog(
      """
      CREATE TABLE a (x int, y int, z int UNIQUE, PRIMARY KEY (y, x));
      CREATE TABLE b (x int NOT NULL, y int, UNIQUE (y), UNIQUE (x));
      CREATE TABLE c (x int UNIQUE);
      CREATE TABLE d (x int NOT NULL);
      CREATE UNIQUE INDEX ON d (x) WHERE x > 0; CREATE UNIQUE INDEX ON d ((x + 1));
      CREATE TABLE e (x int NOT NULL, y int); CREATE UNIQUE INDEX ON e (x) INCLUDE (y);
      CREATE TABLE f (x int UNIQUE DEFERRABLE NOT NULL);
      """)
    #expect(catalog.tables.map(\.key) == [["y", "x"], ["x"], nil, nil, ["x"], nil])
  }

  @Test("foreign keys have their columns, targets and actions")
  func foreignKeys() throws {
    let catalog = try Self.catalog(
      """
      CREATE TABLE country (a int, b int, c int UNIQUE, PRIMARY KEY (a, b));
      CREATE TABLE city (id int PRIMARY KEY, b int, a int, c int REFERENCES country (c),
        FOREIGN KEY (a, b) REFERENCES country ON DELETE CASCADE,
        parent int REFERENCES city ON DELETE SET NULL);
      """)
    let city = try #require(catalog.tables.first { $0.name == "city" })
    let keys = city.foreignKeys.map { key in
      let target = catalog.table(key.targetTable)?.name ?? ""
      return "\(key.columns) \(target) \(key.targetColumns) \(key.deleteAction.rawValue)"
    }
    #expect(
      keys == [
        #"["a", "b"] country ["a", "b"] c"#, #"["c"] country ["c"] a"#,
        #"["parent"] city ["id"] n"#,
      ])
  }

  @Test("views, partitioned tables and inheritance are distinguished; partitions are no tables")
  func kinds() throws {
    let catalog = try Self.catalog(
      """
      CREATE TABLE event (day int PRIMARY KEY) PARTITION BY RANGE (day);
      CREATE TABLE event1 PARTITION OF event FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (day);
      CREATE TABLE event2 PARTITION OF event1 FOR VALUES FROM (0) TO (5);
      CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE child () INHERITS (parent);
      CREATE VIEW days AS SELECT day FROM event;
      CREATE MATERIALIZED VIEW old_days AS SELECT day FROM event;
      CREATE TEMP TABLE temporary (id int PRIMARY KEY);
      """)
    #expect(
      catalog.tables.map { "\($0.name) \($0.kind) \($0.leafPartitions.count)" } == [
        "child table 0", "days view 0", "event partitionedTable 1", "old_days materializedView 0",
        "parent table 0",
      ])
    #expect(
      catalog.tables.compactMap { PostgresTrackedTable($0)?.quotedName } == [#""public"."event""#])
  }

  @Test(
    "a table is tracked whatever characters its name and its column's name have",
    arguments: ["\"", "'", "%s", "\"\u{301}", "a\\\"", "{,}"])
  func names(_ name: String) throws {
    try withDatabase { connection, _ in
      try connection.execute("CREATE TABLE \(quoted(name)) (\(quoted(name)) text PRIMARY KEY)")
      let table = try #require(try PostgresHistory.install(on: connection).tracked.first)
      let start = try position(connection)
      try connection.execute("INSERT INTO \(table.quotedName) VALUES (\(literal(name)))")
      #expect(
        try oldRows(of: table, since: start, on: connection) == [
          [.text(name)]: Optional<[PostgresValue]>.none
        ])
      try connection.execute("TRUNCATE \(table.quotedName)")
      #expect(try PostgresHistory.isIntact(on: connection))
    }
  }
}
