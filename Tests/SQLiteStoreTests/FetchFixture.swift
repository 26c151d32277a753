// A query string enters; the plan, its SQL and its result over a test's file leave.

import Bytes
import FetchModel
import SQLComposer
import SQLResults
import Testing

@testable import SQLiteStore

/// A tracked file, with plans made from query strings, and their results.
struct FetchFixture {
  let tracked: TrackedFile
  let model: Model

  init(_ sql: String) throws {
    tracked = try TrackedFile(sql)
    model = tracked.history.model
  }

  func plan(_ entity: String, _ query: String = "", maxItems: Int = 1000) throws -> FetchPlan {
    let items = try PercentEncoding.decodeQuery(Substring(query))
    let request = try FetchRequest(entity: entity, query: items)
    return try FetchResolver(model: model, maxItems: maxItems).resolve(request)
  }

  var transaction: SQLiteReadTransaction {
    get throws { try readTransaction(of: tracked.connection) }
  }

  func readTransaction(of connection: Connection) throws(StoreError) -> SQLiteReadTransaction {
    let schema = tracked.history.schema
    var composer = FetchComposer(model: model, schema: schema)
    composer.homogeneousColumns = .everyColumn(of: schema)
    return SQLiteReadTransaction(
      connection: connection, composer: composer, history: tracked.history,
      objectStatements: ComposedStatements(),
      token: try tracked.history.newestToken(on: connection))
  }

  /// A read transaction whose queries of the past use materialized overlays from the first query
  /// on.
  func materializedTransaction() throws -> SQLiteReadTransaction {
    let reader = try tracked.file.connect(.read)
    try reader.execute("BEGIN")
    reader.past.minimumRows = 0
    reader.past.queriesBefore = 0
    return try readTransaction(of: reader)
  }

  func sql(_ entity: String, _ query: String) throws -> String {
    try transaction.composer.window(of: plan(entity, query)).sql
  }

  /// Returns the snapshot's JSON from its sections on.
  func sections(_ entity: String, _ query: String, maxItems: Int = 1000) throws -> String {
    let json = try transaction.snapshot(of: plan(entity, query, maxItems: maxItems)).json
    let text = String(decoding: json, as: UTF8.self)
    return String(text[text.range(of: "\"sections\":")!.upperBound...].dropLast())
  }

  /// Returns the snapshot's JSON without the token.
  func snapshot(_ entity: String, _ query: String, maxItems: Int = 1000) throws -> String {
    let token = try tracked.token.description
    let json = try transaction.snapshot(of: plan(entity, query, maxItems: maxItems)).json
    return String(decoding: json, as: UTF8.self).replacing(token, with: "T")
  }

  static let fixture = """
    CREATE TABLE Country(id INTEGER PRIMARY KEY, name TEXT NOT NULL, continent TEXT);
    CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER,
      country INTEGER REFERENCES Country);
    CREATE TABLE Tag(name TEXT PRIMARY KEY NOT NULL);
    CREATE TABLE City_Tag(city INTEGER REFERENCES City, tag TEXT REFERENCES Tag);
    INSERT INTO Country VALUES (1, 'China', 'Asia'), (2, 'Japan', 'Asia'), (3, 'Peru', NULL);
    INSERT INTO City VALUES (10, 'Shanghai', 24, 1), (11, 'Beijing', 18, 1),
      (20, 'Tokyo', 9, 2), (30, 'Lima', NULL, 3), (40, 'Nowhere', 9, NULL);
    INSERT INTO Tag VALUES ('big'), ('old');
    INSERT INTO City_Tag VALUES (10, 'big'), (11, 'big'), (11, 'old');
    """
}
