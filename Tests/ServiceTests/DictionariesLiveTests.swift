// `as=dictionaries` while saves are made.

import FetchModel
import Foundation
import SQLiteStore
import TestSupport
import Testing

/// Dictionaries under saves: they are sent as a whole if any value differs, and only then.
@Suite("as=dictionaries: live", .mayBlock)
struct DictionariesLiveTests {
  private static let fetch =
    "/v1/objects/city?as=dictionaries&where=population+%3E+5"
    + "&select=country.name,n:@count,people:@sum.population&group=country.name&sort=-people"

  private static func held(_ file: ServedFile, _ fetch: String = fetch) throws -> String {
    try #require(file.ask(fetch).json["token"]?.string)
  }

  @Test func aChangedGroupIsSentAsAWholeToEveryWaiter() throws {
    let file = try ServedFile(dictionariesFixture)
    let token = try Self.held(file)
    let waiting = file.begin("GET", "\(Self.fetch)&since=\(token)&wait=60")
    try awaitWaitingFetches(1) { try file.ask($0) }
    try file.runExternally("UPDATE city SET population = 30 WHERE id = 5")
    let answer = try #require(waiting.wait())
    let now = try file.ask("/v1").json["token"]?.string ?? ""
    #expect(
      answer.text == #"{"entity":"city","from":"\#(token)","to":"\#(now)","reset":true,"count":3,"#
        + #""sections":[{"name":"","value":null,"indexTitle":"","items":["#
        + #"{"country.name":"China","n":2,"people":42},{"country.name":"Peru","n":1,"people":30},"#
        + #"{"country.name":"Japan","n":1,"people":9}]}]}"#)
  }

  /// Changes that leave the dictionaries as they are.
  static let quiet = [
    // Of a column that they do not read, of an object that does not match, of another entity.
    "UPDATE city SET area = 7, name = 'x' WHERE id = 1",
    "UPDATE city SET population = 3 WHERE id = 4",
    "INSERT INTO city(id, population, country_id) VALUES (9, 1, 1)",
    "UPDATE country SET continent = 'x'",
    "INSERT INTO country VALUES (9, 'New', NULL)",
    // An insert with a delete, changes with an equal sum, a change that is reverted.
    "BEGIN; DELETE FROM city WHERE id = 3; INSERT INTO city(id, population, country_id) "
      + "VALUES (8, 9, 2); COMMIT",
    "UPDATE city SET population = CASE id WHEN 1 THEN 20 ELSE 22 END WHERE id < 3",
    "BEGIN; UPDATE city SET population = 10 WHERE id = 1; "
      + "UPDATE city SET population = 24 WHERE id = 1; COMMIT",
  ]

  @Test(arguments: quiet)
  func noClientIsAnsweredIfNothingDiffers(sql: String) throws {
    let file = try ServedFile(dictionariesFixture)
    let token = try Self.held(file)
    let waiting = file.begin("GET", "\(Self.fetch)&since=\(token)&wait=60")
    try awaitWaitingFetches(1) { try file.ask($0) }
    try file.runExternally(sql)
    try file.settle()
    // The same for later clients, and after a restart; the end of the server answers the first one.
    let later = try file.ask("\(Self.fetch)&since=\(token)&wait=0")
    #expect(Self.isBare(later.json), "\(later.text)")
    #expect(!waiting.isThere)
    try file.restart()
    let answer = try #require(waiting.wait())
    #expect(Self.isBare(answer.json), "\(answer.text)")
    let restarted = try file.ask("\(Self.fetch)&since=\(token)&wait=0")
    #expect(Self.isBare(restarted.json), "\(restarted.text)")
  }

  /// True if a diff contains only its tokens.
  private static func isBare(_ diff: JSON) -> Bool {
    guard case .object(let members) = diff else { return false }
    return members.map(\.name) == ["entity", "from", "to"]
  }

  @Test func aChangeWhileTheServerWasDownIsReportedFromTheOldToken() throws {
    let file = try ServedFile(dictionariesFixture)
    let token = try Self.held(file)
    try file.restart {
      try $0.runExternally("UPDATE country SET name = 'Nippon' WHERE id = 2")
    }
    let answer = try file.ask("\(Self.fetch)&since=\(token)&wait=60")
    #expect(answer.json["reset"] == .boolean(true))
    #expect(answer.json["from"]?.string == token)
    #expect(answer.text.contains("Nippon"))
  }

  @Test(
    "groups and different values at the end of a long path are followed",
    arguments: ["group=b.c.d.name&select=b.c.d.name,n:@count", "distinct=true&select=b.c.d.name"])
  func longPath(query: String) throws {
    let file = try ServedFile(
      """
      CREATE TABLE d(id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE c(id INTEGER PRIMARY KEY, d INTEGER REFERENCES d(id));
      CREATE TABLE b(id INTEGER PRIMARY KEY, c INTEGER REFERENCES c(id));
      CREATE TABLE a(id INTEGER PRIMARY KEY, b INTEGER REFERENCES b(id));
      INSERT INTO d VALUES (1, 'one'), (2, 'two');
      INSERT INTO c VALUES (1, 1), (2, 2);
      INSERT INTO b VALUES (1, 1), (2, 2);
      INSERT INTO a VALUES (1, 1), (2, 2), (3, 2);
      """)
    let fetch = "/v1/objects/a?as=dictionaries&\(query)&sort=b.c.d.name"
    var token = try Self.held(file, fetch)
    for (change, hasTwo) in [
      ("UPDATE d SET name = 'first' WHERE id = 1", true),
      ("UPDATE c SET d = 1 WHERE id = 2", false),
    ] {
      try file.runExternally(change)
      let diff = try file.ask("\(fetch)&since=\(token)&wait=60")
      #expect(diff.status == 200, "\(diff.text)")
      #expect(diff.json["reset"] == .boolean(true))
      #expect(diff.json["sections"] == (try file.ask(fetch)).json["sections"])
      #expect(diff.text.contains("first") && diff.text.contains("two") == hasTwo)
      token = try #require(diff.json["to"]?.string)
    }
  }

