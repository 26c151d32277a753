// The header `Server-Timing`: the stages of requests.

import FetchModel
import Service
import TestSupport
import Testing

@Suite("Server-Timing", .mayBlock)
struct ServerTimingTests {
  private static func file() throws -> ServedFile {
    var configuration = ServiceConfiguration()
    configuration.sendsServerTiming = true
    return try ServedFile(contractFixture, configuration: configuration)
  }

  /// The stages that the header names, except `wait`, which a busy machine adds to queries.
  private static func stages(_ answer: Answer) throws -> [String] {
    let headers = answer.headers.filter { $0.name == "Server-Timing" }
    #expect(headers.count == 1)
    let entries = try #require(headers.first).value.split(separator: ", ")
    return try entries.map { entry in
      let match = try #require(entry.wholeMatch(of: /([a-z]+);dur=([0-9.]+)/))
      #expect(try #require(Double(match.2)) >= 0)
      return String(match.1)
    }.filter { $0 != "wait" }
  }

  @Test func aFetchNamesEachStageOnceInItsOrder() throws {
    let file = try Self.file()
    let all = ["authenticate", "route", "authorize", "cache", "parse", "plan", "query", "respond"]
    #expect(try Self.stages(file.ask("/v1/objects/city?limit=1")) == all)
    #expect(
      try Self.stages(file.ask("POST", "/v1/fetch", body: #"{"entity":"city"}"#))
        == all.filter { $0 != "cache" })
  }

  @Test func aCachedResponseHasTheStagesOfItsOwnRequest() throws {
    let file = try Self.file()
    let target = "/v1/objects/city?limit=1"
    let stages = ["authenticate", "route", "authorize", "cache"]
    // A response is cached when it is wanted repeatedly, and as long as the store can tell that nothing has
    // changed, which a PostgreSQL store cannot at any moment on a busy machine.
    var answers = [try file.ask(target), try file.ask(target)]
    let isCached = try eventually(within: .seconds(300)) {
      answers.append(try file.ask(target))
      return try Self.stages(answers[answers.count - 1]) == stages
    }
    #expect(isCached)
    #expect(answers.allSatisfy { $0.json["count"] == .number("1") })
  }

  @Test func aSaveAPollAndARefusalNameTheirStages() throws {
    let file = try Self.file()
    let poll = file.begin("GET", "/v1/objects/city?since=now&wait=60")
    let save = try file.ask("POST", "/v1/objects/city", body: #"{"name":"Nowhere"}"#)
    #expect(save.status == 201)
    let all = ["authenticate", "route", "authorize", "parse", "plan", "query", "respond"]
    #expect(try Self.stages(save) == all)
    let diff = try #require(poll.wait())
    #expect(diff.status == 200)
    #expect(
      try Self.stages(diff)
        == ["authenticate", "route", "authorize", "cache", "parse", "plan", "query", "respond"])
    #expect(try Self.stages(file.ask("/v1/nothing")) == ["authenticate", "route"])
  }

  @Test func withoutTheOptionThereIsNoHeader() throws {
    let file = try ServedFile(contractFixture)
    #expect(try file.ask("/v1/objects/city?limit=1")["Server-Timing"] == nil)
  }
}
