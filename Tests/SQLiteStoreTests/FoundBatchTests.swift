// Batches whose objects a reader has found before the save: they do the same as without, also if other
// saves come in between.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Batches whose objects were found before", .mayBlock)
struct FoundBatchTests {
  private static let fixture = """
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT NOT NULL, code TEXT);
    CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER,
      country_id INTEGER REFERENCES country(id) ON DELETE SET NULL);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6)
      INSERT INTO country SELECT i, 'c' || i, 'k' || i % 3 FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
      INSERT INTO city SELECT i, 'n' || i, i * 37 % 100, 1 + i % 6 FROM n;
    """

  private static let conditions = [
    ("city", "population > 50"), ("city", "country.code == 'k1'"), ("city", "country == nil"),
    ("city", "country.city.@count > 7 AND population < 80"), ("city", "name CONTAINS '1'"),
    ("country", "city.@count > 6"),
    ("country", "SUBQUERY(city, $c, $c.population > 90).@count > 1"),
    ("country", "ANY city.name == 'n7' OR code == 'k2'"), ("city", "country.name == 'c2'"),
  ]

  private static let rules = """
    {"entities":{
      "city":{"access":{"read":"population < 90","update":"population > 10",
        "delete":"country.code != 'k2'"}},
      "country":{"access":{"read":"code != 'k0'","update":true,"delete":"city.@count < 8"}}}}
    """

  /// A file and its store.
  private struct Subject {
    let file: ScratchFile
    let store: SQLiteStore

    init() throws {
      file = try ScratchFile(FoundBatchTests.fixture)
      store = try SQLiteStore(path: file.path)
    }

    /// Saves, and returns the outcome without its token.
    func save(_ request: SaveRequest) -> String {
      let outcome = AwaitedValue<String>()
      store.save(request) { result in
        switch result {
        case .success(let result):
          outcome.set("~\(result.updated) -\(result.deleted) +\(result.inserted)")
        case .failure(let error): outcome.set("\(SaveExecutionFixture.lines(error))")
        }
      }
      return outcome.wait() ?? "no outcome"
    }

    func rows() throws -> [[String]] {
      let connection = try file.connect()
      return try ["city", "country"].map { table in
        try connection.all("SELECT * FROM \(table) ORDER BY 1") { row in
          (0..<row.columnCount).map { "\(row.value($0))" }.joined(separator: "|")
        }
      }
    }
  }

  private static func batch(_ random: inout SeededRandom, _ model: Model) throws -> SaveRequest {
    let (name, condition) = conditions.randomElement(using: &random)!
    let entity = try #require(model.entityIndex(named: name))
    let predicate = try ResolvedPredicate(parsing: condition, entity: entity, model: model)
    if Int.random(in: 0..<3, using: &random) == 0 {
      return SaveRequest(changes: [Change(.deleteAll(predicate), entity: entity)])
    }
    let values =
      name == "city"
      ? [#"{"population":55}"#, #"{"name":"m1"}"#, #"{"country":2}"#].randomElement(using: &random)!
      : [#"{"code":"k1"}"#, #"{"name":"c2"}"#].randomElement(using: &random)!
    return try SaveResolver(model: model).batch(
      entity: entity, values: JSON(parsing: Array(values.utf8)), where: predicate)
  }

  private static func change(_ random: inout SeededRandom) -> String {
    let (id, number) = (
      Int.random(in: 1...45, using: &random), Int.random(in: 0...99, using: &random)
    )
    return [
      "UPDATE city SET population = \(number) WHERE id = \(id)",
      "UPDATE city SET country_id = \(1 + number % 6) WHERE id % 5 = \(id % 5)",
      "UPDATE city SET country_id = NULL WHERE id = \(id)", "DELETE FROM city WHERE id = \(id)",
      "INSERT OR IGNORE INTO city VALUES (\(id), 'n1\(id)', \(number), 1)",
      "UPDATE country SET code = 'k\(number % 3)' WHERE id = \(1 + id % 6)",
      "PRAGMA foreign_keys = ON; DELETE FROM country WHERE id = \(1 + id % 6)",
      "UPDATE country SET name = 'c2' WHERE id = \(1 + id % 6)",
    ].randomElement(using: &random)!
  }

  @Test(
    "A save with objects found before has the same result as one that finds them itself",
    arguments: 0..<60)
  func generated(round: Int) throws {
    let seed = UInt64(41_000 + round)
    var random = SeededRandom(seed: seed)
    let (early, late) = (try Subject(), try Subject())
    let model = early.store.model
    var access: CallerAccess?
    if round % 3 == 0 {
      let declaration = try AccessDeclaration(parsing: Array(Self.rules.utf8))
      access = try AccessRules(declaration, model: model).access(of: AccessCaller())
    }
    for _ in 0..<4 {
      var request = try Self.batch(&random, model)
      // A condition after another change of the same save, which it sees unless there are rules.
      if Int.random(in: 0..<3, using: &random) == 0 {
        request.changes.insert(contentsOf: try Self.batch(&random, model).changes, at: 0)
      }
      request.access = access
      request.isLenient = Bool.random(using: &random)
      let plans = request.batchPlans(in: model)
      let found = try early.store.objects(of: plans, queryClass: .full)
      #expect(Set(found.ids.keys) == Set(plans.keys))
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let sql = Self.change(&random)
        for subject in [early, late] { try subject.file.runExternally(sql) }
      }
      let repeated = try early.store.measuredObjects(of: plans, after: found, .full).found
      #expect(
        try repeated.ids == early.store.objects(of: plans, queryClass: .full).ids, "seed \(seed)")
      let expected = late.save(request)
      request.found = found
      #expect(early.save(request) == expected, "seed \(seed)")
      #expect(try early.rows() == late.rows(), "seed \(seed)")
    }
  }

