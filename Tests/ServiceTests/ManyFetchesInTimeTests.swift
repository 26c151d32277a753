// `/v1/live` with fetches that together take longer than one query may.

import FetchModel
import Foundation
import SQLiteStore
import Service
import TestSupport
import Testing

@Suite("Many fetches are answered in parts if there is no time for all", .mayBlock)
struct ManyFetchesInTimeTests {
  /// `owner` has a link from each of `size` things, without an index on the link: counting the links
  /// of every owner takes `size` squared steps.
  private static func fixture(size: Int) -> String {
    """
    CREATE TABLE owner(id INTEGER PRIMARY KEY, v INTEGER);
    CREATE TABLE thing(id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES owner(id));
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(size))
      INSERT INTO owner SELECT i, i FROM n;
    INSERT INTO thing SELECT id, 1 + id * 7 % \(size) FROM owner;
    """
  }

  private static func file(size: Int, limit: Double) throws -> ServedFile {
    var options = SQLiteStoreOptions()
    options.queryTimeout = limit
    return try ServedFile(fixture(size: size), options: options)
  }

  private static func ask(
    _ file: ServedFile, _ fetches: [(name: String, members: String, since: String?)],
    wait: Int = 0
  ) throws -> Answer {
    let members = fetches.map { fetch in
      let since = fetch.since.map { ",\"since\":\"\($0)\"" } ?? ""
      return "\"\(fetch.name)\":{\(fetch.members)\(since)}"
    }
    let body = "{\"fetches\":{\(members.joined(separator: ","))},\"wait\":\(wait)}"
    return try file.ask("POST", "/v1/live", body: body)
  }

  private static let first = #""entity":"owner","where":"v < 3","select":["v"]"#
  private static let second = #""entity":"owner","where":"v < 2","as":"count""#
  private static let endless = #""entity":"owner","where":"thing.@count == 1","as":"count""#

