// The promises of diffs over a model's objects, under generated saves.

import FetchModel
import Foundation
import TestSupport
import Testing

/// Promise 1 over inheritance, ordered relationships, derived attributes and values of classes.
@Suite("Diffs over a model's objects produce the current snapshot", .mayBlock)
struct ModelPromiseTests {
  static let fetches = [
    "Human?sort=-name&select=name,mentor.name,skill",
    "Human?subentities=false",
    "Hero?sort=-skill.justicePower,name&limit=4&select=power,teamName,@etag",
    "Hero?section=team.name&sort=power&expand=team,nemesis",
    "Villain?where=nemesis.power%3E50&select=name,nemesis.power",
    "Team?select=name,memberCount,totalPower,members",
    "Team?where=ANY+members.power%3E80&select=members&sort=-totalPower",
    "Human?where=apprentices.@count%3E0&select=apprentices&digest=true",
  ]

  @Test(arguments: [21, 22, 23] as [UInt64])
  func everyDiffEndsAtAFreshSnapshot(seed: UInt64) throws {
    let file = try SampleModel.served("heroes")
    var random = SeededRandom(seed: seed)
    for index in 1...3 { _ = try file.insert("Team", #"{"name":"t\#(index)"}"#) }
    var held = try Self.fetches.map { try Self.snapshot(file, $0) }
    var saved = 0
    for round in 0..<40 {
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let (method, path, body) = Self.change(&random)
        let answer = try file.ask(method, "/v1/objects/\(path)", body: body)
        #expect(answer.status < 500, "seed \(seed), \(method) \(path) \(body ?? "")")
        if answer.status < 300 { saved += 1 }
      }
      if round % 15 == 14 { try file.restart() }
      for (index, fetch) in Self.fetches.enumerated() where Bool.random(using: &random) {
        let place = Comment("seed \(seed), round \(round), \(fetch)")
        let answer = try file.ask(
          "GET",
          "/v1/objects/\(fetch)\(fetch.contains("?") ? "&" : "?")since=\(held[index].token)&wait=0")
        try #require(answer.status == 200, place)
        let diff = try #require(Diff(json: answer.json), place)
        try held[index].apply(diff)
        let fresh = try Self.snapshot(file, fetch)
        #expect(held[index].sections == fresh.sections, place)
        #expect(held[index].summary == fresh.summary, place)
      }
    }
    #expect(saved > 10, "seed \(seed)")
  }

  private static func snapshot(_ file: ServedFile, _ fetch: String) throws -> ResultSnapshot {
    try #require(ResultSnapshot(json: file.ask("GET", "/v1/objects/\(fetch)").json))
  }

  private static func change(
    _ random: inout SeededRandom
  ) -> (method: String, path: String, body: String?) {
    let human = Int.random(in: 1...20, using: &random)
    let other = Int.random(in: 1...20, using: &random)
    let team = Int.random(in: 1...3, using: &random)
    let power = Int.random(in: 0...100, using: &random)
    let skill = #"{"$class":"HeroSkill","name":"s\#(power)","justicePower":\#(power)}"#
    let changes: [(String, String, String?)] = [
      ("POST", "Hero", #"{"name":"h\#(power)","power":\#(power),"team":\#(team)}"#),
      ("POST", "Villain", #"{"name":"v\#(power)","mentor":\#(human)}"#),
      ("POST", "Hero", #"{"name":"k\#(power)","skill":\#(skill)}"#),
      ("PATCH", "Hero/\(human)", #"{"power":\#(power),"team":\#(team)}"#),
      ("PATCH", "Hero/\(human)", #"{"skill":\#(skill)}"#),
      ("PATCH", "Hero/\(human)", #"{"nemesis":\#(other)}"#),
      ("PATCH", "Human/\(human)", #"{"name":"n\#(power)","mentor":\#(other)}"#),
      ("PATCH", "Human/\(human)", #"{"skill":null,"mentor":null}"#),
      ("PATCH", "Team/\(team)", #"{"members":[\#(human),\#(other)]}"#),
      ("PATCH", "Team/\(team)", #"{"members":{"add":[\#(human)]}}"#),
      ("PATCH", "Team/\(team)", #"{"name":"t\#(team)\#(power)"}"#),
      ("PATCH", "Hero?where=power%3C\(power)", #"{"motto":"M\#(power)"}"#),
      ("DELETE", "Human/\(human)", nil),
    ]
    return changes.randomElement(using: &random)!
  }
}
