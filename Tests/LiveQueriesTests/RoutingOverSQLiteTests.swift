// Routing over a real file, compared with new snapshots after generated saves.

import Bytes
import FetchModel
import Foundation
import TestSupport
import Testing

@testable import LiveQueries
@testable import SQLiteStore

@Suite("Routing over SQLite: a fetch that is no candidate is unchanged", .mayBlock)
struct RoutingOverSQLiteTests {
  @Test(arguments: [21, 22] as [UInt64])
  func fetchesThatAreNoCandidatesAreUnchanged(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let fixture = try FileFixture()
    var index = QueryIndex()
    var held: [(query: LiveQuery, snapshot: String)] = []
    for _ in 0..<40 {
      let query = try fixture.query(FileFixture.fetch(&random))
      index.insert(query)
      held.append((query, try fixture.snapshot(query)))
    }
    var (asked, changed) = (0, 0)
    for round in 0..<40 {
      let base = try fixture.token.position
      let changes = (0..<Int.random(in: 1...3, using: &random)).map { _ in
        FileFixture.change(&random)
      }
      for change in changes { try fixture.runExternally(change) }
      let search = try fixture.store.search(index, after: base)
      let found = search.found
      for place in held.indices {
        try fixture.store.expectEqualDiffs(search, held[place].query, after: base, seed)
        let fresh = try fixture.snapshot(held[place].query)
        let isSame = fresh == held[place].snapshot
        let isFound = found.contains(held[place].query)
        #expect(
          isFound || isSame, "seed \(seed), round \(round): \(changes) \(held[place].query.plan)")
        (asked, changed) = (asked + (isFound ? 1 : 0), changed + (isSame ? 0 : 1))
        held[place].snapshot = fresh
      }
    }
    #expect(asked < changed * 3, "seed \(seed): \(asked) asked, \(changed) changed")
  }
}

/// A file with every kind of column that fetches are looked up by.
private final class FileFixture {
  private let directory: TemporaryDirectory
  private let path: String
  let store: SQLiteStore

  private static let schema = """
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, code TEXT UNIQUE,
      size REAL);
    CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, population INTEGER, capital BOOLEAN,
      founded DATETIME, seen TIMESTAMP, token UUID, loose, country_id INTEGER REFERENCES country,
      flag TEXT REFERENCES country(code), twin INTEGER REFERENCES city(id),
      land TEXT REFERENCES country);
    CREATE INDEX city_founded ON city(founded);
    CREATE INDEX city_token ON city(token);
    CREATE INDEX city_loose ON city(loose);
    CREATE TABLE tag(id INTEGER PRIMARY KEY, word TEXT);
    CREATE TABLE city_tag(city_id INTEGER REFERENCES city(id), tag_id INTEGER REFERENCES tag(id));
    INSERT INTO country VALUES (1,'China','cn',9.5),(2,'japan','jp',0.4),(3,'Peru','pe',NULL);
    INSERT INTO tag VALUES (1,'big'),(2,'old');
    INSERT INTO city VALUES (1,'a',5,1,'2024-02-29T10:00:00Z',1700000000,
      '6F9619FF-8B86-D011-B42D-00C04FC964FF','x',1,'cn',NULL,'03');
    WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i < 20)
      INSERT INTO city SELECT i, 'c' || (i * 7 % 30), i * 37 % 20, i % 2,
      '20' || (10 + i) || '-01-01T00:00:00Z', 1700000000 + i, NULL, i, 1 + i % 3, 'jp', i / 2,
      ' ' || (i % 5) FROM n;
    INSERT INTO city_tag SELECT id, 1 + id % 2 FROM city WHERE id % 3 = 0;
    """

  init() throws {
    directory = try TemporaryDirectory()
    path = try directory.emptyFile()
    try sqlite(path, "PRAGMA synchronous = OFF;" + Self.schema)
    store = try SQLiteStore(path: path)
  }

  deinit { store.close() }

  var token: Token {
    get throws { try store.read { transaction throws(StoreError) in transaction.token } }
  }

  /// Runs `sql` as another process would.
  func runExternally(_ sql: String) throws { try sqlite(path, "PRAGMA synchronous = OFF;" + sql) }

  func query(_ target: String) throws -> LiveQuery {
    let parts = target.split(separator: "?", maxSplits: 1)
    let items = try PercentEncoding.decodeQuery(parts.count > 1 ? parts[1] : "")
    let request = try FetchRequest(entity: String(parts[0]), query: items)
    let plan = try FetchResolver(model: store.model, maxItems: 1_000).resolve(request)
    return LiveQuery(
      key: QueryKey(plan, only: nil), model: store.model, columns: store.columns,
      position: try token.position)
  }

  func snapshot(_ query: LiveQuery) throws -> String {
    let snapshot = try store.snapshot(of: query.plan, queryClass: .full)
    return String(decoding: snapshot.json, as: UTF8.self)
      .replacing(snapshot.token.description, with: "T")
  }

