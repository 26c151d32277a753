// Tokens of states that no live result has seen: a value changes and changes back, and a client has read
// the state between.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("States between two changes that cancel each other", .mayBlock)
struct StatesBetweenTests {
  private static let fixture = """
    CREATE TABLE kind(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE q(id INTEGER PRIMARY KEY, v INTEGER, kind INTEGER REFERENCES kind(id));
    INSERT INTO kind VALUES (1, 'a'), (2, 'b'); INSERT INTO q VALUES (1, 1, 1), (2, 2, 2);
    """

  private static let targets = [
    "q?sort=id", "q?where=v%3E3", "q?as=ids&sort=-v&limit=1", "q?section=v",
    "q?as=count&where=v%3E3", "q?as=dictionaries&select=v,n:@count&group=v",
    "kind?where=ANY%20q.v%3E3", "q?expand=kind&where=kind.name!=%27b%27",
  ]

  /// Expects that the diff from `token` leads from `held`, the result at `token`, to the present one.
  private static func expectDiff(
    _ file: ServedFile, _ target: String, from held: JSON
  ) throws {
    let token = try #require(held["token"]?.string)
    let path = "/v1/objects/\(target)"
    let diff = try file.ask("\(path)&since=\(token)&wait=0").json
    let fresh = try file.ask(path).json
    if target.contains("as=count") || target.contains("as=dictionaries") {
      for name in ["total", "count", "sections"] {
        #expect(diff[name] ?? held[name] == fresh[name], "\(target): \(diff)")
      }
      return
    }
    var snapshot = try #require(ResultSnapshot(json: held))
    try snapshot.apply(try #require(Diff(json: diff), "\(target): \(diff)"))
    let current = try #require(ResultSnapshot(json: fresh))
    #expect(snapshot.sections == current.sections, "\(target): \(diff)")
  }

  @Test("A client that read the state between gets the second change", arguments: targets)
  func readBetween(_ target: String) throws {
    let file = try ServedFile(Self.fixture)
    let path = "/v1/objects/\(target)"
    for _ in 0..<3 {
      let first = try file.ask("\(path)&since=now&wait=0").json
      let start = try #require(first["to"]?.string)
      try file.runExternally("UPDATE q SET v = 5 WHERE id = 1; UPDATE kind SET name = 'c'")
      try file.settle()
      let between = try file.ask(path).json
      try file.runExternally(
        "UPDATE q SET v = 1 WHERE id = 1; UPDATE kind SET name = CASE id WHEN 1 THEN 'a' ELSE 'b' END"
      )
      try file.settle()
      _ = try file.ask("\(path)&since=\(start)&wait=0")
      try Self.expectDiff(file, target, from: between)
    }
  }

  @Test("One object reports the second change to a client that read the state between")
  func oneObject() throws {
    let file = try ServedFile(Self.fixture)
    let path = "/v1/objects/q/1"
    let start = try #require(file.ask("\(path)?since=now&wait=0").json["to"]?.string)
    let saved = try file.ask("PATCH", path, body: #"{"v":5}"#)
    let between = try #require(saved["LiveFetch-Token"])
    _ = try file.ask("PATCH", path, body: #"{"v":1}"#)
    _ = try file.ask("\(path)?since=\(start)&wait=0")
    let diff = try file.ask("\(path)?since=\(between)&wait=0")
    #expect(diff.json["changed"]?["v"]?.integer == 1, "\(diff.text)")
  }

  @Test("So it is while others wait, and the engine passes the state between")
  func whileOthersWait() throws {
    let file = try ServedFile(Self.fixture)
    let path = "/v1/objects/q?where=v%3E3"
    for round in 0..<40 {
      let waiting = file.begin("GET", "\(path)&since=now&wait=1")
      let first = file.begin("PATCH", "/v1/objects/q/1", body: #"{"v":5}"#)
      let saved = try #require(first.wait())
      let token = try #require(saved["LiveFetch-Token"])
      _ = try #require(file.begin("PATCH", "/v1/objects/q/1", body: #"{"v":1}"#).wait())
      let diff = try file.ask("\(path)&since=\(token)&wait=0")
      #expect(
        diff.text.contains(#""deleted":[{"from":[0,0],"id":1}]"#), "round \(round): \(diff.text)")
      if round % 10 == 0 { _ = waiting.wait() }
    }
  }
}