  @Test func anAnswerContainsFinishedFetchesAndTheOthersAreRequestedAgain() throws {
    let file = try Self.file(size: 30_000, limit: 2.5)
    let answer = try Self.ask(
      file, [("a", Self.first, nil), ("b", Self.endless, nil), ("c", Self.second, nil)])
    let token = try #require(answer.json["token"]?.string)
    #expect(
      answer.text == """
        {"token":"\(token)","results":{"a":{"entity":"owner","token":"\(token)","count":2,\
        "sections":[{"name":"","value":null,"indexTitle":"","items":\
        [{"id":1,"v":1},{"id":2,"v":2}]}]}}}
        """)
    let rest = try Self.ask(file, [("a", Self.first, token), ("c", Self.second, nil)])
    #expect(
      rest.text == """
        {"token":"\(token)","results":{"c":{"entity":"owner","token":"\(token)","total":1}}}
        """)
  }

  @Test func ifNoFetchFinishesTheCallFailsAndNamesTheFetch() throws {
    let file = try Self.file(size: 30_000, limit: 0.5)
    let token = try #require(file.ask("/v1").json["token"]?.string)
    for since in [nil, token] {
      let answer = try Self.ask(
        file, [("b", Self.endless, nil), ("a", Self.first, since)])
      #expect(answer.status == 504)
      #expect(answer.code == "query-timeout")
      #expect(answer.json["fetch"]?.string == "b")
    }
  }

  /// The time that one fetch takes on this machine now, in seconds; at least 10 ms.
  private static func secondsOfOne() throws -> Double {
    let file = try Self.file(size: 1_000, limit: 600)
    let start = ContinuousClock.now
    let predicate = "thing.@count+%3D%3D+1+AND+v+%3E+0"
    _ = try file.ask("/v1/objects/owner?as=count&where=\(predicate)")
    return max(0.01, (ContinuousClock.now - start) / .seconds(1))
  }

  @Test func requestingTheRestAgainReturnsAllFetches() throws {
    let file = try Self.file(size: 1_000, limit: 6 * Self.secondsOfOne())
    var tokens = [String?](repeating: nil, count: 60)
    var totals = [Int](repeating: 0, count: 60)
    var rounds = 0
    while tokens.contains(nil), rounds < 1_000 {
      rounds += 1
      let answer = try Self.ask(
        file,
        tokens.enumerated().map { index, token in
          (
            "f\(index)",
            #""entity":"owner","where":"thing.@count == 1 AND v > \#(index)","as":"count""#, token
          )
        })
      // A busy machine may not finish a single fetch in time.
      if answer.status == 504 { continue }
      try #require(answer.status == 200, "\(answer.text)")
      let all = try #require(answer.json["token"]?.string)
      for index in tokens.indices {
        if let result = answer.json["results"]?["f\(index)"] {
          totals[index] = Int(try #require(result["total"]?.integer))
          tokens[index] = all
        } else if tokens[index] != nil {
          tokens[index] = all
        }
      }
    }
    #expect(totals == (0..<60).map { 1_000 - $0 })
    #expect(rounds > 1)
  }

  /// A fetch with a token that the response does not name would count as unchanged.
  @Test func aResumedFetchThatRunsOutOfTimeExpires() throws {
    let file = try Self.file(size: 30_000, limit: 2.5)
    let token = try #require(file.ask("/v1").json["token"]?.string)
    try file.runExternally(
      "UPDATE owner SET v = 0 WHERE id = 9; UPDATE thing SET owner_id = 2 WHERE id = 9")
    let answer = try Self.ask(
      file,
      [
        ("a", Self.first, token), ("b", Self.endless, token), ("c", Self.second, nil),
      ])
    #expect(answer.status == 200)
    let results = answer.json["results"]
    #expect(results?["a"]?["from"]?.string == token)
    #expect(results?["a"]?["to"]?.string == answer.json["token"]?.string)
    #expect(results?["b"]?["code"]?.string == "token-expired")
    #expect(results?["b"]?["status"]?.integer == 410)
    #expect(results?["c"]?["total"]?.integer == 2)
  }

  /// Each of the endless fetches has a time limit that is longer than the test waits.
  @Test(arguments: [0, 60])
  func resumedFetchesTogetherTakeNoLongerThanOneQueryMay(wait: Int) throws {
    var configuration = ServiceConfiguration()
    configuration.queryTimeout = 3
    let file = try ServedFile(Self.fixture(size: 100_000), configuration: configuration)
    let token = try #require(file.ask("/v1").json["token"]?.string)
    try file.runExternally(
      "UPDATE owner SET v = 0 WHERE id = 9; UPDATE thing SET owner_id = 2 WHERE id = 9")
    try file.settle()
    var fetches: [(name: String, members: String, since: String?)] = [("a", Self.first, token)]
    for number in 1...5 {
      let members = #""entity":"owner","where":"thing.@count >= \#(number)","as":"count""#
      fetches.append(("b\(number)", members, token))
    }
    let answer = try Self.ask(file, fetches, wait: wait)
    #expect(answer.status == 200, "\(answer.text)")
    let results = answer.json["results"]
    #expect(results?["a"]?["from"]?.string == token)
    #expect(results?["a"]?["to"]?.string == answer.json["token"]?.string)
    for fetch in fetches.dropFirst() {
      #expect(results?[fetch.name]?["code"]?.string == "token-expired")
      #expect(results?[fetch.name]?["status"]?.integer == 410)
    }
  }

  /// The time limit of the endless fetch is longer than the test waits.
  @Test func anEndlessFetchDelaysNoDiffOfOtherClients() throws {
    let file = try Self.file(size: 100_000, limit: 600)
    let token = try #require(file.ask("/v1").json["token"]?.string)
    let heavy = file.begin(
      "POST", "/v1/live",
      body: "{\"fetches\":{\"b\":{\(Self.endless),\"since\":\"\(token)\"}},\"wait\":25}")
    try awaitWaitingFetches(1) { try file.ask($0) }
    let other = file.begin("GET", "/v1/objects/owner?where=v+%3C+3&as=count&since=\(token)&wait=60")
    _ = try file.ask("PATCH", "/v1/objects/owner/1", body: #"{"v":50}"#)
    let answer = try #require(other.wait())
    #expect(answer.json["from"]?.string == token)
    #expect(answer.json["total"]?.integer == 1)
    #expect(!heavy.isThere)
  }

  /// All together take longer than the time limit of one. On a busy machine one may, too: then its
  /// place in the stream has its problem.
  @Test func aStreamSendsThemAsTheyFinish() throws {
    let file = try Self.file(size: 1_000, limit: 1.2)
    let fetches = (0..<200).map {
      #""f\#($0)":{"entity":"owner","where":"thing.@count == 1 AND v > \#($0)","as":"count"}"#
    }
    let pending = file.begin(
      "POST", "/v1/live", body: "{\"fetches\":{\(fetches.joined(separator: ","))}}",
      headers: [(name: "Accept", value: "text/event-stream")])
    _ = pending.wait()
    let events = EventReader(try #require(pending.stream)).next(200)
    #expect(events.count == 200)
    for (number, event) in events.enumerated() {
      #expect(event.json["name"]?.string == "f\(number)")
      if event.kind == "error" {
        #expect(event.json["code"]?.string == "query-timeout")
      } else {
        #expect(event.kind == "snapshot")
        #expect(event.json["total"]?.integer == Int64(1_000 - number))
      }
    }
    let last = try #require(events.last { $0.kind == "snapshot" })
    if last == events.last { #expect(last.id == last.json["token"]?.string) }
  }
}
