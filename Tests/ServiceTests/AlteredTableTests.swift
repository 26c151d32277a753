import FetchModel
import Foundation
import SQLiteStore
import TestSupport
import Testing

/// A table is altered, rebuilt or dropped while it is watched, and so are others.
@Suite(
  "Another program changes the tables of a served file", .mayBlock,
  .enabled(if: Sqlite3.isInstalled),
  .serialized)
struct AlteredTableTests {
  static let world = """
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER,
      country_id INTEGER REFERENCES country(id));
    CREATE TABLE river(id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO country VALUES (1,'China');
    INSERT INTO city VALUES (1,'Shanghai',24,1),(2,'Beijing',18,1);
    INSERT INTO river VALUES (1,'Yangtze');
    """

  static let alterations: [(script: String, shown: String)] = [
    ("ALTER TABLE city RENAME COLUMN population TO people;", #""people":24"#),
    (
      """
      PRAGMA foreign_keys = OFF; BEGIN;
      CREATE TABLE new(id INTEGER PRIMARY KEY, name TEXT NOT NULL, size INTEGER,
        country_id INTEGER REFERENCES country(id));
      INSERT INTO new SELECT id, name, population, country_id FROM city; DROP TABLE city;
      ALTER TABLE new RENAME TO city; COMMIT;
      """, #""size":24"#
    ),
    (
      """
      PRAGMA foreign_keys = OFF; BEGIN;
      CREATE TABLE new(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER,
        country_id INTEGER REFERENCES country(id));
      INSERT INTO new SELECT id, upper(name), population, country_id FROM city; DROP TABLE city;
      ALTER TABLE new RENAME TO city; COMMIT;
      """, #""name":"SHANGHAI""#
    ),
  ]

  private func live(_ fetches: [String: String], wait: Int = 20) -> String {
    let members = fetches.sorted { $0.key < $1.key }.map { "\"\($0)\":{\($1)}" }
    return #"{"fetches":{\#(members.joined(separator: ","))},"wait":\#(wait)}"#
  }

  private func token(_ file: HostedFile, _ fetch: String) throws -> String {
    try #require(file.ask("/v1/objects/\(fetch)").json["token"]?.string)
  }

  @Test(arguments: alterations)
  func whoeverAsksOtherTablesGoesOn(_ alteration: (script: String, shown: String)) throws {
    let file = try HostedFile(Self.world)
    let token = try file.token()
    let others = ["river", "country?select=name", "country/1", "city?as=ids&where=FALSEPREDICATE"]
      .dropLast()
    let streams = try others.map { try file.stream("/v1/objects/\($0)") }
    let held = streams.map { $0.next() }
    #expect(held.allSatisfy { $0?.kind == "snapshot" })
    let all = file.begin(
      "POST", "/v1/live",
      body: live(["r": #""entity":"river""#, "c": #""entity":"city","as":"ids""#]),
      headers: [("Accept", "text/event-stream")])
    _ = all.wait()
    let shared = EventReader(try #require(all.stream))
    #expect(shared.next(2).allSatisfy { $0.kind == "snapshot" })
    let poll = file.begin("GET", "/v1/objects/river?since=\(token)&wait=20")
    let fromNow = file.begin("GET", "/v1/objects/river?since=now&wait=20")
    let many = file.begin(
      "POST", "/v1/live",
      body: live([
        "r": #""entity":"river","since":"now""#, "c": #""entity":"country","since":"now""#,
      ]))
    Thread.sleep(forTimeInterval: 0.1)
    #expect(try file.shell(alteration.script) == "")
    #expect(file.reopenings(atLeast: 1) == 1)
    Thread.sleep(forTimeInterval: 0.2)
    #expect(![poll, fromNow, many].contains { $0.isThere })
    for stream in streams { #expect(stream.next(seconds: 0.05) == nil && !stream.isOver) }
    let rename =
      #"{"changes":[{"update":"river","id":1,"values":{"name":"Chang Jiang"}},"#
      + #"{"update":"country","id":1,"values":{"name":"CN"}}]}"#
    #expect(try file.ask("POST", "/v1/save", body: rename).status == 200)
    let answer = try #require(poll.wait())
    #expect(answer.json["from"]?.string == token)
    #expect(answer.text.contains(#""changed":{"name":"Chang Jiang"}"#), "\(answer.text)")
    #expect(try #require(fromNow.wait()).text.contains("Chang Jiang"))
    let results = try #require(many.wait()).json["results"]
    #expect(results?["r"]?["from"] != nil && results?["c"]?["from"] != nil)
    // Each diff begins at the moment that its client has.
    for (stream, snapshot) in zip(streams, held) {
      let diff = try #require(stream.next())
      #expect(diff.kind == "diff")
      #expect(diff.json["from"]?.string == snapshot?.id)
    }
    let events = Dictionary(shared.next(2).map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    #expect(events["c"]?.kind == "snapshot")
    #expect(events["r"]?.kind == "diff")
    #expect(events["r"]?.json["from"]?.string == token)
    let again = try file.ask("/v1/objects/river?since=\(token)&wait=0")
    #expect(again.text.contains(#""changed":{"name":"Chang Jiang"}"#), "\(again.text)")
  }

  @Test(arguments: alterations)
  func whoeverAsksTheTableItselfBeginsAnew(
    _ alteration: (script: String, shown: String)
  ) throws {
    let file = try HostedFile(Self.world)
    let token = try file.token()
    let polls = [
      file.begin("GET", "/v1/objects/city?since=now&wait=20"),
      file.begin("GET", "/v1/objects/country?select=city&since=\(token)&wait=20"),
      file.begin("GET", "/v1/objects/city/1?since=\(token)&wait=20"),
    ]
    let many = file.begin(
      "POST", "/v1/live",
      body: live(["c": #""entity":"city","since":"now""#, "r": #""entity":"river","since":"now""#]))
    let stream = try file.stream("/v1/objects/city")
    #expect(stream.next()?.kind == "snapshot")
    Thread.sleep(forTimeInterval: 0.1)
    #expect(try file.shell(alteration.script) == "")
    for poll in polls {
      let answer = try #require(poll.wait())
      #expect(answer.status == 410)
      #expect(answer.code == "schema-changed")
      #expect(answer.json["detail"]?.string?.contains("`city`") == true, "\(answer.text)")
    }
    let event = try #require(stream.next())
    #expect(event.kind == "snapshot")
    #expect(event.data.contains(alteration.shown), "\(event.data)")
    let results = try #require(many.wait()).json["results"]
    #expect(results?["c"]?["sections"] != nil)
    #expect(results?["r"] == nil)
    #expect(file.reopenings(atLeast: 1) == 1)
    #expect(try file.ask("/v1/objects/city?since=\(token)&wait=0").code == "token-expired")
    // What is new is followed and saved as well.
    #expect(try file.ask("PATCH", "/v1/objects/city/1", body: #"{"name":"x"}"#).status == 200)
    let diff = try #require(stream.next())
    #expect(diff.kind == "diff")
    #expect(diff.data.contains(#""changed":{"name":"x"}"#), "\(diff.data)")
  }

  @Test func aFetchOfWhatIsGoneEndsAndTheOthersOfItsStreamGoOn() throws {
    let file = try HostedFile(Self.world)
    let fetches = live([
      "a": #""entity":"city","sort":"-population""#, "b": #""entity":"river""#,
      "c": #""entity":"country","select":["name"]"#,
    ])
    let pending = file.begin(
      "POST", "/v1/live", body: fetches, headers: [("Accept", "text/event-stream")])
    _ = pending.wait()
    let stream = EventReader(try #require(pending.stream))
    #expect(Set(stream.next(3).compactMap(\.name)) == ["a", "b", "c"])
    let alone = try file.stream("/v1/objects/city?where=population%3E1")
    #expect(alone.next()?.kind == "snapshot")
    let now = #""since":"now""#
    let poll = file.begin(
      "POST", "/v1/live",
      body: live([
        "a": #""entity":"city","sort":"-population","# + now, "b": #""entity":"river","# + now,
      ]))
    Thread.sleep(forTimeInterval: 0.1)
    try file.shell("ALTER TABLE city RENAME COLUMN population TO people;")
    let event = try #require(stream.next())
    #expect(event.kind == "error")
    #expect(event.name == "a")
    #expect(event.json["code"]?.string == "schema-changed")
    #expect(event.json["detail"]?.string?.contains("`city`") == true)
    let last = try #require(alone.next())
    #expect(last.kind == "error")
    #expect(last.json["code"]?.string == "schema-changed")
    #expect(alone.next(seconds: 1) == nil)
    #expect(alone.isOver)
    let answer = try #require(poll.wait())
    #expect(answer.status == 200)
    #expect(answer.json["results"]?["a"]?["code"]?.string == "schema-changed")
    #expect(answer.json["results"]?["b"] == nil)
    #expect(try file.ask("PATCH", "/v1/objects/river/1", body: #"{"name":"x"}"#).status == 200)
    let diff = try #require(stream.next())
    #expect(diff.kind == "diff")
    #expect(diff.name == "b")
  }

  @Test func aTableThatIsDroppedIsUnknownAndTheOthersGoOn() throws {
    let file = try HostedFile(Self.world)
    let token = try file.token()
    let polls = [
      file.begin("GET", "/v1/objects/city?since=now&wait=20"),
      file.begin("GET", "/v1/objects/country?select=name,city&since=now&wait=20"),
    ]
    let streams = try ["city", "city/1"].map { try file.stream("/v1/objects/\($0)") }
    for stream in streams { #expect(stream.next()?.kind == "snapshot") }
    let other = try file.stream("/v1/objects/country?select=name")
    #expect(other.next()?.kind == "snapshot")
    Thread.sleep(forTimeInterval: 0.1)
    try file.shell("DROP TABLE city;")
    for poll in polls {
      let answer = try #require(poll.wait())
      #expect(answer.status == 410)
      #expect(answer.code == "schema-changed")
      #expect(answer.json["detail"]?.string?.contains("`city`") == true)
    }
    for stream in streams {
      #expect(stream.next()?.json["code"]?.string == "schema-changed")
      #expect(stream.next(seconds: 1) == nil && stream.isOver)
    }
    #expect(file.reopenings(atLeast: 1) == 1)
    #expect(try file.ask("/v1/objects/city").code == "unknown-entity")
    #expect(try file.ask("PATCH", "/v1/objects/country/1", body: #"{"name":"x"}"#).status == 200)
    #expect(other.next()?.kind == "diff")
    let diff = try file.ask("/v1/objects/country?select=name&since=\(token)&wait=0")
    #expect(diff.text.contains(#""changed":{"name":"x"}"#), "\(diff.text)")
  }

  @Test func aTableThatIsMadeIsServedWithoutARestart() throws {
    let file = try HostedFile(Self.world)
    let token = try file.token()
    let poll = file.begin("GET", "/v1/objects/city?since=\(token)&wait=20")
    let changes = try file.stream("/v1/changes")
    Thread.sleep(forTimeInterval: 0.1)
    try file.shell(
      "CREATE TABLE lake(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO lake VALUES (1,'Tai');")
    #expect(file.reopenings(atLeast: 1) == 1)
    #expect(try file.ask("/v1/objects/lake").text.contains("Tai"))
    #expect(!poll.isThere)
    #expect(try file.ask("/v1/objects/lake?since=\(token)&wait=0").code == "token-expired")
    #expect(try file.ask("PATCH", "/v1/objects/city/1", body: #"{"name":"x"}"#).status == 200)
    #expect(try #require(poll.wait()).json["from"]?.string == token)
    #expect(changes.next()?.kind == "diff")
  }

  @Test func theHistoryOfSavesBeginsAnewWhereOneOfItsTablesIsChanged() throws {
    let file = try HostedFile(Self.world)
    let token = try file.token()
    let stream = try file.stream("/v1/changes?since=\(token)")
    let poll = file.begin("GET", "/v1/changes?since=\(token)&wait=20")
    Thread.sleep(forTimeInterval: 0.1)
    try file.shell("ALTER TABLE city ADD COLUMN area REAL;")
    #expect(try #require(poll.wait()).code == "schema-changed")
    #expect(stream.next()?.json["code"]?.string == "schema-changed")
    #expect(try file.ask("/v1/changes?since=\(token)&wait=0").code == "token-expired")
    let later = file.begin("GET", "/v1/changes?since=now&wait=20")
    Thread.sleep(forTimeInterval: 0.1)
    #expect(try file.ask("PATCH", "/v1/objects/city/1", body: #"{"area":2}"#).status == 200)
    #expect(try #require(later.wait()).text.contains(#""properties":["area"]"#))
  }

  @Test func whatWasSavedWhileItWasOpenedAnewIsTold() throws {
    let file = try HostedFile(Self.world)
    let stream = try file.stream("/v1/objects/river?as=count")
    #expect(stream.next()?.kind == "snapshot")
    var total = 1
    for round in 0..<5 {
      try file.shell(
        "ALTER TABLE city ADD COLUMN c\(round) TEXT; INSERT INTO river(name) VALUES ('a');"
          + "INSERT INTO river(name) VALUES ('b');")
      total += 2
      var seen: Int64?
      while seen != Int64(total), let event = stream.next() {
        #expect(event.kind == "diff")
        seen = event.json["total"]?.integer
      }
      #expect(seen == Int64(total))
    }
    #expect(file.reopenings(atLeast: 1) >= 1)
  }

  @Test func anIndexOrAVacuumDisturbsNobody() throws {
    let file = try HostedFile(Self.world)
    let token = try file.token()
    let poll = file.begin("GET", "/v1/objects/city?since=now&wait=20")
    try file.shell("CREATE INDEX by_name ON city(name); VACUUM;")
    Thread.sleep(forTimeInterval: 0.4)
    #expect(!poll.isThere)
    #expect(try file.ask("/v1/objects/city?since=\(token)&wait=0").status == 200)
    #expect(file.reopenings(atLeast: 0) == 0)
  }

  @Test func requestsThatComeMeanwhileAreAnswered() throws {
    let file = try HostedFile(Self.world)
    for round in 0..<5 {
      try file.shell("ALTER TABLE country ADD COLUMN c\(round) TEXT;")
      let pending = (0..<20).map { _ in
        Thread.sleep(forTimeInterval: 0.01)
        return file.begin("GET", "/v1/objects/country")
      }
      for answer in pending {
        #expect(try #require(answer.wait()).status == 200)
      }
    }
    #expect(file.reopenings(atLeast: 5) == 5)
    #expect(try file.ask("/v1/objects/country").text.contains("c4"))
  }

  @Test func aTriggerThatIsTakenAwayCutsItsTableAlone() throws {
    let file = try HostedFile(Self.world)
    let token = try file.token()
    try file.shell("DROP TRIGGER livefetch_update_city; UPDATE city SET name = 'unseen';")
    #expect(file.reopenings(atLeast: 1) == 1)
    #expect(try file.ask("/v1/objects/city?since=\(token)&wait=0").code == "token-expired")
    #expect(try file.ask("/v1/objects/river?since=\(token)&wait=0").status == 200)
  }
}

/// What a client is told when the server ends.
@Suite("The server ends while clients wait", .mayBlock)
struct EndingTests {
  @Test(
    arguments: [
      ("GET", "/v1/objects/city", ""), ("GET", "/v1/objects/city/1", ""),
      ("GET", "/v1/changes", ""),
      ("POST", "/v1/live", #"{"fetches":{"a":{"entity":"city"},"b":{"entity":"country"}}}"#),
    ])
  func aStreamIsToldSo(_ request: (method: String, target: String, body: String)) throws {
    let file = try ServedFile(contractWorld)
    let body = request.body.isEmpty ? nil : request.body
    let pending = file.begin(
      request.method, request.target, body: body, headers: [("Accept", "text/event-stream")])
    _ = pending.wait()
    let stream = EventReader(try #require(pending.stream))
    while stream.next(seconds: 0.3) != nil {}
    file.stop()
    let event = try #require(stream.next())
    #expect(event.kind == "error")
    #expect(event.json["code"]?.string == "shutting-down")
    #expect(stream.next(seconds: 1) == nil)
    #expect(stream.isOver)
  }

  @Test func whoeverWaitsForOneAnswerGetsIt() throws {
    let file = try ServedFile(contractWorld)
    let live = #"{"fetches":{"a":{"entity":"city","since":"now"}},"wait":30}"#
    let pending = [
      file.begin("GET", "/v1/objects/city?since=now&wait=30"),
      file.begin("GET", "/v1/changes?since=now&wait=30"),
      file.begin("POST", "/v1/live", body: live),
    ]
    Thread.sleep(forTimeInterval: 0.2)
    file.stop()
    for answer in pending { #expect(try #require(answer.wait()).status == 200) }
  }
}
