// The promises of every diff, over a real file, under generated saves.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("Promises: diffs lead from every snapshot to the present", .mayBlock)
struct PromiseTests {
  static let fixture = """
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT NOT NULL, continent TEXT);
    CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER,
      country_id INTEGER REFERENCES country(id) ON DELETE SET NULL);
    CREATE TABLE tag(id INTEGER PRIMARY KEY, word TEXT);
    CREATE TABLE city_tag(city_id INTEGER REFERENCES city(id) ON DELETE CASCADE,
      tag_id INTEGER REFERENCES tag(id) ON DELETE CASCADE);
    INSERT INTO country VALUES (1,'China','Asia'),(2,'Japan','Asia'),(3,'Peru','America'),
      (4,'Mali','Africa');
    INSERT INTO tag VALUES (1,'big'),(2,'old');
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 30)
      INSERT INTO city SELECT i, 'c' || (i * 7 % 30), i * 37 % 20, 1 + i % 4 FROM n;
    INSERT INTO city_tag SELECT id, 1 + id % 2 FROM city WHERE id % 3 = 0;
    """

  /// With a key of the table between cities and tags, without which PostgreSQL records none of its rows.
  static let keyedFixture = fixture.replacing(
    "tag(id) ON DELETE CASCADE);",
    with: "tag(id) ON DELETE CASCADE, PRIMARY KEY (city_id, tag_id));")

  static let fetches = [
    "city?sort=-population&digest=true",
    "city?where=population>5&section=country.name&sort=-population&digest=true&count=exact",
    "city?section=country.continent&sort=country.name,name&limit=7&offset=3&digest=true",
    "city?sort=population&limit=5&select=name,country.continent,tag&count=exact",
    "city?where=ANY+tag.word=='big'&section=-population&limit=9&select=population",
    "city?where=country.continent=='Asia'&sort=name&expand=country&limit=6",
    "city?as=ids&sort=-population,name&limit=8&offset=2&digest=true",
    "country?where=ANY+city.population>10&select=name,city&sort=-name",
    "country?where=city.@count>5&section=continent",
  ]

  @Test(arguments: [11, 12, 13, 14] as [UInt64])
  func everyClientEndsWithAFreshSnapshot(seed: UInt64) throws {
    let file = try ServedFile(Self.fixture)
    var random = SeededRandom(seed: seed)
    var held = try Self.fetches.map { try Self.snapshot(file, $0) }
    for round in 0..<40 {
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        try file.runExternally(Self.change(&random))
      }
      if round % 20 == 19 { try file.restart() }
      try file.settle()
      for (index, fetch) in Self.fetches.enumerated() where Bool.random(using: &random) {
        let place = Comment("seed \(seed), round \(round), \(fetch)")
        let answer = try file.ask(
          "GET", "/v1/objects/\(fetch)&since=\(held[index].token)&wait=0")
        try #require(answer.status == 200, place)
        let diff = try #require(Diff(json: answer.json), place)
        try held[index].apply(diff)
        let fresh = try Self.snapshot(file, fetch)
        Self.compare(held[index], fresh, place)
      }
    }
  }

  static func compare(
    _ held: ResultSnapshot, _ fresh: ResultSnapshot, _ place: Comment
  ) {
    #expect(held.sections == fresh.sections, place)
    #expect(held.summary == fresh.summary, place)
    for (entity, objects) in fresh.included ?? [:] {
      for (id, json) in objects { #expect(held.included?[entity]?[id] == json, place) }
    }
    if let digest = fresh.summary.digest { #expect(held.digest == digest, place) }
  }

  private static func snapshot(_ file: ServedFile, _ fetch: String) throws -> ResultSnapshot {
    try #require(ResultSnapshot(json: file.ask("GET", "/v1/objects/\(fetch)").json))
  }

  static func change(_ random: inout SeededRandom) -> String {
    let city = Int.random(in: 1...35, using: &random)
    let country = Int.random(in: 1...5, using: &random)
    let population = Int.random(in: 0...20, using: &random)
    let tag = Int.random(in: 1...3, using: &random)
    return [
      "UPDATE city SET population = \(population) WHERE id = \(city)",
      "UPDATE city SET population = population + 3 WHERE id % 5 = \(city % 5)",
      "UPDATE city SET country_id = \(country) WHERE id = \(city)",
      "UPDATE city SET name = 'n\(population)', country_id = NULL WHERE id = \(city)",
      "INSERT OR REPLACE INTO city VALUES (\(city), 'r\(city)', \(population), \(country))",
      "DELETE FROM city WHERE id = \(city)",
      "UPDATE country SET name = 'k\(population)' WHERE id = \(country)",
      "UPDATE country SET continent = 'Asia' WHERE id = \(country)",
      "UPDATE country SET continent = NULL WHERE id = \(country)",
      "INSERT OR IGNORE INTO country VALUES (\(country), 'new', 'Asia')",
      "INSERT INTO city_tag VALUES (\(city), \(tag))",
      "DELETE FROM city_tag WHERE city_id = \(city)",
      "UPDATE tag SET word = CASE word WHEN 'big' THEN 'small' ELSE 'big' END WHERE id = \(tag)",
    ].randomElement(using: &random)!
  }
}