  @Test(.onlyForFiles) func aTokenOfPrunedHistoryExpires() throws {
    var options = SQLiteStoreOptions()
    options.keptPositions = 1
    let file = try ServedFile(dictionariesFixture, options: options)
    let token = try Self.held(file)
    for population in 40..<60 {
      try file.runExternally("UPDATE city SET population = \(population) WHERE id = 5")
    }
    try file.restart()
    #expect(
      try eventually(within: .seconds(300)) {
        try file.ask("\(Self.fetch)&since=\(token)&wait=0").code == "token-expired"
      })
  }

  @Test func aClockInThemCannotBeFollowed() throws {
    let file = try ServedFile(dictionariesFixture)
    let answer = try file.ask(
      "/v1/objects/city?as=dictionaries&select=n:now()&since=now&wait=0")
    #expect(answer.code == "not-observable")
    let having = try file.ask(
      "/v1/objects/city?as=dictionaries&select=@max.founded&group=country"
        + "&having=@max.founded+%3C+now()&since=now&wait=0")
    #expect(having.code == "not-observable")
    #expect(try file.ask("/v1/objects/city?as=dictionaries&select=n:now()&limit=1").status == 200)
  }

  static let fetches = [
    "city?as=dictionaries&select=country.name,n:@count,s:@sum.population&group=country.name",
    "city?as=dictionaries&select=population&distinct=true&sort=-population&limit=6&count=exact",
    "city?as=dictionaries&select=name,country.continent&where=population>8&sort=country.name,name"
      + "&limit=5&offset=2",
    "city?as=dictionaries&select=n:@count,a:@avg.population,t:@distinctUnionOfObjects.country.name"
      + "&where=ANY tag.word=='big'",
    "country?as=dictionaries&select=name,c:city.@count,s:city.@sum.population&sort=-s",
    "city?as=dictionaries&select=continent:country.continent,m:@max.name&group=continent"
      + "&having=@count>4&count=exact",
    "city?as=dictionaries&select=even:modulus:by:(population,2),n:@count&group=even&sort=-n",
  ]

  @Test(.onlyForFiles, arguments: [31, 32] as [UInt64])
  func clientsThatApplyEveryResetAreCurrentAndGetNoEqualReset(seed: UInt64) throws {
    let file = try ServedFile(PromiseTests.fixture)
    var random = SeededRandom(seed: seed)
    var held = try Self.fetches.map { try Self.result(file.ask("/v1/objects/\(encoded($0))").json) }
    for round in 0..<30 {
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        try file.runExternally(PromiseTests.change(&random))
      }
      if round % 10 == 9 { try file.restart() }
      try file.settle()
      for (index, fetch) in Self.fetches.enumerated() where Bool.random(using: &random) {
        let place = Comment("seed \(seed), round \(round), \(fetch)")
        let target = "/v1/objects/\(encoded(fetch))"
        let diff = try file.ask("\(target)&since=\(held[index].token)&wait=0").json
        let fresh = try Self.result(file.ask(target).json)
        let differs = fresh.members != held[index].members
        #expect(diff["reset"] == (differs ? .boolean(true) : nil), place)
        if differs {
          held[index] = try Self.result(diff)
        } else {
          held[index].token = try #require(diff["to"]?.string)
        }
        #expect(held[index].members == fresh.members, place)
      }
    }
  }

  private struct Result {
    var token: String
    let members: [JSON?]
  }

  private static func result(_ json: JSON) throws -> Result {
    let token = try #require(json["to"]?.string ?? json["token"]?.string)
    let names = ["count", "total", "truncated", "sections"]
    return Result(token: token, members: names.map { json[$0] })
  }

  private func encoded(_ fetch: String) -> String { DictionariesContractTests.encoded(fetch) }

  @Test func aStreamSendsTheDictionariesAndThenEveryChange() throws {
    let file = try ServedFile(dictionariesFixture)
    let pending = file.begin(
      "GET", "/v1/objects/city?as=dictionaries&select=n:@count,s:@sum.population",
      headers: [("Accept", "text/event-stream")])
    _ = pending.wait()
    let stream = EventReader(try #require(pending.stream))
    let snapshot = try #require(stream.next())
    #expect(snapshot.kind == "snapshot" && snapshot.id != nil, "\(snapshot)")
    #expect(snapshot.data.contains(#""items":[{"n":6,"s":60}]"#), "\(snapshot)")
    // Nothing that is shown differs: no event. Then something does.
    try file.runExternally("UPDATE city SET name = 'x'")
    try file.settle()
    #expect(stream.next(seconds: 0.05) == nil)
    try file.runExternally("UPDATE city SET population = population + 1 WHERE id = 1")
    let diff = try #require(stream.next())
    #expect(diff.kind == "diff" && diff.id != nil, "\(diff)")
    #expect(diff.data.contains(#""reset":true,"count":1,"sections":[{"name":"","#), "\(diff)")
    #expect(diff.data.contains(#""items":[{"n":6,"s":61}]"#), "\(diff)")
  }
}
