// Windows deep in a large table, and idle fetches, through the service.

import FetchModel
import Foundation
import Service
import TestSupport
import Testing

@Suite("Windows over many rows, through the service", .mayBlock)
struct WindowContractTests {
  private static let fixture = """
    CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER NOT NULL);
    CREATE INDEX city_population ON city(population);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
    INSERT INTO city SELECT i, 'c' || i % 97, i * 7919 % 20011 FROM n;
    """

  private func snapshot(_ file: ServedFile, _ target: String) throws -> ResultSnapshot {
    let answer = try file.ask("GET", "/v1/objects/\(target)")
    return try #require(ResultSnapshot(json: answer.json), "\(answer.text)")
  }

  private static func change(_ random: inout SeededRandom) -> String {
    let id = Int.random(in: 1...21_000, using: &random)
    let place = Int.random(in: 0...20_011, using: &random)
    return [
      "UPDATE city SET population = \(place) WHERE id = \(id)",
      "DELETE FROM city WHERE population BETWEEN \(place) AND \(place + 40)",
      "INSERT OR REPLACE INTO city VALUES (\(id), 'new', \(place))",
      "UPDATE city SET population = population + 9000 WHERE id % 500 = \(id % 500)",
      "UPDATE city SET name = 'x' WHERE population BETWEEN \(place) AND \(place + 300)",
    ].randomElement(using: &random)!
  }

  @Test(.onlyForFiles, arguments: [21, 22] as [UInt64])
  func deepOffsetsAndCursorsAreExactWhileRowsComeAndGo(seed: UInt64) throws {
    let file = try ServedFile(Self.fixture)
    var random = SeededRandom(seed: seed)
    var cursor = try #require(
      try file.ask("/v1/objects/city?sort=population,name&limit=5000&as=ids").json["next"]?.string)
    cursor = cursor.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    let fetches = [
      "city?sort=population,name&offset=15000&limit=20&digest=true",
      "city?sort=-population&offset=19990&limit=40&digest=true&count=exact",
      "city?sort=population,name&after=\(cursor)&limit=15&digest=true",
      "city?sort=population,name&after=\(cursor)&offset=9000&limit=15&digest=true&count=exact",
      "city?where=name+==+%27c5%27&sort=population&offset=100&limit=30&count=exact&digest=true",
    ]
    var held = try fetches.map { try snapshot(file, $0) }
    for round in 0..<25 {
      try file.runExternally(Self.change(&random))
      try file.settle()
      for (index, fetch) in fetches.enumerated() {
        let place = Comment("seed \(seed), round \(round), \(fetch)")
        var fresh: ResultSnapshot
        repeat {
          let answer = try file.ask(
            "GET", "/v1/objects/\(fetch)&since=\(held[index].token)&wait=0")
          try held[index].apply(try #require(Diff(json: answer.json), place))
          fresh = try snapshot(file, fetch)
        } while held[index].token != fresh.token
        #expect(held[index].sections == fresh.sections, place)
        #expect(held[index].summary == fresh.summary, place)
      }
    }
  }

  @Test func aWindowWithoutItemsEndsWhereItBegins() throws {
    let file = try ServedFile(contractFixture)
    let fetch = "/v1/objects/city?sort=name&as=ids"
    func following(_ answer: Answer) throws -> String {
      let next = try #require(answer.json["next"]?.string, "\(answer.text)")
      return try file.ask("\(fetch)&limit=2&after=\(next)").text
    }
    let empty = try file.ask("\(fetch)&limit=0")
    #expect(empty.text.contains(#""items":[]"#))
    #expect(try following(empty).contains(#""items":[2,1]"#))
    let first = try file.ask("\(fetch)&limit=1")
    let cursor = try #require(first.json["next"]?.string)
    let after = try file.ask("\(fetch)&limit=0&after=\(cursor)")
    #expect(after.json["next"]?.string == cursor)
    #expect(try file.ask("\(fetch)&limit=0&offset=1").json["next"] == nil)
    let token = try #require(empty.json["token"]?.string)
    let diff = try file.ask("\(fetch)&limit=0&since=\(token)&wait=0")
    #expect(diff.json["next"] == empty.json["next"])
  }

  /// The value of a metric.
  private func metric(_ name: String, _ file: ServedFile) throws -> Double? {
    try MetricsText(file.ask("/metrics").text)[name]
  }

  @Test func anIdleFetchIsDroppedAndItsClientReturnsWithoutASnapshot() throws {
    var configuration = ServiceConfiguration()
    configuration.idleSeconds = 0.2
    let file = try ServedFile(contractFixture, configuration: configuration)
    let fetch = "/v1/objects/city?sort=-population&limit=2"
    let token = try #require(file.ask(fetch).json["token"]?.string)
    #expect(try file.ask(fetch + "&since=\(token)&wait=0").status == 200)
    #expect(try metric("livefetch_live_fetches", file) == 1)
    #expect(
      try eventually(within: .seconds(60)) { try metric("livefetch_live_fetches", file) == 0 })
    let save = try file.ask("PATCH", "/v1/objects/city/3", body: #"{"population":30}"#)
    #expect(save.status == 200)
    let diff = try file.ask(fetch + "&since=\(token)&wait=0")
    #expect(diff.status == 200)
    #expect(diff.json["from"]?.string == token)
    #expect(diff.text.contains(#""deleted":[{"from":[0,1],"id":2}]"#), "\(diff.text)")
    #expect(diff.text.contains(#""to":[0,0],"item":{"id":3"#), "\(diff.text)")
  }

  @Test("a save reads the store only for the fetches whose ranges contain one of its values")
  func savesOutsideOfRanges() throws {
    let file = try ServedFile(contractFixture)
    let waiting = (0..<20).map { index in
      file.begin("GET", "/v1/objects/city?where=population>=\(1000 + index)&since=now&wait=60")
    }
    try awaitWaitingFetches(20) { try file.ask($0) }
    for population in [1, 999, 1000] {
      let body = #"{"population":\#(population)}"#
      #expect(try file.ask("PATCH", "/v1/objects/city/1", body: body).status == 200)
    }
    let answer = try #require(waiting[0].wait())
    #expect(answer.text.contains(#""to":[0,0],"item":{"id":1"#), "\(answer.text)")
    #expect(try metric("livefetch_live_considered_total", file) == 1)
  }

  @Test func clientsOfOneFetchAndWindowsOfOneOrderAreOneFetch() throws {
    let file = try ServedFile(contractFixture)
    let windows = ["limit=1", "limit=2", "offset=1&limit=1", "count=exact"]
    let waiting = (0..<20).map { index in
      file.begin(
        "GET", "/v1/objects/city?sort=-population&\(windows[index % 4])&since=now&wait=60")
    }
    try awaitWaitingFetches(20) { try file.ask($0) }
    #expect(try metric("livefetch_live_fetches", file) == 1)
    _ = try file.ask("PATCH", "/v1/objects/city/1", body: #"{"population":1}"#)
    let answers = try waiting.map { try #require($0.wait()) }
    #expect(answers.allSatisfy { $0.status == 200 })
    #expect(try metric("livefetch_live_considered_total", file) == 1)
    // One diff for each window, however many clients wait for it.
    #expect(try metric("livefetch_live_diffs_total", file) == 4)
    #expect(try metric("livefetch_live_delivered_total", file) == 20)
  }
}