  // MARK: Generated

  static func fetch(_ random: inout SeededRandom) -> String {
    if Int.random(in: 0..<6, using: &random) == 0 {
      return "country?" + random.pick(countries) + "&"
        + random.pick(["", "select=name,city_by_country"])
    }
    let joined = random.pick([" AND ", " OR "])
    let condition = (0...Int.random(in: 0...1, using: &random))
      .map { _ in random.pick(conditions).replacing("§", with: random.pick(numbers)) }
      .joined(separator: joined)
    let selection = random.pick(
      [
        "select=name", "select=population", "select=country.name", "", "select=@etag",
        "select=tag", "select=twin.name", "expand=country&select=name", "select=flag.size",
      ])
    let order = random.pick(
      ["sort=name", "sort=-population", "section=country.name", "sort=twin.population"])
    return "city?where=\(condition.replacing(" ", with: "+"))&\(selection)&\(order)"
  }

  private static let numbers = ["0", "3", "5", "8", "11", "19"]
  private static let conditions = [
    "population == §", "population >= §", "population < §", "NOT population > §",
    "population BETWEEN {§, 12}", "population IN {§, 4}", "country == 1", "country == nil",
    "country.code == 'jp'", "country.name BEGINSWITH[c] 'p'", "country.name == 'china'",
    "country.name ==[c] 'china'", "country.size > 1", "name BEGINSWITH 'c1'", "name > 'c2'",
    "name == nil", "capital == TRUE", "founded >= '2024-01-01'", "founded == nil",
    "founded BETWEEN {'2015-01-01', '2021-06-01'}", "seen > '2023-11-14T22:13:25Z'",
    "token == '6F9619FF-8B86-D011-B42D-00C04FC964FF'", "loose == '§'", "loose > 'a'",
    "flag.code == 'cn'", "flag == 3", "flag.size < 5", "twin.population > §",
    "twin.country.name == 'Peru'", "ANY tag.word == 'big'", "tag.@count > 1", "SELF == §",
    "population %2B 1 > §", "name MATCHES 'c[1-3]+'", "length(name) == 2",
    "twin.name BEGINSWITH 'c'", "ALL tag.word != 'old'",
    "flag == nil", "flag.code == nil", "country.name == nil", "twin.country.size == nil",
    "land == nil", "land.code == 'cn'", "land.name IN {'japan', nil}",
  ]
  private static let countries = [
    "where=name+ENDSWITH+'a'", "where=ANY+city_by_country.population>15", "where=code=='cn'",
    "where=city_by_country.@count>5", "where=size>1",
    "where=ANY+city_by_country.twin.population==5",
  ]

  static func change(_ random: inout SeededRandom) -> String {
    let city = Int.random(in: 1...22, using: &random)
    let country = Int.random(in: 1...4, using: &random)
    let number = Int.random(in: 0...20, using: &random)
    let values = [
      "population = \(number)", "population = 'many'", "name = 'c\(number)'", "name = NULL",
      "country_id = \(country)", "country_id = NULL", "capital = \(number % 2)",
      "founded = '20\(number + 10)-06-01T00:00:00Z'", "founded = '2018-01-01 00:00:00'",
      "founded = 17", "seen = 1700000000 + \(number) / 2.0", "loose = \(number)",
      "loose = '\(number)'", "loose = 'b'", "twin = \(number)", "flag = 'cn'", "flag = 'zz'",
      "land = '0\(country)'", "land = \(country)", "land = 'no'",
      "token = x'00112233445566778899AABBCCDDEEFF'",
      "token = '6f9619ff-8b86-d011-b42d-00c04fc964ff'", "population = \(number) + 0.5",
    ]
    return random.pick(
      values.map { "UPDATE city SET \($0) WHERE id = \(city)" } + [
        "INSERT OR REPLACE INTO city(id, name, population, country_id) "
          + "VALUES (\(city), 'c\(number)', \(number), \(country))",
        "DELETE FROM city WHERE id = \(city)", "DELETE FROM country WHERE id = \(country)",
        "UPDATE country SET name = 'P\(number)' WHERE id = \(country)",
        "UPDATE country SET name = upper(name) WHERE id = \(country)",
        "UPDATE country SET size = \(number) WHERE id = \(country)",
        "UPDATE OR IGNORE country SET code = 'cn' WHERE id = \(country)",
        "INSERT OR IGNORE INTO country VALUES (\(country), 'new', 'k\(number)', 3)",
        "INSERT INTO city_tag VALUES (\(city), \(1 + number % 2))",
        "DELETE FROM city_tag WHERE city_id = \(city)",
        "UPDATE tag SET word = CASE word WHEN 'big' THEN 'small' ELSE 'big' END",
        "UPDATE city SET population = population + 3 WHERE id % 5 = \(city % 5)",
        "UPDATE city SET name = name", "UPDATE city SET id = \(city + 30) WHERE id = \(city)",
      ])
  }
}
