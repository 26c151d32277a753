// Snapshots of a parameterized plan's statements equal those of the plans themselves, whatever rows
// tie.

import FetchModel
import LiveFetchCSQLite
import RequestPlans
import SQLComposer
import SQLResults
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Snapshots from parameterized plans", .mayBlock)
struct ParameterizedPlanTests {
  static let schema = """
    CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT, population INTEGER, area REAL, mixed);
    CREATE INDEX by_population ON City(population);
    CREATE INDEX by_area ON City(area);
    CREATE INDEX by_name ON City(name, population);
    CREATE INDEX by_mixed ON City(mixed);
    """

  static let queries = [
    "where=population>=#&sort=-population&limit=5", "where=population<#&sort=-population&limit=1",
    "where=population>#&sort=-area&limit=7&select=name",
    "where=population>#&sort=-area,population&limit=4", "where=id>#&sort=-mixed&limit=6",
    "where=population>=#&sort=population&limit=5", "where=population>=#&sort=-name&limit=5",
    "where=population>=#&sort=-name,-population&limit=5",
    "where=population>=#&sort=-population&limit=5&offset=2",
    "where=population>=#&sort=-population&limit=5&digest=true",
    "where=population>=#&sort=-population&limit=5&count=exact",
    "where=population>=#&sort=-population&limit=5&section=name",
    "where=population>=#&sort=-population&limit=5&as=ids", "where=population>=#&as=count",
    "where=population>=#&sort=-population&limit=0", "where=population>=#&sort=-population",
    "where=-area<#&sort=-population&limit=3", "where=name=='a'&sort=-population&limit=50",
    "where=population>=#&sort=-population&limit=5&int64=string&select=population,@etag",
  ]

