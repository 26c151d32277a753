// Access rules over generated stores, compared with a copy without the unreadable rows.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import SQLiteStore
import Service
import TestSupport
import Testing

/// Random rows and rules. Every response to a caller equals the response of a store without rules from
/// which all rows that the caller may not read were deleted.
@Suite("Unreadable data never reaches a caller", .mayBlock)
struct AccessProofTests {
  /// References are deferred, so that rows may come in any order.
  private static let tables = """
    CREATE TABLE "user"(id INTEGER PRIMARY KEY, name TEXT,
      boss_id INTEGER REFERENCES "user"(id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE team(id INTEGER PRIMARY KEY, name TEXT,
      lead_id INTEGER REFERENCES "user"(id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE member(team_id INTEGER REFERENCES team(id) DEFERRABLE INITIALLY DEFERRED,
      user_id INTEGER REFERENCES "user"(id) DEFERRABLE INITIALLY DEFERRED,
      PRIMARY KEY (team_id, user_id));
    CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, size INTEGER,
      owner_id INTEGER REFERENCES "user"(id) DEFERRABLE INITIALLY DEFERRED,
      team_id INTEGER REFERENCES team(id) DEFERRABLE INITIALLY DEFERRED,
      parent_id INTEGER REFERENCES note(id) DEFERRABLE INITIALLY DEFERRED);
    """

  /// Predicates for `read`, by entity.
  private static let pool: [(entity: String, rules: [String])] = [
    (
      "user",
      [
        "TRUEPREDICATE", "id == $user.id", "boss == $user.id OR id == $user.id",
        "ANY team.user.id == $user.id", "id != $user.id",
      ]
    ),
    (
      "team",
      [
        "TRUEPREDICATE", "ANY user.id == $user.id", "lead == $user.id", "name > 'm'",
        "note.@count > 1",
        "FALSEPREDICATE",
      ]
    ),
    (
      "note",
      [
        "owner == $user.id", "owner == $user.id OR ANY team.user.id == $user.id",
        "size > 3 OR owner.boss == $user.id",
        "owner.name != 'b' AND size < 8", "SUBQUERY(note, $n, $n.owner == $user.id).@count > 0",
        "parent == nil OR parent.owner == $user.id",
        "TERNARY(size > 5, owner, team.lead) == $user.id",
      ]
    ),
  ]

  private static let targets = [
    "user", "user?sort=-name,boss.name", "user?where=boss.name%20!=%20'b'&sort=boss.name:cd",
    "user?select=name,team,note,user&sort=id", "user?where=note.@count%20%3E%201",
    "user?where=ALL%20note.size%20%3E%202&as=ids", "user?where=NONE%20team.name%20==%20'a'&as=ids",
    "user?expand=boss,team,note.team.lead&sort=id",
    "user?as=dictionaries&select=name,s:@sum.note.size&distinct=true",
    "user?where=ANY%20team.note.owner.name%20CONTAINS%20'b'&count=exact&limit=2",
    "team", "team?section=lead.name&sort=name", "team?where=lead.boss.name%20==%20nil",
    "team?where=SUBQUERY(note,$n,$n.owner.name%20%3E%20'a').@count%20%3E%200",
    "team?select=name,user,note,lead.name", "team?where=user.@max.boss.name%20%3E%20'a'",
    "note", "note?section=owner.name&sort=-size&digest=true", "note?as=count",
    "note?where=owner%20==%201", "note?where=owner.boss.boss.name%20!=%20'a'&sort=id",
    "note?where=parent.parent.size%20%3E%201", "note?select=title,owner.name,team.lead.name,note",
    "note?as=dictionaries&select=t:team.name,n:@count,m:@max.size&group=team.name",
    "note?as=dictionaries&select=o:owner.name,n:@count&group=owner.name&having=n%3E1",
    "note?sort=owner.name:cd,-team.name,size&limit=3&offset=1&count=exact",
    "note?where=(owner.team.@count)%20%3E%200&as=ids",
    "note?where=TERNARY(team.name%20==%20nil,size,team.note.@sum.size)%20%3E%204",
    "note?expand=owner.team,parent,note&select=title",
    "note/1", "note/2", "note/3", "user/1", "user/2", "team/1", "note/2/title", "user/3/name",
    "note/4?select=owner.name,team.name,note,@etag", "note?select=title,@etag&sort=id",
  ]

  private static func rows(_ random: inout some RandomNumberGenerator) -> String {
    func id(_ count: Int) -> String {
      Int.random(in: 0...count, using: &random) == 0
        ? "NULL" : "\(Int.random(in: 1...count, using: &random))"
    }
    func text() -> String { "'\("abcnxyz".randomElement(using: &random) ?? "a")'" }
    var sql = ""
    for number in 1...5 { sql += "INSERT INTO \"user\" VALUES (\(number),\(text()),\(id(5)));" }
    for number in 1...4 { sql += "INSERT INTO team VALUES (\(number),\(text()),\(id(5)));" }
    for team in 1...4 {
      for user in 1...5 where Bool.random(using: &random) {
        sql += "INSERT INTO member VALUES (\(team),\(user));"
      }
    }
    for number in 1...12 {
      let size = Int.random(in: 0...9, using: &random)
      let parent = number == 1 ? "NULL" : id(number - 1)
      sql += """
        INSERT INTO note VALUES (\(number),\(text()),\(size),\(id(5)),\(id(4)),\(parent));
        """
    }
    return sql
  }

