import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("The past: rows as they were at an earlier position")
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

  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func everyRowIsWhatItWasAndEveryChangedRowIsARoot(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let file = try FetchFixture(FetchFixture.world)
    let plans = try Self.queries.map { try file.plan($0.entity, $0.query) }
    var history: [(token: Token, rows: [[ObjectID: Row]])] = []
    for _ in 0..<12 {
      history.append((try file.followed.token, try plans.map { try Self.allRows(file, $0) }))
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        try file.followed.file.outsider(Self.randomChange(&random))
      }
    }
    let moment = try file.moment
    for (token, then) in history {
      let touches = try moment.touches(after: token.position)
      for (plan, old) in zip(plans, then) {
        let now = try Self.allRows(file, plan)
        let roots = try moment.roots(of: plan, touchedBy: touches)
        let changed = Set(old.keys).union(now.keys).filter { old[$0] != now[$0] }
        #expect(changed.isSubset(of: roots), "seed \(seed), from \(token)")
        let past = try moment.rows(of: plan, ids: roots, at: .past(token.position))
        #expect(past == old.filter { roots.contains($0.key) }, "seed \(seed), from \(token)")
      }
    }
  }

  @Test func rowsOverManyStepsAreThoseOfThePositionThatIsAsked() throws {
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
    var positions: [Int64] = []
    for size in [1, 7, 2] {
      positions.append(try file.followed.token.position)
      try file.followed.file.outsider("UPDATE Region SET size = \(size)")
    }
    let moment = try file.moment
    let found = try positions.map {
      try moment.rows(of: plan, ids: [.integer(1)], at: .past($0)).count
    }
    #expect(found == [1, 0, 1])
  }

  private static func allRows(_ file: FetchFixture, _ plan: FetchPlan) throws -> [ObjectID: Row] {
    var rows: [ObjectID: Row] = [:]
    var open = plan
    open.window = Window()
    try file.moment.run(file.moment.composer.window(of: open)) { reader in
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
