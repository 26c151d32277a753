// Rows at earlier positions, compared with the rows as they were.

import FetchModel
import LiveFetchCSQLite
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Past positions: rows as they were", .mayBlock)
struct PastTests {
  static let queries: [(entity: String, query: String)] = [
    ("City", "where=population>=5&sort=-population,name"),
    ("City", "where=country.continent=='Asia'&section=country.name&sort=-population"),
    ("City", "select=name,country.name,Tag&sort=country.continent:nullslast"),
    ("City", "where=ANY Tag.name=='big'&sort=name:cd"),
    ("City", "where=Tag.@count>1 OR country==nil"),
    ("Country", "where=ANY City.population>10&select=name,City"),
    ("Country", "where=NONE City.name BEGINSWITH[c] 'c'&sort=-name&select=@etag"),
    ("Tag", "where=ANY City.country.continent=='Asia'&select=City&sort=-name"),
  ]

  /// Chains of to-one steps of every length, one of them over a column that is not the key.
  static let street = """
    CREATE TABLE Region(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE Country(id INTEGER PRIMARY KEY, code TEXT UNIQUE, name TEXT,
      region INTEGER REFERENCES Region);
    CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT, land TEXT REFERENCES Country(code));
    CREATE TABLE Street(id INTEGER PRIMARY KEY, name TEXT, city INTEGER REFERENCES City);
    CREATE TABLE House(id INTEGER PRIMARY KEY, number INTEGER, street INTEGER REFERENCES Street);
    """

  /// The same chains, with links whose values equal a key only after conversion.
  static let looseStreet = """
    CREATE TABLE Region(id TEXT PRIMARY KEY NOT NULL, name TEXT);
    CREATE TABLE Country(id INTEGER PRIMARY KEY, code TEXT COLLATE NOCASE UNIQUE, name TEXT,
      region INTEGER REFERENCES Region);
    CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT, land TEXT REFERENCES Country(code));
    CREATE TABLE Street(id INTEGER PRIMARY KEY, name TEXT, city TEXT REFERENCES City);
    CREATE TABLE House(id INTEGER PRIMARY KEY, number INTEGER, street REFERENCES Street);
    """

  @Test(arguments: [1, 2, 3] as [UInt64], [street, looseStreet])
  func pastRowsOverManyStepsHaveTheirOldValues(seed: UInt64, schema: String) throws {
    var random = SeededRandom(seed: seed)
    let file = try FetchFixture(schema)
    for _ in 0..<60 { try file.tracked.file.runExternally(Self.randomMove(&random)) }
    let plan = try file.plan(
      "House",
      """
      sort=street.city.land.region.name,street.city.land.name&select=number,street.city.name,\
      street.city.land,street.city.land.region,street.city.land.code
      """)
    for _ in 0..<6 {
      let (token, then) = (try file.tracked.token, try Self.allRows(file, plan))
      for _ in 0..<12 { try file.tracked.file.runExternally(Self.randomMove(&random)) }
      let transaction = try file.transaction
      let now = try Self.allRows(file, plan)
      let roots = try transaction.affectedIDs(
        of: plan, by: transaction.changes(after: token.position))
      let changed = Set(then.keys).union(now.keys).filter { then[$0] != now[$0] }
      #expect(changed.isSubset(of: roots), "seed \(seed), from \(token)")
      for transaction in [transaction, try file.materializedTransaction()] {
        let past = try transaction.rows(of: plan, ids: roots, at: .past(token.position))
        #expect(past == then.filter { roots.contains($0.key) }, "seed \(seed), from \(token)")
      }
    }
  }

  private static func randomMove(_ random: inout SeededRandom) -> String {
    let (id, other) = (
      Int.random(in: 1...6, using: &random), Int.random(in: 1...6, using: &random)
    )
    let name = ["a", "b", "c", "d", "A", "B"].randomElement(using: &random)!
    let table = ["Region", "Country", "City", "Street"].randomElement(using: &random)!
    return [
      "INSERT OR IGNORE INTO Region VALUES (\(id), '\(name)')",
      "INSERT OR IGNORE INTO Country VALUES (\(id), '\(name)', '\(name)', \(other))",
      "INSERT OR IGNORE INTO City VALUES (\(id), '\(name)', '\(name)')",
      "INSERT OR IGNORE INTO Street VALUES (\(id), '\(name)', \(other))",
      "INSERT OR REPLACE INTO House VALUES (\(id), \(other), \(other))",
      "INSERT OR REPLACE INTO House VALUES (\(id + 6), \(other), \(id))",
      "UPDATE \(table) SET name = '\(name)' WHERE id = \(id)",
      "UPDATE OR IGNORE Country SET code = '\(name)' WHERE id = \(id)",
      "UPDATE OR IGNORE Country SET region = \(other), id = \(other) WHERE id = \(id)",
      "UPDATE City SET land = '\(name)' WHERE id = \(id)",
      "UPDATE Street SET city = \(other) WHERE id = \(id)",
      "UPDATE Street SET city = ' 0\(other)' WHERE id = \(id)",
      "UPDATE House SET street = '0\(other)' WHERE id = \(id)",
      "DELETE FROM \(table) WHERE id = \(id)",
    ].randomElement(using: &random)!
  }