  private static func saves(_ random: inout some RandomNumberGenerator) -> String {
    func id(_ count: Int) -> String {
      Int.random(in: 0...count, using: &random) == 0
        ? "null" : "\(Int.random(in: 1...count, using: &random))"
    }
    let note = Int.random(in: 1...12, using: &random)
    let team = Int.random(in: 1...4, using: &random)
    let user = Int.random(in: 1...5, using: &random)
    let size = Int.random(in: 0...9, using: &random)
    let kind = Bool.random(using: &random) ? "add" : "remove"
    let changes = [
      #"{"update":"note","id":\#(note),"values":{"owner":\#(id(5)),"size":\#(size)}}"#,
      #"{"update":"note","id":\#(note),"values":{"team":\#(id(4))}}"#,
      #"{"update":"team","id":\#(team),"values":{"user":{"\#(kind)":[\#(user)]}}}"#,
      #"{"update":"user","id":\#(user),"values":{"boss":\#(id(5)),"name":"q"}}"#,
      #"{"insert":"note","values":{"title":"n","owner":\#(user),"size":\#(size),"team":\#(team)}}"#,
    ]
    return #"{"changes":[\#(changes.randomElement(using: &random) ?? "")]}"#
  }

  private static func query(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
  }

  /// The body without the token, which differs between two stores.
  private static func body(_ answer: Answer) -> String {
    let parts = answer.text.split(separator: #""token":""#, maxSplits: 1)
    guard parts.count == 2 else { return "\(answer.status) \(answer.text)" }
    return "\(answer.status) \(parts[0])\(parts[1].drop { $0 != "\"" })"
  }

  @Test("A caller's responses equal those of a store that contains only the rows it may read")
  func proof() throws {
    let environment = ProcessInfo.processInfo.environment
    let first = environment["LIVEFETCH_ACCESS_SEED"].flatMap { UInt64($0) } ?? 1
    let count = environment["LIVEFETCH_ACCESS_COUNT"].flatMap { UInt64($0) } ?? 6
    for seed in first..<(first + count) {
      var random = SeededRandom(seed: seed)
      let user = "\(1 + seed % 3)"
      let rows = Self.rows(&random)
      let rules = Self.pool.map { ($0.entity, $0.rules.randomElement(using: &random) ?? "") }
      let members = rules.map { entity, rule in
        #""\#(entity)":{"access":{"read":"\#(rule)"}}"#
      }
      let comment = "seed \(seed), user \(user): \(rules)"
      let fixture = try AccessFixture(
        Self.tables + rows, rules: #"{"entities":{\#(members.joined(separator: ","))}}"#)
      try compare(fixture, user, rows, rules, comment)
      try follow(fixture, user, &random, comment)
    }
  }

  private func compare(
    _ fixture: AccessFixture, _ user: String, _ rows: String, _ rules: [(String, String)],
    _ comment: String
  ) throws {
    var deletions = ""
    for (entity, rule) in rules {
      let text = rule.replacing("$user.id", with: user)
      let readable = try fixture.ids(
        AccessFixture.serverToken, "/v1/objects/\(entity)?where=\(Self.query(text))")
      let list = readable.map { "\($0)" }.joined(separator: ",")
      deletions += "DELETE FROM \"\(entity)\" WHERE id NOT IN (\(list));"
    }
    let copy = try ServedFile(Self.tables + rows + deletions)
    for target in Self.targets {
      let path = "/v1/objects/\(target)"
      let (found, expected) = (try fixture.ask(user, "GET", path), try copy.ask(path))
      #expect(Self.body(found) == Self.body(expected), "\(comment): \(target)")
    }
  }

  /// After every save, the snapshot with its diff applied equals a new fetch.
  private func follow(
    _ fixture: AccessFixture, _ user: String, _ random: inout SeededRandom, _ comment: String
  ) throws {
    let targets = [
      "note?sort=id", "note?section=owner.name&sort=-size", "user?where=note.@count%3E1",
      "team?sort=lead.name&limit=2", "note?where=owner.boss.name!='q'&sort=size&limit=4",
    ].map { "/v1/objects/\($0)&digest=true" }
    var held = try targets.map { try Self.snapshot(fixture, user, $0) }
    for _ in 1...5 {
      let save = Self.saves(&random)
      let saved = try fixture.ask(AccessFixture.serverToken, "POST", "/v1/save", save)
      #expect([200, 409].contains(saved.status), "\(saved.text)")
      for (index, target) in targets.enumerated() {
        let place = Comment("\(comment), \(save): \(target)")
        let answer = try fixture.ask(user, "GET", "\(target)&since=\(held[index].token)&wait=0")
        try #require(answer.status == 200, place)
        let diff = try #require(Diff(json: answer.json), place)
        try held[index].apply(diff)
        let fresh = try Self.snapshot(fixture, user, target)
        #expect(fresh.summary.digest != nil, place)
        PromiseTests.compare(held[index], fresh, place)
      }
    }
  }

  private static func snapshot(
    _ fixture: AccessFixture, _ user: String, _ target: String
  ) throws -> ResultSnapshot {
    try #require(ResultSnapshot(json: fixture.ask(user, "GET", target).json))
  }
}
