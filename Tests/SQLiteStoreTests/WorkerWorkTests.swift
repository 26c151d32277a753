// The limits of quick queries: texts, responses and statements that are too long for a worker.

import Bytes
import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

/// The work that a query of ``QueryClass/quick`` refuses, because other requests wait for its
/// thread.
@Suite("A quick query leaves long work to other threads", .mayBlock)
struct WorkerWorkTests {
  private static let longText = 100_000

  private static func fixture() throws -> (ScratchFile, SQLiteStore) {
    let columns = (0..<300).map { "column_of_a_wide_table_\($0) INTEGER" }
    let file = try ScratchFile(
      """
      CREATE TABLE long(id INTEGER PRIMARY KEY, v TEXT, b BLOB);
      INSERT INTO long VALUES (1, replace(hex(zeroblob(\(longText / 2))), '00', 'aé'),
        zeroblob(\(longText)));
      CREATE TABLE wide(id INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")));
      INSERT INTO wide(id) VALUES (1);
      CREATE TABLE many(id INTEGER PRIMARY KEY, v TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
        INSERT INTO many SELECT i, hex(zeroblob(500)) FROM n;
      """)
    var options = SQLiteStoreOptions()
    // The refusal depends on the work and not on the clock.
    options.queryTimeout = 60
    return (file, try SQLiteStore(path: file.path, options: options))
  }

  private static func plan(_ store: SQLiteStore, _ entity: String, _ query: String) throws
    -> FetchPlan
  {
    let items = try PercentEncoding.decodeQuery(Substring(query))
    return try FetchResolver(model: store.model, maxItems: 10_000)
      .resolve(try FetchRequest(entity: entity, query: items))
  }

  static let fetches = [
    ("long", "where=v CONTAINS 'b'&as=count"), ("long", "where=v LIKE '*a?b*'&as=count"),
    ("long", "where=v MATCHES '.*b'&as=count"), ("long", "where=v ==[cd] 'b'&as=count"),
    ("long", "where=length(v)==1&as=count"), ("long", "where=uppercase(v)=='A'&as=count"),
    ("long", "where=lowercase(v)=='A'&as=count"), ("long", "where=canonical(v)=='a'&as=count"),
    ("long", "sort=v:c&as=ids"), ("long", "select=v"), ("long", "select=b"),
    ("long", "as=dictionaries&select=v"), ("long", "as=dictionaries&select=x:@max.v"),
    ("long", "select=@etag"),
    ("wide", ""), ("many", "select=v"),
  ]

  @Test(arguments: fetches)
  func longTextsAnswersAndStatementsAreTooSlow(entity: String, query: String) throws {
    let (file, store) = try Self.fixture()
    defer {
      store.close()
      withExtendedLifetime(file) {}
    }
    let plan = try Self.plan(store, entity, query)
    #expect(throws: StoreError.tooSlow) { try store.snapshot(of: plan, queryClass: .quick) }
    // Without the restriction the query succeeds, and later quick queries on the same thread do
    // too.
    #expect(!(try store.snapshot(of: plan, queryClass: .full).json.isEmpty))
    let brief = try Self.plan(store, "many", "where=id==1&select=id")
    #expect(!(try store.snapshot(of: brief, queryClass: .full).json.isEmpty))
  }

  @Test func aLongValueIsTooSlowToBeReadRaw() throws {
    let (file, store) = try Self.fixture()
    defer {
      store.close()
      withExtendedLifetime(file) {}
    }
    let entity = try #require(store.model.entityIndex(named: "long"))
    #expect(throws: StoreError.tooSlow) {
      try store.rawValue(of: .integer(1), entity: entity, attribute: 1, queryClass: .quick)
    }
    let value = try store.rawValue(of: .integer(1), entity: entity, attribute: 1, queryClass: .full)
    #expect(value?.bytes?.count == Self.longText)
  }
}