  @Test("A query for some objects looks for their old values only, unless it also reads other rows")
  func oldValuesOfSomeObjects() throws {
    let file = try FetchFixture(
      "CREATE TABLE Node(id INTEGER PRIMARY KEY, name TEXT, up INTEGER REFERENCES Node);")
    let position = try file.tracked.token.position
    let sql = { (query: String) in
      try file.transaction.composer.rows(
        of: file.plan("Node", query), ids: [.integer(1)], at: .past(position)
      ).sql
    }
    #expect(try sql("select=name").contains(#"AND "id" IS NOT NULL AND "id" = ? GROUP BY"#))
    #expect(try sql("select=up.name").contains(#"AND "id" IS NOT NULL GROUP BY"#))
  }

  @Test func chainsMayExceedSQLitesJoinLimit() throws {
    let file = try FetchFixture(
      """
      CREATE TABLE Node(id INTEGER PRIMARY KEY, name TEXT, up INTEGER REFERENCES Node);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
        INSERT INTO Node SELECT i, 'n' || i, nullif(i - 1, 0) FROM n;
      """)
    let ups = String(repeating: "up.", count: 57)
    let plan = try file.plan("Node", "select=\(ups)name")
    let position = try file.tracked.token.position
    try file.tracked.file.runExternally("UPDATE Node SET name = 'new' WHERE id IN (1, 30)")
    let rows = try file.transaction.rows(
      of: plan, ids: [.integer(57), .integer(58), .integer(60)], at: .past(position))
    let names = rows.mapValues { row in
      row.values.map { String(decoding: row.json[$0], as: UTF8.self) }
    }
    #expect(
      names == [
        .integer(57): ["null"], .integer(58): ["\"n1\""], .integer(60): ["\"n3\""],
      ])
  }

  @Test func queriesEndAtTheirTimeLimitAndOnCancellation() throws {
    let file = try FetchFixture(FetchFixture.fixture)
    var transaction = try file.transaction
    transaction.timeLimit = 20_000_000_000
    let endless =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    let connection = transaction.connection
    #expect(throws: StoreError.queryTimeout) {
      try transaction.withTimeLimit(.milliseconds(5)) { () throws(StoreError) in
        try connection.run(endless)
      }
    }
    let nobodyWaits = { @Sendable in true }
    #expect(throws: StoreError.queryTimeout) {
      try connection.withCancellation(nobodyWaits) { () throws(StoreError) in
        try connection.run(endless)
      }
    }
    let plan = try file.plan("City")
    let rows = try transaction.withTimeLimit(nil) { () throws(StoreError) in
      try transaction.rows(of: plan, ids: [.integer(10)], at: .now)
    }
    #expect(rows.count == 1)
  }

  /// The steps of SQLite's virtual machine are counted in thousands.
  @Test func theCostOfPastRowsOverManyStepsGrowsLinearly() throws {
    let small = try Self.work(touching: 250)
    let large = try Self.work(touching: 1_000)
    #expect(large < 6 * small, "\(small) thousand steps, then \(large)")
  }

  /// Returns the cost of finding `count` houses as they were before that many streets, cities and
  /// countries changed.
  private static func work(touching count: Int) throws -> Int {
    let file = try FetchFixture(
      street + """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
          INSERT INTO Region SELECT i, 'r' || i FROM n;
        INSERT INTO Country SELECT id, 'c' || id, 'c' || id, id FROM Region;
        INSERT INTO City SELECT id, 'c' || id, code FROM Country;
        INSERT INTO Street SELECT id, 's' || id, id FROM City;
        INSERT INTO House SELECT id, id, id FROM Street;
        """)
    let plan = try file.plan("House", "sort=street.city.land.region.name")
    let position = try file.tracked.token.position
    for table in ["Region", "Country", "City", "Street"] {
      try file.tracked.file.runExternally("UPDATE \(table) SET name = name || 'x'")
    }
    let transaction = try file.transaction
    let steps = MachineSteps(on: transaction.connection)
    let roots = try transaction.affectedIDs(of: plan, by: transaction.changes(after: position))
    let rows = try transaction.rows(of: plan, ids: roots, at: .past(position))
    #expect(rows.count == count)
    return steps.thousands
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func everyPastRowHasItsOldValuesAndEveryChangedRowIsAffected(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let file = try FetchFixture(FetchFixture.fixture)
    let plans = try Self.queries.map { try file.plan($0.entity, $0.query) }
    var history: [(token: Token, rows: [[ObjectID: Row]])] = []
    for _ in 0..<12 {
      history.append((try file.tracked.token, try plans.map { try Self.allRows(file, $0) }))
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        try file.tracked.file.runExternally(Self.randomChange(&random))
      }
    }
    let (transaction, gathered) = (try file.transaction, try file.materializedTransaction())
    for (token, then) in history {
      let changeSet = try transaction.changes(after: token.position)
      for (plan, old) in zip(plans, then) {
        let now = try Self.allRows(file, plan)
        let roots = try transaction.affectedIDs(of: plan, by: changeSet)
        let changed = Set(old.keys).union(now.keys).filter { old[$0] != now[$0] }
        #expect(changed.isSubset(of: roots), "seed \(seed), from \(token)")
        for transaction in [transaction, gathered] {
          let past = try transaction.rows(of: plan, ids: roots, at: .past(token.position))
          #expect(past == old.filter { roots.contains($0.key) }, "seed \(seed), from \(token)")
        }
      }
    }
  }

  @Test func rowsOverManyStepsBelongToTheRequestedPosition() throws {
    let file = try FetchFixture(
      """
      CREATE TABLE Region(id INTEGER PRIMARY KEY, size INTEGER);
      CREATE TABLE Country(id INTEGER PRIMARY KEY, region INTEGER REFERENCES Region);
      CREATE TABLE City(id INTEGER PRIMARY KEY, country INTEGER REFERENCES Country);
      CREATE TABLE Street(id INTEGER PRIMARY KEY, city INTEGER REFERENCES City);
      INSERT INTO Region VALUES (1, 9);
      INSERT INTO Country VALUES (1, 1);
      INSERT INTO City VALUES (1, 1);
      INSERT INTO Street VALUES (1, 1);
      """)
    let plan = try file.plan("Street", "where=city.country.region.size>5")
    var positions: [HistoryPosition] = []
    for size in [1, 7, 2] {
      positions.append(try file.tracked.token.position)
      try file.tracked.file.runExternally("UPDATE Region SET size = \(size)")
    }
    let transaction = try file.transaction
    let found = try positions.map {
      try transaction.rows(of: plan, ids: [.integer(1)], at: .past($0)).count
    }
    #expect(found == [1, 0, 1])
  }

  static func allRows(_ file: FetchFixture, _ plan: FetchPlan) throws -> [ObjectID: Row] {
    var rows: [ObjectID: Row] = [:]
    var open = plan
    open.window = Window()
    try file.transaction.run(file.transaction.composer.window(of: open)) { reader in
      rows[reader.id()] = reader.row()
      return true
    }
    return rows
  }

  private static func randomChange(_ random: inout SeededRandom) -> String {
    let city = Int.random(in: 9...45, using: &random)
    let country = Int.random(in: 1...5, using: &random)
    let population = Int.random(in: 0...30, using: &random)
    let tag = ["big", "old", "new"].randomElement(using: &random)!
    let name = ["Cusco", "cairo", "Čadca", "Lima", "Tokyo"].randomElement(using: &random)!
    return [
      "UPDATE City SET population = \(population) WHERE id % 3 = \(city % 3)",
      "UPDATE City SET country = \(country) WHERE id = \(city)",
      "UPDATE City SET country = NULL, name = '\(name)' WHERE id = \(city)",
      "INSERT OR REPLACE INTO City VALUES (\(city), '\(name)', \(population), \(country))",
      "DELETE FROM City WHERE id = \(city)",
      "UPDATE OR REPLACE City SET id = \(city) WHERE id = \(city + 1)",
      "UPDATE Country SET continent = 'Asia' WHERE id = \(country)",
      "UPDATE Country SET continent = NULL, name = '\(name)' WHERE id = \(country)",
      "INSERT OR IGNORE INTO Country VALUES (\(country), '\(name)', 'Asia')",
      "DELETE FROM Country WHERE id = \(country)",
      "INSERT OR IGNORE INTO Tag VALUES ('\(tag)')",
      "DELETE FROM Tag WHERE name = '\(tag)'",
      "INSERT INTO City_Tag VALUES (\(city), '\(tag)')",
      "DELETE FROM City_Tag WHERE city = \(city)",
      "UPDATE City_Tag SET city = \(city) WHERE tag = '\(tag)'",
    ].randomElement(using: &random)!
  }
}

/// Counts the virtual machine steps of a connection, including nested statements.
final class MachineSteps {
  private(set) var thousands = 0

  init(on connection: Connection) {
    sqlite3_progress_handler(
      connection.handle, 1_000,
      { context in
        guard let context else { return 0 }
        Unmanaged<MachineSteps>.fromOpaque(context).takeUnretainedValue().thousands += 1
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}
