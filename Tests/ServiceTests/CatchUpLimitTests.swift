// Diffs of an engine whose time limits are too short, under generated saves.

import FetchModel
import Foundation
import LiveQueries
import Service
import TestSupport
import Testing

/// An engine whose time limits are too short: catch-ups continue in the background, are answered in
/// parts, or restart. Every diff is exact nevertheless.
@Suite("Diffs of an engine that runs out of time", .mayBlock)
struct CatchUpLimitTests {
  static let fixture = """
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT NOT NULL, code TEXT NOT NULL);
    CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT NOT NULL, region TEXT, population INTEGER,
      country_id INTEGER REFERENCES country(id));
    CREATE INDEX city_country ON city(country_id);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12)
      INSERT INTO country SELECT i, 'c' || i, 'k' || i FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
      INSERT INTO city SELECT i, 'n' || (i * 7919 % 3001), 's', i * 37 % 1000, 1 + i % 12 FROM n;
    """

  static let fetches =
    (1...8).map {
      "city?where=country.code=='k\($0)'&section=region&sort=name&limit=60&digest=true"
    }
    + (1...4).map {
      "city?where=country.code=='k\($0)'&section=-region&sort=-name&limit=20&offset=60&count=exact"
        + "&digest=true"
    }
    + (5...8).map { "city?where=country.code=='k\($0)'&sort=-population&limit=30&digest=true" }
    + [
      "country?where=city.@count>200&sort=name",
      "city?where=population>900&sort=name&expand=country&limit=20",
    ]

  private static func change(_ random: inout SeededRandom) -> String {
    let region = ["n", "s", "e", "w"].randomElement(using: &random)!
    let number = Int.random(in: 0...900, using: &random)
    return [
      "UPDATE city SET region = '\(region)'", "UPDATE city SET region = '\(region)'",
      "UPDATE city SET population = (population + \(number)) % 1000 WHERE id > \(number)",
      "UPDATE city SET country_id = 1 + id % 12 WHERE id > 1500",
      "UPDATE city SET country_id = \(1 + number % 12) WHERE id % 7 = \(number % 7)",
      "UPDATE city SET name = 'm' || id WHERE id % 2 = \(number % 2)",
      "UPDATE country SET name = 'o' || \(number) WHERE id = \(1 + number % 12)",
    ].randomElement(using: &random)!
  }

  /// - Parameter limit: the engine's long time limit in microseconds.
  @Test(arguments: zip([21, 22, 23, 24] as [UInt64], [0, 300, 3_000, 30_000]))
  func areExact(seed: UInt64, limit: Int) throws {
    try Self.checkPolls(seed, Self.file(limit: limit))
  }

  /// The same for two callers that move to the thread of slow callers.
  ///
  /// - Parameter time: the time of a caller on the thread that serves all, in microseconds.
  @Test(arguments: zip([31, 32, 33, 34] as [UInt64], [0, 300, 3_000, 30_000]))
  func areExactForSlowCallers(seed: UInt64, time: Int) throws {
    try Self.checkPolls(seed, Self.file(callerTime: time), callers: 2)
  }

