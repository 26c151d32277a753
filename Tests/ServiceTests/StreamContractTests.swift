// The events of streams and of `/v1/changes`.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import Service
import TestSupport
import Testing

@Suite("Streams and changes", .mayBlock)
struct StreamContractTests {
  /// The text of a stream until it contains `end`.
  private func text(_ stream: HTTPStream, until end: String) throws -> String {
    var bytes: [UInt8] = []
    let deadline = Date(timeIntervalSinceNow: 300)
    while Date() < deadline {
      switch stream.next() {
      case .bytes(let more): bytes += more
      case .wait: Thread.sleep(forTimeInterval: 0.01)
      case .end: return String(decoding: bytes, as: UTF8.self)
      }
      let text = String(decoding: bytes, as: UTF8.self)
      if text.contains(end) { return text }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(
    "A client that does not take streams, or prefers JSON, gets none",
    arguments: [
      "text/event-stream;q=0, application/json", "application/json, text/event-stream; q=0.0",
      "application/json, text/event-stream;q=0.5",
    ])
  func refusedStream(accept: String) throws {
    let answer = try ServedFile(contractFixture).ask(
      "GET", "/v1/objects/city?as=count", headers: [("Accept", accept)])
    #expect(answer.status == 200 && answer["Content-Type"] == "application/json")
  }

  @Test("Accept may stand on several lines")
  func linesOfAccept() throws {
    let file = try ServedFile(contractFixture)
    let pending = file.begin(
      "GET", "/v1/objects/city?as=count",
      headers: [("Accept", "application/json;q=0.5"), ("Accept", "text/event-stream")])
    let answer = try #require(pending.wait())
    #expect(answer["Content-Type"]?.hasPrefix("text/event-stream") == true)
    file.stop()
  }

  @Test func aStreamSendsASnapshotThenDiffsAndCommentsBetween() throws {
    var configuration = ServiceConfiguration()
    configuration.heartbeat = 0.2
    let file = try ServedFile(contractFixture, configuration: configuration)
    let pending = file.begin(
      "GET", "/v1/objects/city?as=ids", headers: [("Accept", "text/event-stream")])
    let answer = try #require(pending.wait())
    #expect(answer["Content-Type"]?.hasPrefix("text/event-stream") == true)
    #expect(answer["Cache-Control"] == "no-store")
    let stream = try #require(pending.stream)
    let first = try text(stream, until: "\"items\"")
    #expect(first.contains("retry: 2000"))
    #expect(first.contains("event: snapshot\n"))
    #expect(first.contains("\nid: "))
    #expect(try text(stream, until: "\n:").contains(":"))
    #expect(try file.ask("DELETE", "/v1/objects/city/3").status == 204)
    let second = try text(stream, until: "event: diff")
    #expect(second.contains("event: diff\n"), "\(second)")
  }

  @Test(
    "A stream that begins now has an id at once, from which a reconnecting client goes on",
    arguments: ["/v1/objects/city?since=now", "/v1/changes", "/v1/changes?since=now"])
  func idOfNow(path: String) throws {
    let file = try ServedFile(contractFixture)
    let pending = file.begin("GET", path, headers: [("Accept", "text/event-stream")])
    _ = try #require(pending.wait())
    let first = try text(try #require(pending.stream), until: "\n\n")
    let id = try #require(first.firstMatch(of: /^retry: 2000\nid: (.+)\n\n$/)?.1, "\(first)")
    #expect(try file.ask("DELETE", "/v1/objects/city/3").status == 204)
    let again = file.begin(
      "GET", path, headers: [("Accept", "text/event-stream"), ("Last-Event-ID", String(id))])
    _ = try #require(again.wait())
    let diff = try text(try #require(again.stream), until: "event: diff")
    #expect(diff.contains("event: diff\n"), "\(diff)")
  }

  @Test("line breaks within a stored JSON value do not end the line of an event")
  func lineBreaks() throws {
    let file = try ServedFile(
      """
      CREATE TABLE note(id INTEGER PRIMARY KEY, content JSON);
      INSERT INTO note VALUES (1, '{' || char(13, 10) || '"a":1}');
      """)
    let pending = file.begin(
      "GET", "/v1/objects/note", headers: [("Accept", "text/event-stream")])
    _ = try #require(pending.wait())
    let stream = try #require(pending.stream)
    let event = try text(stream, until: "]}]}\n\n")
    #expect(event.contains(#""items":[{"id":1,"content":{  "a":1}}]}]}"#), "\(event)")
  }

  @Test func changesListTheObjectsOfEachSave() throws {
    let file = try ServedFile(contractFixture)
    let token = try #require(file.ask("/v1").json["token"]?.string)
    let save = #"""
      {"changes":[{"insert":"country","temporaryID":"c","values":{"name":"New"}},
        {"update":"city","id":1,"values":{"country":{"temporaryID":"c"},"population":77}},
        {"delete":"city","id":3}]}
      """#
    #expect(try file.ask("POST", "/v1/save", body: save).status == 200)
    #expect(
      try file.ask("PATCH", "/v1/objects/city?where=id==2", body: #"{"population":5}"#).status
        == 200)
    let answer = try file.ask("/v1/changes?since=\(token)&wait=0")
    #expect(answer.json["saves"]?.elements?.count == 2, "\(answer.text)")
    let inserted = #""inserted":{"country":[3]}"#
    // The side with the foreign key lists its property; the inverse is not listed.
    let updated = #""updated":{"city":[{"id":1,"properties":["#
    #expect(answer.text.contains(inserted) && answer.text.contains(updated), "\(answer.text)")
    #expect(!answer.text.contains(#""updated":{"country""#))
    #expect(answer.text.contains(#""deleted":{"city":[3]}"#))
    #expect(answer.text.contains(#"{"id":2,"properties":["population"]}"#))
    let one = try file.ask("/v1/changes?since=\(token)&wait=0&limit=1")
    let next = try #require(one.json["to"]?.string)
    let rest = try file.ask("/v1/changes?since=\(next)&wait=0")
    #expect(rest.text.contains(#"{"id":2,"properties":["population"]}"#))
    #expect(!rest.text.contains(inserted))
  }

  @Test func changesWaitForASave() throws {
    let file = try ServedFile(contractFixture)
    let waiting = file.begin("GET", "/v1/changes?since=now&wait=60")
    Thread.sleep(forTimeInterval: 0.2)
    #expect(!waiting.isThere)
    try file.runExternally("DELETE FROM city WHERE id = 3")
    let answer = try #require(waiting.wait())
    #expect(answer.text.contains(#""deleted":{"city":[3]}"#), "\(answer.text)")
  }

  @Test("A stream of changes has each save once while others save")
  func changesAreStreamedOnce() throws {
    let file = try ServedFile(contractFixture)
    let start = try #require(file.ask("/v1").json["token"]?.string)
    let pending = file.begin(
      "GET", "/v1/changes?since=\(start)", headers: [("Accept", "text/event-stream")])
    _ = try #require(pending.wait())
    let stream = try #require(pending.stream)
    let saves = 300
    var begun: [Pending] = []
    var text = ""
    var count = 0
    var tokens: [String] = []
    let deadline = Date(timeIntervalSinceNow: 300)
    while tokens.count < saves, Date() < deadline {
      begun.removeAll(where: \.isThere)
      while begun.count < 2, count < saves {
        count += 1
        let change = #"{"population":\#(1_000 + count)}"#
        begun.append(file.begin("PATCH", "/v1/objects/city/\(1 + count % 2)", body: change))
      }
      guard case .bytes(let more) = stream.next() else {
        Thread.sleep(forTimeInterval: 0.0002)
        continue
      }
      text += String(decoding: more, as: UTF8.self)
      while let end = text.range(of: "\n\n") {
        let event = text[..<end.lowerBound]
        text = String(text[end.upperBound...])
        guard let data = event.range(of: "data: ") else { continue }
        let diff = try JSON(parsing: Array(event[data.upperBound...].utf8))
        tokens += (diff["saves"]?.elements ?? []).compactMap { $0["token"]?.string }
      }
    }
    #expect(tokens.count == saves && Set(tokens).count == saves)
  }

  /// SQLite records the first statement's rows, PostgreSQL those of the second.
  private static let changesNothing = """
    INSERT INTO city(id, name) SELECT id, name FROM city WHERE id < 3
    ON CONFLICT(id) DO UPDATE SET name = excluded.name WHERE false; UPDATE city SET name = name;
    """

  @Test func savesThatChangeNothingAreNotListedAndWakeNobody() throws {
    let file = try ServedFile(contractFixture)
    let start = try #require(file.ask("/v1").json["token"]?.string)
    let stream = file.begin(
      "GET", "/v1/changes?since=\(start)", headers: [("Accept", "text/event-stream")])
    let waiting = file.begin("GET", "/v1/changes?since=\(start)&wait=60")
    try file.runExternally(Self.changesNothing)
    try file.settle()
    let none = try file.ask("/v1/changes?since=\(start)&wait=0")
    #expect(none.json["from"]?.string == start)
    #expect(none.text.hasSuffix(#""saves":[]}"#), "\(none.text)")
    let afterwards = try #require(none.json["to"]?.string)
    #expect(afterwards != start)
    let change = #"{"population":5}"#
    #expect(try file.ask("PATCH", "/v1/objects/city/2", body: change).status == 200)
    let first = try #require(waiting.wait())
    try file.runExternally(Self.changesNothing)
    try file.settle()
    #expect(try file.ask("DELETE", "/v1/objects/city/3").status == 204)
    #expect(first.json["from"]?.string == start)
    #expect(first.text.components(separatedBy: #""token""#).count == 2, "\(first.text)")
    #expect(first.text.contains(#"{"id":2,"properties":["population"]}"#), "\(first.text)")
    let both = try file.ask("/v1/changes?since=\(start)&wait=0&limit=2")
    #expect(both.text.components(separatedBy: #""token""#).count == 3, "\(both.text)")
    #expect(both.text.contains(#""deleted":{"city":[3]}"#), "\(both.text)")
    _ = try #require(stream.wait())
    let event = try text(try #require(stream.stream), until: "]}\n\n")
    #expect(event.contains(#"{"id":2,"properties":["population"]}"#), "\(event)")
  }

  @Test func aBatchIsObservedLikeAnySave() throws {
    let file = try ServedFile(contractFixture)
    let fetch = "/v1/objects/city?as=count"
    let token = try #require(file.ask(fetch).json["token"]?.string)
    let waiting = file.begin("GET", fetch + "&since=\(token)&wait=60")
    #expect(
      try file.ask("DELETE", "/v1/objects/city?where=id%3E1").json["deleted"]?.integer == 2)
    #expect(try #require(waiting.wait()).json["total"]?.integer == 1)
  }

  @Test(.onlyForFiles) func aHistoryOfANewerFormatIsUnchanged() throws {
    let file = try ServedFile(contractFixture)
    file.stop()
    try file.runExternally("UPDATE livefetch_store SET value = 99 WHERE key = 'format'")
    #expect(throws: StoreError.self) { try file.restart() }
    let format = try SQLiteShell.integer(
      "SELECT value FROM livefetch_store WHERE key = 'format'", path: file.path)
    #expect(format == 99)
  }
}