  @Test("In a table whose different keys may have one id, the save finds the objects of a batch")
  func equalIDs() throws {
    let file = try ScratchFile(
      "CREATE TABLE t(id BLOB PRIMARY KEY, v INTEGER); INSERT INTO t VALUES (x'61', 0), ('a', 1);")
    let store = try SQLiteStore(path: file.path)
    let predicate = try ResolvedPredicate(parsing: "v == 0", entity: 0, model: store.model)
    let request = SaveRequest(changes: [Change(.deleteAll(predicate), entity: 0)])
    let plans = request.batchPlans(in: store.model)
    #expect(plans.count == 1)
    #expect(try store.objects(of: plans, queryClass: .full).ids.isEmpty)
  }

  @Test(
    "After changes that may affect very many objects, the save finds those of a batch if the search is fast",
    arguments: [(false, "2000", 1000), (true, "store(FetchModel.StoreError.overloaded)", 3000)])
  func manyAffected(isExpensive: Bool, summary: String, remaining: Int64) throws {
    let file = try ScratchFile(
      """
      CREATE TABLE hub(id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE item(id INTEGER PRIMARY KEY, v INTEGER, hub_id INTEGER REFERENCES hub(id));
      INSERT INTO hub VALUES (1, 'a');
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO item SELECT i, i, 1 FROM n;
      """)
    let store = try SQLiteStore(path: file.path)
    let entity = try #require(store.model.entityIndex(named: "item"))
    let predicate = try ResolvedPredicate(
      parsing: "hub.name == 'b' AND v <= 2000", entity: entity, model: store.model)
    var request = SaveRequest(changes: [Change(.deleteAll(predicate), entity: entity)])
    request.found = try store.objects(
      of: request.batchPlans(in: store.model), queryClass: .full)
    #expect(request.found?.ids == [0: []])
    if isExpensive { request.found?.expensive = [0] }
    try file.runExternally("UPDATE hub SET name = 'b'")
    let outcome = AwaitedValue<String>()
    store.save(request) { result in
      switch result {
      case .success(let result): outcome.set("\(result.deleted)")
      case .failure(let error): outcome.set("\(error)")
      }
    }
    #expect(outcome.wait() == summary)
    let rows = try file.connect(.read).first("SELECT count(*) FROM item", []) { $0.integer(0) }
    #expect(rows == remaining)
  }

  @Test("Objects of a token that the history does not reach back to are found again")
  func expired() throws {
    let subject = try Subject()
    let entity = try #require(subject.store.model.entityIndex(named: "city"))
    let predicate = try ResolvedPredicate(
      parsing: "id <= 3", entity: entity, model: subject.store.model)
    var request = SaveRequest(changes: [Change(.deleteAll(predicate), entity: entity)])
    let token = Token(epoch: "other", position: HistoryPosition(1), nonce: 1)
    request.found = FoundObjects(token: token, ids: [0: [.integer(7)]])
    #expect(subject.save(request) == "~0 -3 +0")
  }
}
