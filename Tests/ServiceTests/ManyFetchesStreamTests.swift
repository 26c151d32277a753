// `/v1/live` as one stream.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import Service
import TestSupport
import Testing

@Suite("Many fetches share one stream", .mayBlock)
struct ManyFetchesStreamTests {
  private static let fixture =
    contractFixture + "CREATE TABLE gone(id INTEGER PRIMARY KEY, x TEXT);"

  private func open(
    _ file: ServedFile, _ fetches: String, lastID: String? = nil
  ) throws -> EventReader {
    var headers = [(name: "Accept", value: "text/event-stream")]
    if let lastID { headers.append(("Last-Event-ID", lastID)) }
    let pending = file.begin(
      "POST", "/v1/live", body: "{\"fetches\":{\(fetches)}}", headers: headers)
    _ = pending.wait()
    return EventReader(try #require(pending.stream))
  }

  private static let both =
    #""a":{"entity":"city","sort":["-population"],"select":["name"]},"b":{"entity":"country","as":"count"}"#

  @Test func snapshotsComeFirstThenEachDiffUnderItsName() throws {
    let file = try ServedFile(Self.fixture)
    let events = try open(file, Self.both)
    let snapshots = events.next(2)
    #expect(snapshots.map(\.kind) == ["snapshot", "snapshot"])
    #expect(snapshots.map(\.name) == ["a", "b"])
    // The token of both. A commit of PostgreSQL itself between the two reads leaves them with two tokens.
    let token = snapshots[1].json["token"]?.string
    #expect(
      snapshots[1].id == token
        || TestedStore.isPostgres && token != snapshots[0].json["token"]?.string)
    try file.runExternally("INSERT INTO country(name) VALUES ('Peru')")
    let diff = try #require(events.next())
    #expect(diff.kind == "diff")
    #expect(
      diff.data.hasPrefix(#"{"name":"b","entity":"country","from":""#)
        && diff.data.hasSuffix(#""total":3}"#))
    #expect(diff.id == diff.json["to"]?.string)
  }

  @Test func anIDHoldsForEveryFetchSoThatTheLastEventResumesAll() throws {
    let file = try ServedFile(Self.fixture)
    let events = try open(file, Self.both)
    _ = events.next(2)
    try file.runExternally(
      "INSERT INTO country(name) VALUES ('Peru'); UPDATE city SET name = 'x' WHERE id = 1")
    let diffs = events.next(2)
    #expect(Set(diffs.compactMap(\.name)) == ["a", "b"])
    // The first of two events of one token has no id: the other is still to come.
    #expect(diffs[0].id == nil)
    #expect(diffs[1].id == diffs[1].json["to"]?.string)
    try file.runExternally("INSERT INTO country(name) VALUES ('Mali')")
    let resumed = try open(file, Self.both, lastID: diffs[1].id)
    let diff = try #require(resumed.next())
    #expect(diff.kind == "diff")
    #expect(diff.name == "b")
    #expect(diff.json["from"]?.string == diffs[1].id)
  }

  @Test(.onlyForFiles) func aReaderThatFallsBehindGetsFewDiffs() throws {
    let file = try ServedFile(Self.fixture)
    let events = try open(file, Self.both)
    _ = events.next(2)
    for round in 0..<50 {
      try file.runExternally(
        "UPDATE city SET name = 'n\(round)', population = \(round) WHERE id = 1")
    }
    try file.settle()
    let fresh = try file.ask("/v1/objects/city?sort=-population&select=name")
    let token = try #require(fresh.json["token"]?.string)
    var last: SentEvent?
    var count = 0
    while last?.json["to"]?.string != token, let event = events.next() {
      last = event
      count += 1
    }
    // The first change may be an event of its own, and so may those that arrive while the client reads.
    #expect(count < 10)
    #expect(last?.data.contains(#""name":"n49""#) == true)
  }

  @Test(.onlyForFiles) func aDroppedTableEndsOnlyItsFetch() throws {
    let file = try ServedFile(Self.fixture)
    let events = try open(
      file, #""a":{"entity":"city","as":"count"},"g":{"entity":"gone","as":"ids"}"#)
    _ = events.next(2)
    try file.runExternally("DROP TABLE gone")
    var kinds: [String: [String]] = [:]
    while kinds["g"]?.last != "error", let event = events.next(seconds: 60) {
      kinds[event.name ?? "", default: []].append(event.kind)
    }
    // A gap in the history makes the others restart with a snapshot.
    #expect(kinds["g"]?.last == "error", "\(kinds)")
    #expect(kinds["a"] == nil || kinds["a"] == ["snapshot"], "\(kinds)")
  }

  @Test func snapshotsOfAnySizeComeOneAfterTheOther() throws {
    let file = try ServedFile(
      Self.fixture + """
        CREATE TABLE big_one(id INTEGER PRIMARY KEY, text TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 2000)
          INSERT INTO big_one SELECT i, printf('%060d', i) FROM n;
        """)
    let fetches = (0..<20).map { "\"f\($0)\":{\"entity\":\"big_one\"}" }.joined(separator: ",")
    let events = try open(file, fetches)
    let snapshots = events.next(20)
    #expect(snapshots.map { $0.name ?? "" } == (0..<20).map { "f\($0)" })
    let one = snapshots[0].data.utf8.count
    #expect(events.largest < 2 * one + (64 << 10))
  }

  @Test func aStreamOfManyIsExactUnderGeneratedSaves() throws {
    let file = try ServedFile(PromiseTests.fixture)
    var random = SeededRandom(seed: 99)
    let wanted = [
      ("all", "city?sort=-population", #"{"entity":"city","sort":["-population"]}"#),
      (
        "window", "city?sort=name&limit=4&offset=2",
        #"{"entity":"city","sort":["name"],"limit":4,"offset":2}"#
      ),
      (
        "sections", "city?section=country.name&sort=-population",
        #"{"entity":"city","section":"country.name","sort":["-population"]}"#
      ),
    ]
    let events = try open(
      file, wanted.map { "\"\($0.0)\":\($0.2)" }.joined(separator: ","))
    var held: [String: ResultSnapshot] = [:]
    for event in events.next(3) { held[event.name ?? ""] = ResultSnapshot(json: event.json) }
    for round in 0..<40 {
      let id = Int.random(in: 1...30, using: &random)
      try file.runExternally(
        "UPDATE city SET population = \(Int.random(in: 0...20, using: &random)) WHERE id = \(id)")
      if round % 7 == 0 { try file.runExternally("DELETE FROM city WHERE id = \(id)") }
      guard Bool.random(using: &random) else { continue }
      for (name, target, _) in wanted {
        let fresh = try #require(ResultSnapshot(json: file.ask("/v1/objects/\(target)").json))
        // No time limit that a busy machine breaks: diffs are applied until the result is the present one.
        while held[name]?.sections != fresh.sections, let event = events.next(seconds: 30),
          let other = event.name
        {
          try held[other]?.apply(#require(Diff(json: event.json)))
        }
        #expect(held[name]?.sections == fresh.sections, "round \(round), \(name)")
      }
    }
  }
}