  private static func checkPolls(_ seed: UInt64, _ file: ServedFile, callers: Int = 1) throws {
    func begin(_ index: Int, _ held: ResultSnapshot, wait: Double) -> Pending {
      file.begin(
        "GET", request(index, held, wait: wait), address: "192.0.2.\(1 + index % callers)")
    }
    var random = SeededRandom(seed: seed)
    var held = try Self.fetches.map { try Self.snapshot(file, $0) }
    for round in 0..<4 {
      var waiting = held.enumerated().map { begin($0, $1, wait: 0.3) }
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        try file.runExternally(Self.change(&random))
        Thread.sleep(forTimeInterval: Double.random(in: 0...0.1, using: &random))
      }
      for index in held.indices {
        let place = Comment("seed \(seed), round \(round), \(Self.fetches[index])")
        var fresh: ResultSnapshot
        repeat {
          let answer = try #require(waiting[index].wait(), place)
          try Self.take(answer, index, &held[index], file, place)
          fresh = try Self.snapshot(file, Self.fetches[index])
          waiting[index] = begin(index, held[index], wait: 0)
        } while held[index].token != fresh.token
        #expect(held[index].sections == fresh.sections, place)
        #expect(held[index].summary == fresh.summary, place)
      }
    }
  }

  /// The same for fetches that are followed together.
  @Test(arguments: zip([25, 26, 27, 28] as [UInt64], [0, 300, 3_000, 30_000]))
  func areExactForGroups(seed: UInt64, limit: Int) throws {
    try Self.checkGroup(seed, Self.file(limit: limit))
  }

  /// The same for a caller that moves to the thread of slow callers.
  @Test(arguments: zip([35, 36, 37, 38] as [UInt64], [0, 300, 3_000, 30_000]))
  func areExactForGroupsOfSlowCallers(seed: UInt64, time: Int) throws {
    let file = try Self.file(callerTime: time)
    let held = try Self.snapshot(file, Self.fetches[0])
    // Without another caller, no caller moves.
    let other = file.begin("GET", Self.request(0, held, wait: 60), address: "192.0.2.1")
    try Self.checkGroup(seed, file)
    #expect(other.isThere)
  }

  private static func checkGroup(_ seed: UInt64, _ file: ServedFile) throws {
    var random = SeededRandom(seed: seed)
    var held = try Self.fetches.map { try Self.snapshot(file, $0) }
    for round in 0..<4 {
      let place = Comment("seed \(seed), round \(round)")
      let waiting = try Self.follow(
        held, file, wait: Double.random(in: 0.05...0.4, using: &random))
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        try file.runExternally(Self.change(&random))
        Thread.sleep(forTimeInterval: Double.random(in: 0...0.1, using: &random))
      }
      try Self.take(try #require(waiting.wait(), place), &held, place)
      try file.settle()
      while held[0].token != file.store.newestToken.description {
        let answer = try #require(Self.follow(held, file, wait: 0).wait(), place)
        try Self.take(answer, &held, place)
      }
      for (fetch, held) in zip(Self.fetches, held) {
        let fresh = try Self.snapshot(file, fetch)
        #expect(held.sections == fresh.sections, "\(place), \(fetch)")
        #expect(held.summary == fresh.summary, "\(place), \(fetch)")
      }
    }
  }

  private static func follow(
    _ held: [ResultSnapshot], _ file: ServedFile, wait: Double
  ) throws -> Pending {
    var members: [String] = []
    for (index, (fetch, held)) in zip(fetches, held).enumerated() {
      let (entity, query) = (fetch.prefix { $0 != "?" }, fetch.drop { $0 != "?" }.dropFirst())
      let parameters = query.split(separator: "&").map { parameter in
        let end = parameter.firstIndex(of: "=") ?? parameter.endIndex
        let (name, value) = (parameter[..<end], parameter[end...].dropFirst())
        let isPlain = Int(value) != nil || value == "true"
        let json = isPlain ? String(value) : "\"\(value)\""
        return ["sort", "expand"].contains(name)
          ? "\"\(name)\":[\(json)]" : "\"\(name)\":\(json)"
      }
      let all = ["\"entity\":\"\(entity)\""] + parameters + ["\"since\":\"\(held.token)\""]
      members.append("\"\(index)\":{\(all.joined(separator: ","))}")
    }
    let body = "{\"fetches\":{\(members.joined(separator: ","))},\"wait\":\(wait)}"
    return file.begin("POST", "/v1/live", body: body)
  }

  /// Applies the diffs of an answer; the other snapshots are the same at its token.
  private static func take(
    _ answer: Answer, _ held: inout [ResultSnapshot], _ place: Comment
  ) throws {
    try #require(answer.status == 200, "\(place): \(answer.text)")
    let token = try #require(answer.json["token"]?.string)
    for index in held.indices {
      if let result = answer.json["results"]?["\(index)"] {
        if let diff = Diff(json: result) {
          #expect(diff.to == token, place)
          try held[index].apply(diff)
        } else {
          held[index] = try #require(ResultSnapshot(json: result), "\(place): \(result)")
        }
        if let digest = held[index].summary.digest { #expect(held[index].digest == digest, place) }
      }
      held[index].token = token
    }
  }

  private static func file(limit: Int) throws -> ServedFile {
    var configuration = ServiceConfiguration()
    configuration.engine.timeLimit = .microseconds(limit / 4)
    configuration.engine.longTimeLimit = .microseconds(limit)
    return try ServedFile(fixture, configuration: configuration)
  }

  private static func file(callerTime: Int) throws -> ServedFile {
    var configuration = ServiceConfiguration()
    configuration.engine.callerTime = .microseconds(callerTime)
    return try ServedFile(fixture, configuration: configuration)
  }

  private static func request(_ index: Int, _ held: ResultSnapshot, wait: Double) -> String {
    "/v1/objects/\(fetches[index])&since=\(held.token)&wait=\(wait)"
  }

  private static func take(
    _ answer: Answer, _ index: Int, _ held: inout ResultSnapshot, _ file: ServedFile,
    _ place: Comment
  ) throws {
    if answer.status == 410 || answer.json["reset"] != nil {
      held = try snapshot(file, fetches[index])
      return
    }
    try #require(answer.status == 200, place)
    let diff = try #require(Diff(json: answer.json), place)
    try held.apply(diff)
    if let digest = held.summary.digest { #expect(held.digest == digest, place) }
  }

  private static func snapshot(_ file: ServedFile, _ fetch: String) throws -> ResultSnapshot {
    try #require(ResultSnapshot(json: file.ask("GET", "/v1/objects/\(fetch)").json))
  }
}
