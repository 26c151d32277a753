// Generated saves, compared with a model of the tables in memory.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

/// The expected result of a save: teams, players, and the players of each team.
private struct Book {
  var teams: Set<Int> = [1, 2, 3]
  var players: [Int: Int?] = [:]
}

@Suite("Save execution: generated saves", .mayBlock)
struct SaveExecutionGeneratedTests {
  /// Returns a change as JSON and applies it to the expected result; returns false if it must be
  /// refused.
  private func change(
    _ random: inout SeededRandom, _ book: inout Book
  ) -> (json: String, isFine: Bool) {
    let team = random.number(0...3)
    let player = random.number(0...7)
    switch random.number(0...15) {
    case 0...6:
      let isFine = book.players[player] == nil && (team == 0 || book.teams.contains(team))
      if isFine { book.players[player] = .some(team == 0 ? nil : team) }
      let value = team == 0 ? "null" : "\(team)"
      return (#"{"insert":"player","values":{"id":\#(player),"team":\#(value)}}"#, isFine)
    case 7...10:
      let isFine = book.players[player] != nil && book.teams.contains(team)
      if isFine { book.players[player] = .some(team) }
      return (#"{"update":"player","id":\#(player),"values":{"team":\#(team)}}"#, isFine)
    case 11, 12:
      let isFine = book.players.removeValue(forKey: player) != nil
      return (#"{"delete":"player","id":\#(player)}"#, isFine)
    case 13, 14:
      let members = (0..<8).filter { _ in random.oneIn(5) }
      let isFine =
        book.teams.contains(team) && members.allSatisfy { book.players[$0] != nil }
      if isFine {
        for (id, of) in book.players where of == team { book.players[id] = .some(nil) }
        for id in members { book.players[id] = .some(team) }
      }
      return (#"{"update":"team","id":\#(team),"values":{"player":\#(members)}}"#, isFine)
    default:
      let isFine = book.teams.contains(team) && !book.players.values.contains(team)
      if isFine { book.teams.remove(team) }
      return (#"{"delete":"team","id":\#(team)}"#, isFine)
    }
  }

  @Test(
    "a save makes all of its changes, or none if one cannot be made",
    arguments: [1, 2, 3, 4] as [UInt64])
  func saves(seed: UInt64) throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE team(id INTEGER PRIMARY KEY);
      CREATE TABLE player(id INTEGER PRIMARY KEY, team_id INT REFERENCES team);
      INSERT INTO team VALUES (1), (2), (3);
      """)
    var random = SeededRandom(seed: seed)
    var book = Book()
    var made = 0
    for round in 0..<400 {
      var next = book
      var isFine = true
      var changes: [String] = []
      for _ in 0...random.number(0...2) {
        let (json, fits) = change(&random, &next)
        changes.append(json)
        isFine = isFine && fits
      }
      let body = "{\"changes\":[\(changes.joined(separator: ","))]}"
      let refusal = try fixture.refusal(body)
      #expect(refusal.isEmpty == isFine, "seed \(seed) round \(round) \(body) \(refusal)")
      if isFine { (book, made) = (next, made + 1) }
      if book.teams.count < 2 {
        let id = book.teams.contains(1) ? 2 : 1
        try fixture.save(#"{"changes":[{"insert":"team","values":{"id":\#(id)}}]}"#)
        book.teams.insert(id)
      }
      let wanted = book.players.sorted { $0.key < $1.key }
        .map { "\($0.key)|\($0.value.map { "\($0)" } ?? "NULL")" }
      try #require(
        try fixture.rows(of: "player") == wanted, "seed \(seed) round \(round) \(body)")
    }
    #expect(made > 50)
  }
}