  @Test(arguments: [1, 2] as [UInt64])
  func parameterizedPlansGiveTheResultsOfPlainPlans(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let file = try FetchFixture(Self.schema)
    let resolver = FetchResolver(model: file.model, maxItems: 1_000)
    let cache = PlanCache(resolver: resolver)
    for id in 1...60 { try Self.change(file, id, &random) }
    var compared = 0
    for _ in 0..<40 {
      for text in Self.queries {
        let query = text.replacing("#", with: "\(Int.random(in: 0...9, using: &random))")
        let target = NormalizedTarget("/v1/objects/City?" + query)
        let plan = try file.plan("City", query)
        if let bound = cache.fetch(target) {
          #expect(
            try file.transaction.snapshot(of: bound).json
              == file.transaction.snapshot(of: plan).json,
            "seed \(seed): \(query)")
          compared += 1
        } else {
          cache.insert(target, entity: "City", plan: plan)
        }
      }
      try Self.change(file, Int.random(in: 1...60, using: &random), &random)
    }
    #expect(compared > 500)
  }

  private static func change(
    _ file: FetchFixture, _ id: Int, _ random: inout SeededRandom
  ) throws {
    let population = ["NULL", "1", "2", "3", "8", "9007199254740993"].randomElement(using: &random)!
    let area = ["NULL", "1.5", "2", "-0.0", "0.0"].randomElement(using: &random)!
    let name = ["'a'", "'b'", "'e\u{301}'", "'\u{e9}'", "NULL"].randomElement(using: &random)!
    let mixed = ["1", "1.0", "'1'", "x'31'", "NULL", "2"].randomElement(using: &random)!
    try file.tracked.file.runExternally(
      "INSERT OR REPLACE INTO City VALUES (\(id), \(name), \(population), \(area), \(mixed))")
  }

  @Test("an index that lacks only the order of equal values avoids a sort")
  func briefOrder() throws {
    let file = try FetchFixture(Self.schema)
    for id in 1...20 {
      try file.tracked.file.runExternally(
        "INSERT INTO City VALUES (\(id), 'n', \(id / 3), 0, 0)")
    }
    let plan = try file.plan("City", "where=population>=0&sort=-population&limit=5")
    let brief = try file.transaction.composer.window(
      of: plan, extra: 1, items: .separate, order: .terms)
    #expect(
      brief.sql == """
        SELECT "t0"."id", "t0"."population" FROM "City" AS "t0" WHERE "t0"."population" >= ? \
        ORDER BY "t0"."population" DESC LIMIT ?
        """)
    #expect(try !Self.ids(file, brief, limit: 5).isExact)
    #expect(try Self.ids(file, brief, limit: 6).ids == [18, 19, 20, 15, 16, 17])
    #expect(try Self.ids(file, brief, limit: 6).isExact)
  }

  @Test("a window of items that are not cached is two statements, and one when they are")
  func statementCounts() throws {
    let file = try FetchFixture(Self.schema)
    for id in 1...60 {
      try file.tracked.file.runExternally(
        "INSERT INTO City VALUES (\(id), 'n\(id)', \(id), \(id), NULL)")
    }
    let plan = try file.plan("City", "where=population>=5&sort=-population&limit=50")
    let transaction = try file.transaction
    // The read transaction's own first statements on this connection are not counted.
    _ = try transaction.snapshot(of: plan)
    let connection = transaction.connection
    connection.items = RowJSONCache()
    #expect(try Self.statements(on: connection) { _ = try transaction.snapshot(of: plan) } == 2)
    #expect(try Self.statements(on: connection) { _ = try transaction.snapshot(of: plan) } == 1)
  }

  @Test("the cached items of a connection are limited, in bytes, for repeated fetches too")
  func cacheLimit() throws {
    let file = try FetchFixture(Self.schema)
    try file.tracked.file.runExternally(
      """
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300)
      INSERT INTO City SELECT i, printf('%.30000c', 'n'), i, i, NULL FROM n
      """)
    let resolver = FetchResolver(model: file.model, maxItems: 1_000)
    let cache = PlanCache(resolver: resolver)
    let transaction = try file.transaction
    for id in 1...300 {
      let query = "where=population==\(id)&limit=5"
      let target = NormalizedTarget("/v1/objects/City?" + query)
      if let bound = cache.fetch(target) {
        #expect(try transaction.snapshot(of: bound).json.count > 30_000)
      } else {
        cache.insert(target, entity: "City", plan: try file.plan("City", query))
      }
    }
    // 2 MiB and one item.
    #expect(transaction.connection.items.size < 2_200_000)
    #expect(transaction.connection.items.size > 30_000)
  }

  @Test("the kinds of cached items are limited, and each entity is asked once for its changed rows")
  func kindLimit() throws {
    let file = try FetchFixture(Self.schema)
    let plan = try file.plan("City", "limit=5")
    let transaction = try file.transaction
    let token = Token(epoch: "e", position: HistoryPosition(1), nonce: 0)
    var cache = RowJSONCache()
    for number in 0..<180 {
      try cache.advance(to: token) { _, _ in [] }
      let kind = ItemKind(
        entity: number / 2, selection: [], integersAsStrings: number.isMultiple(of: 2))
      _ = cache.items(of: kind) { transaction.composer.rowStatement(of: plan) }
    }
    // The kinds 130 to 179 are left.
    var asked: [Int] = []
    let next = Token(epoch: "e", position: HistoryPosition(2), nonce: 0)
    try cache.advance(to: next) { (entity: Int, _: Token) throws(StoreError) -> [Int64]? in
      asked.append(entity)
      return []
    }
    #expect(asked.sorted() == Array(65..<90))
  }

  /// The number of statements that `body` runs.
  private static func statements(on connection: Connection, _ body: () throws -> Void) throws -> Int
  {
    final class Counter { var count = 0 }
    let counter = Counter()
    try withExtendedLifetime(counter) {
      sqlite3_trace_v2(
        connection.handle, UInt32(SQLITE_TRACE_STMT),
        { _, context, _, _ in
          Unmanaged<Counter>.fromOpaque(context!).takeUnretainedValue().count += 1
          return 0
        }, Unmanaged.passUnretained(counter).toOpaque())
      defer { sqlite3_trace_v2(connection.handle, 0, nil, nil) }
      try body()
    }
    return counter.count
  }

  private static func ids(
    _ file: FetchFixture, _ statement: FetchStatement, limit: Int
  ) throws -> TieOrderedRows {
    var rows = TieOrderedRows(limit: limit)
    try file.transaction.run(statement) { reader in
      rows.add(reader)
      return true
    }
    rows.finish(wereSorted: false)
    return rows
  }
}
