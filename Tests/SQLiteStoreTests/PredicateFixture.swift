// A small database in a file, and predicates run against it as SQL.

import FetchModel
import SQLComposer
import Testing

@testable import SQLiteStore

/// Countries, cities and tags, with every kind of nil between them.
final class PredicateFixture {
  private let file: ScratchFile
  let connection: Connection
  let model: Model
  let schema: Schema

  /// True if the compiler may assume that every value has its column's encoding.
  var isHomogeneous = true

  static let sql = """
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT NOT NULL, code TEXT COLLATE NOCASE,
      continent TEXT, founded DATE, area REAL);
    CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, population INTEGER, capital BOOLEAN,
      founded DATETIME, rating REAL, country_id INTEGER REFERENCES country);
    CREATE TABLE tag(id TEXT PRIMARY KEY NOT NULL, label TEXT);
    CREATE TABLE city_tag(city_id INTEGER REFERENCES city, tag_id TEXT REFERENCES tag,
      PRIMARY KEY(city_id, tag_id));
    CREATE INDEX city_by_name ON city(name);
    CREATE INDEX city_by_population ON city(population);
    CREATE INDEX city_by_country ON city(country_id);
    INSERT INTO country VALUES (1, 'Germany', 'DE', 'Europe', '1871-01-18', 357.5),
      (2, 'Japan', 'jp', 'Asia', NULL, 378), (3, 'Nowhere', NULL, NULL, '2001-01-01', NULL);
    INSERT INTO city VALUES
      (1, 'Berlin', 3600000, 1, '1237-10-28T00:00:00Z', 4.5, 1),
      (2, 'Köln', 1000000, 0, '0050-01-01T00:00:00Z', 3, 1),
      (3, 'Tokyo', 9733276, 1, '1457-01-01T12:30:00Z', NULL, 2),
      (4, 'Atlantis', NULL, NULL, NULL, 0, NULL),
      (5, '', 0, 0, '2001-01-01T00:00:00Z', -2.5, 2),
      (6, NULL, -5, NULL, '2024-02-29T10:00:00.5Z', 1, NULL);
    INSERT INTO tag VALUES ('big', 'Big'), ('old', 'Old'), ('sunk', NULL);
    INSERT INTO city_tag VALUES (1, 'big'), (1, 'old'), (2, 'old'), (3, 'big'), (4, 'sunk');
    """

  init(_ sql: String = PredicateFixture.sql) throws {
    file = try ScratchFile(sql)
    connection = try file.connect()
    try connection.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY")
    registerFunctions(on: connection.handle)
    let introspection = try Introspection(of: connection)
    model = introspection.model
    schema = introspection.schema
  }

  struct Outcome: Equatable {
    let sql: String
    let bindings: [SQLValue]
    let ids: [String]
  }

  func resolve(
    _ text: String, _ arguments: [PredicateArgument] = [], entity: String = "city",
    variables: [String: PredicateArgument] = [:]
  ) throws -> ResolvedPredicate {
    try ResolvedPredicate(
      parsing: text, arguments: arguments, variables: variables,
      entity: model.entityIndex(named: entity) ?? 0, model: model)
  }

  /// The condition that `predicate` became, and the ids of the objects that it holds for.
  func run(_ predicate: ResolvedPredicate, entity: String = "city") throws -> Outcome {
    let (query, condition) = compose(predicate, entity: entity)
    let ids = try connection.all(query, condition.values) { $0.text(0) }
    return Outcome(sql: condition.text, bindings: condition.values, ids: ids)
  }

  /// SQLite's plan for the predicate: `SEARCH t0 USING INDEX …`.
  func plan(_ text: String, entity: String = "city") throws -> String {
    var (query, condition) = compose(try resolve(text, entity: entity), entity: entity)
    query.removeLast(" ORDER BY 1".count)
    let lines = try connection.all("EXPLAIN QUERY PLAN " + query, condition.values) { $0.text(3) }
    return lines.joined(separator: "; ")
  }

  private func compose(
    _ predicate: ResolvedPredicate, entity: String
  ) -> (query: String, SQLFragment) {
    let index = model.entityIndex(named: entity) ?? 0
    let context = QueryContext(
      model: model, schema: schema,
      homogeneousColumns: isHomogeneous ? .everyColumn(of: schema) : [])
    let alias = context.nextAlias()
    var scope = JoinBuilder(
      context: context, entity: index, alias: alias, source: "\"\(entity)\" AS \(alias)")
    let condition = PredicateCompiler.condition(of: predicate, in: &scope)
    let filter = condition.text.isEmpty ? "" : " WHERE \(condition.text)"
    return ("SELECT \(alias).id FROM \(scope.from)\(filter) ORDER BY 1", condition)
  }

  /// The ids for `text`, separated by spaces.
  func ids(
    _ text: String, _ arguments: [PredicateArgument] = [], entity: String = "city"
  ) throws -> String {
    try run(try resolve(text, arguments, entity: entity), entity: entity).ids
      .joined(separator: " ")
  }
}

extension Set<EntityAttribute> {
  /// Assumes that the values of every column have the column's encoding.
  static func everyColumn(of schema: Schema) -> Self {
    Set(
      schema.entities.enumerated().flatMap { entity, table in
        table.attributeColumns.indices.map { EntityAttribute(entity: entity, attribute: $0) }
      })
  }
}

/// A predicate, the SQL that it becomes (without quotation marks), and the ids that it finds.
struct PredicateRow: Sendable, CustomTestStringConvertible {
  let entity: String
  let text: String
  let sql: String
  let ids: String

  init(_ text: String, _ sql: String, _ ids: String) { self.init("city", text, sql, ids) }

  init(_ entity: String, _ text: String, _ sql: String, _ ids: String) {
    self.entity = entity
    self.text = text
    self.sql = sql
    self.ids = ids
  }

  var testDescription: String { text }

  func check() throws {
    let fixture = try PredicateFixture()
    let outcome = try fixture.run(try fixture.resolve(text, entity: entity), entity: entity)
    #expect(outcome.sql.filter { $0 != "\"" } == sql)
    #expect(outcome.ids.joined(separator: " ") == ids)
    // A negation finds all other objects, because no predicate is ever unknown.
    let all = try fixture.ids("TRUEPREDICATE", entity: entity).split(separator: " ")
    let negated = try fixture.ids("NOT (\(text))", entity: entity).split(separator: " ")
    #expect((negated + outcome.ids.map { Substring($0) }).sorted() == all.sorted())
  }
}
