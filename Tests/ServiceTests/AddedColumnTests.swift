import FetchModel
import Foundation
import TestSupport
import Testing

/// A column comes while its table is watched, or a table goes that others led to.
@Suite(
  "Another program adds a column to a served file", .mayBlock, .enabled(if: Sqlite3.isInstalled),
  .serialized)
struct AddedColumnTests {
  private static let addition = "ALTER TABLE city ADD COLUMN area REAL DEFAULT 1.5;"

  private func token(_ file: HostedFile) throws -> String {
    try #require(file.ask("/v1/objects/river").json["token"]?.string)
  }

  private static let others = [
    "city?select=name", "city?as=ids&sort=-population", "city?as=count&where=population%3E1",
    "country?select=name,city", "city?as=dictionaries&select=name,n:@count&group=name",
    "city/1?select=name",
  ]

  @Test func aFetchThatDoesNotShowItGoesOnUndisturbed() throws {
    let file = try HostedFile(AlteredTableTests.world)
    let token = try token(file)
    let polls = Self.others.map { fetch in
      file.begin(
        "GET", "/v1/objects/\(fetch)\(fetch.contains("?") ? "&" : "?")since=\(token)&wait=20")
    }
    let stream = try file.stream("/v1/objects/city?select=name")
    let snapshot = try #require(stream.next())
    Thread.sleep(forTimeInterval: 0.1)
    #expect(try file.shell(Self.addition) == "")
    #expect(file.reopenings(atLeast: 1) == 1)
    Thread.sleep(forTimeInterval: 0.3)
    #expect(!polls.contains { $0.isThere })
    #expect(stream.next(seconds: 0.05) == nil && !stream.isOver)
    try file.shell("UPDATE city SET area = 9 WHERE id = 1;")
    Thread.sleep(forTimeInterval: 0.3)
    #expect(!polls[0].isThere && !polls[2].isThere && !polls[5].isThere)
    try file.shell(
      "UPDATE city SET name = 'x' WHERE id = 1; INSERT INTO city VALUES (3,'y',7,1,0);")
    for (fetch, poll) in zip(Self.others, polls) {
      let answer = try #require(poll.wait(), "\(fetch)")
      #expect(answer.status == 200, "\(fetch): \(answer.text)")
      #expect(answer.json["from"]?.string == token, "\(fetch): \(answer.text)")
    }
    let diff = try #require(stream.next())
    #expect(diff.kind == "diff")
    #expect(diff.json["from"]?.string == snapshot.id)
  }

