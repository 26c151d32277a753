// Fetches that the composer writes in PostgreSQL's dialect, executed by a real server.

import Bytes
import FetchModel
import SQLComposer
import TestSupport
import Testing

@testable import PostgresStore

/// Fetches that the composer writes in PostgreSQL's dialect, on a real server.
@Suite("PostgreSQL: composed fetches", .mayBlock)
struct ComposedFetchTests {
  /// A database with functions and a model, and the fetches that run in it.
  struct Fixture {
    let connection: PostgresConnection
    let composer: FetchComposer

    init(_ connection: PostgresConnection) throws {
      self.connection = connection
      try PostgresFunctions.install(connection)
      let catalog = try CatalogReader(connection: connection).read()
      let introspection = Introspection(
        tables: catalog.composed(tracked: []), dialect: .postgres())
      composer = FetchComposer(model: introspection.model, schema: introspection.schema)
    }

    func plan(_ entity: String, _ query: String) throws -> FetchPlan {
      let items = try PercentEncoding.decodeQuery(Substring(query))
      let request = try FetchRequest(entity: entity, query: items)
      return try FetchResolver(model: composer.model, maxItems: 1000).resolve(request)
    }

    func rows(_ statement: FetchStatement) throws -> [[PostgresValue]] {
      let statement = PostgresStatement(statement)
      return try connection.query(statement.sql, statement.parameters).rows()
    }

    func results(_ fetch: FetchStatement) throws -> [PostgresRow] {
      let statement = PostgresStatement(fetch)
      let result = try connection.query(statement.sql, statement.parameters)
      let context = RowContext(
        layout: fetch.layout, limit: ResponseLimit(connection, maxBytes: .max))
      return (0..<result.rowCount).map { PostgresRow(result: result, number: $0, context: context) }
    }

    /// The ids of a fetch in their order, separated by blanks.
    func ids(_ entity: String, _ query: String) throws -> String {
      let statement = composer.window(of: try plan(entity, query), items: .separate)
      return try results(statement).map { $0.id().description }
        .joined(separator: " ")
    }

    /// The ids of the cities for which a predicate is true.
    func cities(_ predicate: String) throws -> String {
      try ids("City", "where=\(PercentEncoding.encodeComponent(predicate))&sort=id")
    }

    static func text(_ value: PostgresValue) -> String {
      switch value {
      case .integer(let integer): "\(integer)"
      case .text(let text), .uuid(let text), .json(let text), .numeric(let text): text
      default: "\(value)"
      }
    }
  }

  static let fixture = """
    CREATE TYPE climate AS ENUM ('wet', 'dry');
    CREATE TABLE "Country"(id int PRIMARY KEY, name text NOT NULL, continent text);
    CREATE TABLE "City"(id bigint PRIMARY KEY, name text NOT NULL, population int,
      area numeric, density double precision, isport boolean, founded timestamptz, climate climate,
      country int REFERENCES "Country");
    CREATE TABLE "Tag"(name text PRIMARY KEY);
    CREATE TABLE "City_Tag"(city bigint REFERENCES "City", tag text REFERENCES "Tag",
      PRIMARY KEY (city, tag));
    CREATE TABLE "Badge"(id uuid PRIMARY KEY, city bigint REFERENCES "City");
    INSERT INTO "Country" VALUES (1, 'China', 'Asia'), (2, 'Japan', 'Asia'), (3, 'Peru', NULL);
    INSERT INTO "City" VALUES
      (10, 'Shanghai', 24, 6340.5, 3.5, TRUE, '1291-01-01T00:00:00Z', 'wet', 1),
      (11, 'beijing', 18, NULL, NULL, FALSE, NULL, 'dry', 1),
      (20, 'Tokyo', 9, 2194, 6.25, TRUE, '1457-06-01T12:00:00Z', 'wet', 2),
      (30, 'Äpfel', NULL, 0.1, 0.1, NULL, NULL, NULL, 3),
      (40, 'Nowhere', 2147483647, 0.30, 0.3, NULL, NULL, NULL, NULL);
    INSERT INTO "Tag" VALUES ('big'), ('old'), ('Zen');
    INSERT INTO "City_Tag" VALUES (10, 'big'), (11, 'big'), (11, 'old'), (11, 'Zen');
    INSERT INTO "Badge" VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 10),
      ('00000000-0000-0000-0000-000000000001', 20);
    """

  static func withFixture(_ body: (Fixture) throws -> Void) throws {
    try withDatabase(fixture) { connection, _ in try body(Fixture(connection)) }
  }

  @Test("predicates select the rows that they select in the SQLite store")
  func predicates() throws {
    try Self.withFixture { (fixture) throws in
      #expect(try fixture.cities("population >= 18") == "10 11 40")
      #expect(try fixture.cities("NOT (population > 9)") == "20 30")
      #expect(try fixture.cities("population > 8.5 AND population < 18.5") == "11 20")
      #expect(try fixture.cities("population == nil") == "30")
      #expect(try fixture.cities("population != 9") == "10 11 30 40")
      #expect(try fixture.cities("name == 'Tokyo'") == "20")
      #expect(try fixture.cities("name != 'Tokyo'") == "10 11 30 40")
      #expect(try fixture.cities("name > 'Z'") == "11 30")
      #expect(try fixture.cities("name BEGINSWITH 'T'") == "20")
      #expect(try fixture.cities("name CONTAINS 'ng'") == "10 11")
      #expect(try fixture.cities("name ENDSWITH 'o'") == "20")
      #expect(try fixture.cities("name IN {'Tokyo', 'Nowhere'}") == "20 40")
      #expect(try fixture.cities("NOT name IN {'Tokyo', 'Nowhere'}") == "10 11 30")
      #expect(try fixture.cities("population BETWEEN {9, 18}") == "11 20")
      #expect(try fixture.cities("isport == TRUE") == "10 20")
      #expect(try fixture.cities("isport != TRUE") == "11 30 40")
      #expect(try fixture.cities("climate == 'wet'") == "10 20")
      #expect(try fixture.cities("climate == 'neither'") == "")
      #expect(try fixture.cities("area == 0.3") == "40")
      #expect(try fixture.cities("density < 1") == "30 40")
    }
  }

