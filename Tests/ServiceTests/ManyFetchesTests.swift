// `/v1/live`: many fetches in one request.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import SQLiteStore
import Service
import Synchronization
import TestSupport
import Testing

@Suite("Many fetches share one long-poll or one stream", .mayBlock)
struct ManyFetchesTests {
  private static func body(_ fetches: String, wait: Double? = 0) -> String {
    let wait = wait.map { ",\"wait\":\($0)" } ?? ""
    return "{\"fetches\":{\(fetches)}\(wait)}"
  }

  private static let both = """
    "a":{"entity":"city","sort":["-population"],"select":["name"]},"b":{"entity":"country","as":"count"}
    """

  private static func since(_ token: String) -> String {
    """
    "a":{"entity":"city","sort":["-population"],"select":["name"],"since":"\(token)"},\
    "b":{"entity":"country","as":"count","since":"\(token)"}
    """
  }

  private func token(_ answer: Answer) throws -> String {
    try #require(answer.json["token"]?.string, "\(answer.text)")
  }

  @Test func aCallWithoutTokensGivesASnapshotUnderEachName() throws {
    let file = try ServedFile(contractFixture)
    let answer = try file.ask("POST", "/v1/live", body: Self.body(Self.both))
    let token = try token(answer)
    let single = try file.ask("/v1/objects/city?sort=-population&select=name").text
    #expect(
      answer.text == """
        {"token":"\(token)","results":{"a":\(single),\
        "b":{"entity":"country","token":"\(token)","total":2}}}
        """)
    #expect(answer["Cache-Control"] == "no-store")
  }

  /// For files: over PostgreSQL a busy machine moves fetches to background threads, which do not count.
  @Test(.onlyForFiles) func everyFetchThatWaitsIsConsideredAndCountedWithEachSave() throws {
    let file = try ServedFile(contractFixture)
    var tokens = [String](repeating: "now", count: 4)
    for round in 1...5 {
      let before = try Self.counters(file)
      let polls = tokens.indices.map { client in
        let fetches = (0..<25).map { number in
          """
          "f\(number)":{"entity":"city","where":"id != \(-1 - 25 * client - number)",\
          "since":"\(tokens[client])"}
          """
        }
        let body = Self.body(fetches.joined(separator: ","), wait: 60)
        return file.begin("POST", "/v1/live", body: body)
      }
      try awaitWaitingFetches(100) { try file.ask($0) }
      _ = try file.ask(
        "PATCH", "/v1/objects/city/1", body: "{\"population\":\(100 + round)}")
      for (client, poll) in polls.enumerated() {
        let answer = try #require(poll.wait())
        tokens[client] = try token(answer)
        #expect(answer.text.matches(of: /"updated":\[\{/).count == 25, "round \(round)")
      }
      let after = try Self.counters(file)
      for name in ["considered_total", "changed_total"] {
        #expect(after[name, default: 0] - before[name, default: 0] == 100, "\(name), \(round)")
      }
    }
  }

  /// The engine's counters.
  private static func counters(_ file: ServedFile) throws -> [String: Double] {
    var counters: [String: Double] = [:]
    for sample in try MetricsText(file.ask("/metrics").text).samples
    where sample.name.hasPrefix("livefetch_live_") {
      counters[String(sample.name.dropFirst("livefetch_live_".count))] = sample.value
    }
    return counters
  }

  @Test func aWaitEndsWithOnlyTheDiffOfTheChangedFetch() throws {
    let file = try ServedFile(contractFixture)
    let first = try token(file.ask("POST", "/v1/live", body: Self.body(Self.both)))
    let pending = file.begin("POST", "/v1/live", body: Self.body(Self.since(first), wait: 60))
    try awaitWaitingFetches(2) { try file.ask($0) }
    #expect(!pending.isThere)
    try file.runExternally("UPDATE city SET population = 30 WHERE id = 3")
    let answer = try #require(pending.wait())
    let second = try token(answer)
    #expect(answer.json["results"]?["b"] == nil)
    let diff = answer.json["results"]?["a"]
    #expect(diff?["from"]?.string == first)
    #expect(diff?["to"]?.string == second)
    #expect(answer.text.contains(#""moved":[{"from":[0,2],"to":[0,0],"id":3,"changed":{}}]"#))
  }

  @Test func oneTokenHoldsForAllAndNothingIsLostBetweenCalls() throws {
    let file = try ServedFile(contractFixture)
    var token = try token(file.ask("POST", "/v1/live", body: Self.body(Self.both)))
    for round in 0..<20 {
      try file.runExternally(
        "BEGIN; INSERT INTO country(name) VALUES ('n\(round)'); "
          + "UPDATE city SET name = 'm\(round)' WHERE id = 1; COMMIT")
      let answer = try file.ask(
        "POST", "/v1/live", body: Self.body(Self.since(token), wait: 60))
      token = try self.token(answer)
      #expect(answer.text.contains("\"total\":\(3 + round)"))
      #expect(answer.text.contains("\"changed\":{\"name\":\"m\(round)\"}"))
    }
  }

  @Test(.onlyForFiles) func aWaitThatTimesOutReturnsOnlyTheToken() throws {
    let file = try ServedFile(contractFixture)
    let first = try token(file.ask("POST", "/v1/live", body: Self.body(Self.both)))
    let answer = try file.ask("POST", "/v1/live", body: Self.body(Self.since(first), wait: 0.1))
    #expect(answer.text == #"{"token":"\#(first)","results":{}}"#)
  }

  @Test func aNewFetchOfTheSetIsASnapshotWithTheDiffsOfTheOthers() throws {
    let file = try ServedFile(contractFixture)
    let first = try token(file.ask("POST", "/v1/live", body: Self.body(Self.both)))
    try file.runExternally("UPDATE city SET name = 'x' WHERE id = 1")
    let fetches = Self.since(first) + #","c":{"entity":"city","as":"ids"}"#
    let answer = try file.ask("POST", "/v1/live", body: Self.body(fetches, wait: 60))
    let token = try token(answer)
    #expect(answer.json["results"]?["a"]?["to"]?.string == token)
    #expect(answer.json["results"]?["b"] == nil)
    #expect(answer.json["results"]?["c"]?["token"]?.string == token)
  }

  @Test(.onlyForFiles) func aTokenThatCannotBeContinuedGivesASnapshotUnderItsName() throws {
    let file = try ServedFile(contractFixture)
    let first = try token(file.ask("POST", "/v1/live", body: Self.body(Self.both)))
    let fetches = """
      "a":{"entity":"city","as":"count","since":"k3-1-00000000"},\
      "b":{"entity":"country","as":"count","since":"\(first)"}
      """
    let answer = try file.ask("POST", "/v1/live", body: Self.body(fetches, wait: 5))
    #expect(
      answer.text
        == #"{"token":"\#(first)","results":{"a":{"entity":"city","token":"\#(first)","total":3}}}"#
    )
  }

  @Test func aFetchThatCannotBeFollowedHasASnapshot() throws {
    var options = SQLiteStoreOptions()
    options.isReadOnly = true
    let file = try ServedFile(contractFixture, options: options)
    let fetches = #""a":{"entity":"city","as":"count"},"b":{"entity":"big","as":"ids"}"#
    let answer = try file.ask("POST", "/v1/live", body: Self.body(fetches))
    #expect(answer.status == 200, "\(answer.text)")
    #expect(answer.json["results"]?["a"]?["total"]?.integer == 3)
    #expect(answer.json["results"]?["b"]?["sections"] != nil)
    let since = #""a":{"entity":"city","as":"count"},"b":{"entity":"city","since":"now"}"#
    let refused = try file.ask("POST", "/v1/live", body: Self.body(since))
    #expect(refused.code == "not-observable")
    #expect(refused.json["fetch"]?.string == "b")
    let stream = try file.ask(
      "POST", "/v1/live", body: Self.body(fetches), headers: [("Accept", "text/event-stream")])
    #expect(stream.code == "not-observable")
  }

  static let refusals: [(fetches: String, code: String, name: String?)] = [
    (#""a":{"entity":"city"},"b":{"entity":"town"}"#, "unknown-entity", "b"),
    (#""a":{"entity":"city"},"b":{"entity":"city","where":"x =="}"#, "syntax-error", "b"),
    (#""b":{"entity":"city","since":"zz"}"#, "bad-token", "b"),
    (#""b":{"entity":"city","wait":3}"#, "bad-parameter", "b"),
    (#""b":{"entity":"city","colour":3}"#, "unknown-parameter", "b"),
    (#""b":{"entity":"big","since":"now"}"#, "not-observable", "b"),
    (#""b":7"#, "bad-parameter", "b"),
    (#""":{"entity":"city"}"#, "bad-parameter", ""),
    ("", "bad-parameter", nil),
  ]

  @Test(arguments: refusals)
  func oneBadFetchRefusesTheCallAndIsNamed(
    _ refusal: (fetches: String, code: String, name: String?)
  ) throws {
    let file = try ServedFile(contractFixture)
    for headers in [[], [(name: "Accept", value: "text/event-stream")]] {
      let answer = try file.ask(
        "POST", "/v1/live", body: Self.body(refusal.fetches), headers: headers)
      #expect(answer.status == 400)
      #expect(answer.code == refusal.code)
      #expect(answer.json["fetch"]?.string == refusal.name)
    }
  }

  @Test func aThousandFetchesAreTakenAndNoMore() throws {
    let file = try ServedFile(contractFixture)
    let fetches = (0..<1000).map {
      "\"f\($0)\":{\"entity\":\"city\",\"where\":\"population > \($0)\",\"since\":\"now\"}"
    }
    let pending = file.begin(
      "POST", "/v1/live", body: Self.body(fetches.joined(separator: ","), wait: 60))
    try awaitWaitingFetches(1_000) { try file.ask($0) }
    try file.runExternally("UPDATE city SET population = 500 WHERE id = 3")
    let answer = try #require(pending.wait())
    guard case .object(let results)? = answer.json["results"] else {
      Issue.record("\(answer.text.prefix(200))")
      return
    }
    // Those up to 499 report an insertion. A busy machine may send snapshots instead, also of windows that
    // have not changed, but no diffs of them.
    let inserting = (0..<500).allSatisfy { index in results.contains { $0.name == "f\(index)" } }
    #expect(inserting)
    let diffs = results.filter { $0.value["from"] != nil }
    #expect(diffs.allSatisfy { (Int($0.name.dropFirst()) ?? 500) < 500 })
    let tooMany = fetches + ["\"g\":{\"entity\":\"city\"}"]
    let refused = try file.ask(
      "POST", "/v1/live", body: Self.body(tooMany.joined(separator: ",")))
    #expect(refused.code == "too-many-fetches")
  }

  @Test func manyFetchesTogetherMayNotMakeAnAnswerOfAnySize() throws {
    var configuration = ServiceConfiguration()
    configuration.maxResponseBytes = 300
    let file = try ServedFile(contractFixture, configuration: configuration)
    let fetches = (0..<5).map { "\"f\($0)\":{\"entity\":\"city\"}" }.joined(separator: ",")
    let answer = try file.ask("POST", "/v1/live", body: Self.body(fetches))
    #expect(answer.status == 400)
    #expect(answer.code == "answer-too-large")
    #expect(answer.json["fetch"]?.string == "f1")
  }

  static let watched = [
    ("all", #""entity":"city","sort":["-population"]"#),
    ("window", #""entity":"city","sort":["name"],"limit":4,"offset":2"#),
    ("sections", #""entity":"city","section":"country.name","sort":["-population"]"#),
    ("tags", #""entity":"tag","select":["word","city"]"#),
  ]

  /// The token of each response is used for all fetches, also for those that it does not contain, and
  /// now and then a fetch leaves the set and comes back without a token.
  @Test(arguments: [5, 6] as [UInt64])
  func oneTokenForAllLosesNothingWhileOthersSave(seed: UInt64) throws {
    let file = try ServedFile(PromiseTests.keyedFixture)
    var random = SeededRandom(seed: seed)
    let isOver = Atomic(false)
    let writes = Atomic(0)
    let hasEnded = DispatchSemaphore(value: 0)
    // Until it has ended, no other thread runs statements.
    nonisolated(unsafe) let writer = file
    let change: @Sendable (inout SeededRandom) -> String =
      TestedStore.isPostgres ? PostgresServiceTests.change : PromiseTests.change
    defer { isOver.store(true, ordering: .relaxed) }
    Thread {
      var random = SeededRandom(seed: seed + 100)
      while !isOver.load(ordering: .relaxed) {
        // Some statements violate a constraint.
        if (try? writer.runExternally(change(&random))) != nil { writes.add(1, ordering: .relaxed) }
        Thread.sleep(forTimeInterval: 0.003)
      }
      hasEnded.signal()
    }.start()
    var held: [String: ResultSnapshot] = [:]
    var token = ""
    for round in 0...80 {
      if round == 80 {
        isOver.store(true, ordering: .relaxed)
        hasEnded.wait()
        try file.settle()
      }
      if Int.random(in: 0..<6, using: &random) == 0 {
        held[Self.watched.randomElement(using: &random)!.0] = nil
      }
      let fetches = Self.watched.map { name, members in
        let since = held[name] == nil ? "" : ",\"since\":\"\(token)\""
        return "\"\(name)\":{\(members)\(since)}"
      }
      let answer = try file.ask(
        "POST", "/v1/live",
        body: Self.body(fetches.joined(separator: ","), wait: round == 80 ? 0 : 0.2))
      token = try self.token(answer)
      for (name, _) in Self.watched {
        guard let result = answer.json["results"]?[name] else { continue }
        if let snapshot = ResultSnapshot(json: result) {
          held[name] = snapshot
        } else {
          var diff = try #require(Diff(json: result))
          // For a fetch that the response does not name, the client continues with the response's token.
          diff.from = try #require(held[name]).token
          try held[name]?.apply(diff)
        }
      }
    }
    for (name, members) in Self.watched {
      let fresh = try file.ask("POST", "/v1/fetch", body: "{\(members)}")
      let snapshot = try #require(ResultSnapshot(json: fresh.json))
      #expect(held[name]?.sections == snapshot.sections, "seed \(seed), \(name)")
    }
    #expect(writes.load(ordering: .relaxed) > 10)
  }

  @Test func aServerThatEndsAnswersEveryWaiter() throws {
    let file = try ServedFile(contractFixture)
    let pending = file.begin(
      "POST", "/v1/live", body: Self.body(#""a":{"entity":"city","since":"now"}"#, wait: 60))
    try awaitWaitingFetches(1) { try file.ask($0) }
    file.stop()
    let answer = try #require(pending.wait())
    #expect(answer.status == 200)
    #expect(answer.text.hasSuffix(#""results":{}}"#))
  }
}