  @Test func aFetchThatShowsItIsToldItsValuesOfEveryItem() throws {
    let file = try HostedFile(AlteredTableTests.world)
    let fetches = [
      "city?sort=-population&digest=true&count=exact",
      "city?section=country.name&sort=name&limit=1",
      "city?where=population%3C20&select=name,@etag,population",
    ]
    var held = try fetches.map { try self.snapshot(file, $0) }
    let polls = zip(fetches, held).map { fetch, held in
      file.begin("GET", "/v1/objects/\(fetch)&since=\(held.token)&wait=20")
    }
    let stream = try file.stream("/v1/objects/city")
    let first = try #require(stream.next())
    let one = file.begin("GET", "/v1/objects/city/2?since=\(held[0].token)&wait=20")
    let live = file.begin(
      "POST", "/v1/live",
      body:
        #"{"fetches":{"c":{"entity":"city","since":"now"},"r":{"entity":"river","since":"now"}}}"#)
    Thread.sleep(forTimeInterval: 0.1)
    #expect(try file.shell(Self.addition) == "")
    for index in fetches.indices {
      let answer = try #require(polls[index].wait())
      #expect(answer.status == 200, "\(answer.text)")
      let diff = try #require(Diff(json: answer.json), "\(answer.text)")
      try held[index].apply(diff)
      try compare(held[index], snapshot(file, fetches[index]), answer.text)
    }
    let event = try #require(stream.next())
    #expect(event.kind == "diff")
    #expect(event.json["from"]?.string == first.id)
    #expect(event.data.contains(#""id":1,"changed":{"area":1.5}"#), "\(event.data)")
    #expect(event.data.contains(#""id":2,"changed":{"area":1.5}"#), "\(event.data)")
    let object = try #require(one.wait())
    #expect(object.text.contains(#""changed":{"area":1.5}"#), "\(object.text)")
    let results = try #require(live.wait()).json["results"]
    #expect(results?["c"]?["from"] != nil)
    #expect(results?["r"] == nil)
    // From then on it is a column like any other.
    #expect(try file.ask("PATCH", "/v1/objects/city/1", body: #"{"area":2}"#).status == 200)
    let diff = try #require(stream.next())
    #expect(diff.data.contains(#""changed":{"area":2}"#), "\(diff.data)")
  }

  @Test func whatIsSavedBesideItIsInTheSameDiff() throws {
    let file = try HostedFile(AlteredTableTests.world)
    let fetch = "city?sort=-population&limit=2"
    var held = try snapshot(file, fetch)
    try file.shell(
      Self.addition + "UPDATE city SET area = 3, population = 30 WHERE id = 2;"
        + "INSERT INTO city VALUES (3,'Lagos',25,1,4); DELETE FROM city WHERE id = 1;")
    #expect(file.reopenings(atLeast: 1) == 1)
    let answer = try file.ask("/v1/objects/\(fetch)&since=\(held.token)&wait=5")
    try held.apply(try #require(Diff(json: answer.json), "\(answer.text)"))
    try compare(held, snapshot(file, fetch), answer.text)
  }

  @Test func aFetchThatAsksByItCannotBeContinuedFromBefore() throws {
    let file = try HostedFile(AlteredTableTests.world)
    let token = try token(file)
    try file.shell(Self.addition)
    #expect(file.reopenings(atLeast: 1) == 1)
    for fetch in ["city?where=area%3E1", "city?sort=area&select=name", "country?select=city.area"] {
      let answer = try file.ask("/v1/objects/\(fetch)&since=\(token)&wait=0")
      #expect(answer.status == 410 || answer.status == 400, "\(fetch): \(answer.text)")
    }
    #expect(try file.ask("/v1/objects/country?expand=city&since=\(token)&wait=0").status == 410)
  }

  @Test func aTableThatGoesEndsOnlyTheFetchesThatUsedIt() throws {
    let file = try HostedFile(AlteredTableTests.world)
    let token = try token(file)
    let others = [
      "city?select=name,population", "city?as=ids&where=population%3E1", "city?as=count",
    ]
    let polls = others.map { file.begin("GET", "/v1/objects/\($0)&since=\(token)&wait=20") }
    let shown = file.begin("GET", "/v1/objects/city?since=\(token)&wait=20")
    let used = try file.stream("/v1/objects/city?select=country.name")
    #expect(used.next()?.kind == "snapshot")
    Thread.sleep(forTimeInterval: 0.1)
    #expect(try file.shell("DROP TABLE country;") == "")
    #expect(try #require(shown.wait()).code == "schema-changed")
    #expect(used.next()?.json["code"]?.string == "schema-changed")
    #expect(file.reopenings(atLeast: 1) == 1)
    Thread.sleep(forTimeInterval: 0.2)
    #expect(!polls.contains { $0.isThere })
    try file.shell("INSERT INTO city VALUES (3,'Lagos',25,NULL);")
    for poll in polls {
      let answer = try #require(poll.wait())
      #expect(answer.json["from"]?.string == token, "\(answer.text)")
    }
  }

  @Test func aColumnCannotBeTakenAwayAndNothingIsDisturbed() throws {
    let file = try HostedFile(AlteredTableTests.world)
    let poll = file.begin("GET", "/v1/objects/city?since=\(try token(file))&wait=20")
    let refusal = try file.shell("ALTER TABLE city DROP COLUMN population;")
    #expect(refusal.contains("livefetch_"), "\(refusal)")
    Thread.sleep(forTimeInterval: 0.2)
    #expect(!poll.isThere)
    #expect(file.reopenings(atLeast: 0) == 0)
    #expect(try file.ask("PATCH", "/v1/objects/city/1", body: #"{"population":9}"#).status == 200)
    let answer = try #require(poll.wait())
    #expect(answer.text.contains(#""changed":{"population":9}"#), "\(answer.text)")
  }

  private func compare(_ held: ResultSnapshot, _ fresh: ResultSnapshot, _ text: String) {
    #expect(held.sections == fresh.sections, "\(text)")
    #expect(held.summary == fresh.summary, "\(text)")
    if let digest = fresh.summary.digest { #expect(held.digest == digest, "\(text)") }
  }

  private func snapshot(_ file: HostedFile, _ fetch: String) throws -> ResultSnapshot {
    let answer = try file.ask("/v1/objects/\(fetch)")
    return try #require(ResultSnapshot(json: answer.json), "\(answer.text)")
  }
}