  @Test("predicates follow relationships in both directions")
  func relationships() throws {
    try Self.withFixture { (fixture) throws in
      #expect(try fixture.cities("country.continent == 'Asia'") == "10 11 20")
      #expect(try fixture.cities("country == nil") == "40")
      #expect(try fixture.cities("ANY Tag.name == 'big'") == "10 11")
      #expect(try fixture.cities("NONE Tag.name == 'big'") == "20 30 40")
      #expect(try fixture.cities("Tag.@count > 1") == "11")
      #expect(try fixture.ids("Country", "where=City.@sum.population%20%3E%2041&sort=id") == "1")
      #expect(try fixture.ids("Country", "where=City.@count%20%3D%3D%201&sort=id") == "2 3")
    }
  }

  @Test("calculations neither overflow nor fail at a division by zero")
  func calculations() throws {
    try Self.withFixture { (fixture) throws in
      #expect(try fixture.cities("population + 1 == 10") == "20")
      #expect(try fixture.cities("population + population > 4000000000") == "40")
      #expect(try fixture.cities("population / 0 == nil") == "10 11 20 30 40")
      #expect(try fixture.cities("population / 2 == 4") == "20")
      #expect(try fixture.cities("area * 3 == 0.9") == "40")
    }
  }

  @Test("orders are by code point, and nils have the places that the order gives them")
  func orders() throws {
    try Self.withFixture { (fixture) throws in
      #expect(try fixture.ids("City", "sort=name") == "40 10 20 11 30")
      #expect(try fixture.ids("City", "sort=-name") == "30 11 20 10 40")
      #expect(try fixture.ids("City", "sort=population") == "30 20 11 10 40")
      #expect(try fixture.ids("City", "sort=-population") == "40 10 11 20 30")
      #expect(try fixture.ids("City", "sort=country.name,-id") == "40 11 10 20 30")
      #expect(try fixture.ids("City", "sort=name&limit=2&offset=1") == "10 20")
      #expect(try fixture.ids("City", "sort=name&offset=3") == "11 30")
    }
  }

  @Test("a cursor continues after its row in every order")
  func cursors() throws {
    try Self.withFixture { (fixture) throws in
      for (sort, ids) in [
        ("name", "40 10 20 11 30"), ("-population", "40 10 11 20 30"),
        ("founded", "11 30 40 10 20"), ("country.name,-name", "40 11 10 20 30"),
      ] {
        let definition = try fixture.plan("City", "sort=\(sort)").definition
        var found: [String] = []
        var after: OrderKey?
        while found.count < 6 {
          let statement = fixture.composer.keys(of: definition, after: after, limit: 1)
          guard let row = try fixture.results(statement).first else { break }
          found.append(row.id().description)
          after = row.key()
        }
        #expect(found.joined(separator: " ") == ids, "\(sort)")
      }
    }
  }

  @Test("a fetch counts its rows, and selects those of a set of ids")
  func countsAndIDs() throws {
    try Self.withFixture { (fixture) throws in
      let plan = try fixture.plan("City", "where=population%20%3E%201")
      #expect(try fixture.rows(fixture.composer.total(of: plan.definition)) == [[4]])
      for ids: Set<ObjectID> in [[.integer(10)], [.integer(10), .integer(30), .integer(99)]] {
        let statement = fixture.composer.rows(of: plan, ids: ids, at: .now)
        #expect(try fixture.rows(statement).map { $0[Int(statement.layout.id)] } == [10])
      }
      let badges = try fixture.plan("Badge", "")
      for text in ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "no uuid"] {
        let statement = fixture.composer.rows(of: badges, ids: [.text(text)], at: .now)
        #expect(try fixture.rows(statement).count == (text == "no uuid" ? 0 : 1), "\(text)")
      }
      let tags = try fixture.plan("Tag", "")
      let statement = fixture.composer.rows(of: tags, ids: [.text("big"), .text("?")], at: .now)
      #expect(try fixture.rows(statement).count == 1)
    }
  }

  @Test("ids of related objects are a JSON array in the order of code points")
  func relatedIDs() throws {
    try Self.withFixture { (fixture) throws in
      let plan = try fixture.plan("City", "select=Tag&sort=id")
      let statement = fixture.composer.window(of: plan)
      let column = try #require(statement.layout.values.first { $0.format == .ids }).column
      let arrays = try fixture.rows(statement).map { Fixture.text($0[Int(column)]) }
      #expect(arrays == [#"["big"]"#, #"["Zen","big","old"]"#, "[]", "[]", "[]"])
    }
  }

  @Test("question marks and names of functions inside quotes stay as they are")
  func statements() {
    let fragment = SQLFragment(
      #"SELECT "a?", 'livefetch_fold(?', livefetch_fold("x", ?), "livefetch_f" = ?::timestamptz"#,
      bindings: [.text("?"), .integer(1)])
    let statement = PostgresStatement(fragment)
    #expect(
      statement.sql
        == #"SELECT "a?", 'livefetch_fold(?', livefetch.livefetch_fold("x", $1::text), "#
        + #""livefetch_f" = $2::timestamptz"#)
    #expect(statement.parameters == ["?", 1])
  }
}
