// Foreign keys that equal the referenced key only by its collation or its affinity.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("Links that hold an equal of the key and not the key itself", .mayBlock)
struct LooseLinkTests {
  struct Kind: Sendable, CustomTestStringConvertible {
    let owner: String
    let member: String
    /// The key of the first owner and of the second one.
    let keys: [String]
    /// The members' values that refer to the first one, to the second one, and to none.
    let links: [[String]]
    /// The ids of the owners as JSON.
    let ids: [String]

    /// True if members contain the key itself; then they show it even if no object has it.
    var isExact = false

    var testDescription: String { "\(member) to \(owner)" }
  }

  static let kinds = [
    Kind(
      owner: "TEXT COLLATE NOCASE PRIMARY KEY", member: "TEXT", keys: ["'A'", "'b'"],
      links: [["'A'", "'a'"], ["'b'", "'B'"], ["'a '", "'ä'"]], ids: ["\"A\"", "\"b\""]),
    Kind(
      owner: "TEXT COLLATE NOCASE PRIMARY KEY", member: "TEXT COLLATE NOCASE",
      keys: ["'A'", "'b'"],
      links: [["'A'", "'a'"], ["'b'", "'B'"], ["'a '", "'ä'"]], ids: ["\"A\"", "\"b\""]),
    Kind(
      owner: "TEXT COLLATE RTRIM PRIMARY KEY", member: "TEXT", keys: ["'a'", "'b '"],
      links: [["'a'", "'a  '"], ["'b'", "'b '"], ["'A'", "' a'"]], ids: ["\"a\"", "\"b \""]),
    Kind(
      owner: "INTEGER PRIMARY KEY", member: "TEXT", keys: ["7", "8"],
      links: [["'7'", "'07'"], ["'8'", "' 8'"], ["'7x'", "'70'"]], ids: ["7", "8"]),
    Kind(
      owner: "INTEGER PRIMARY KEY", member: "REAL", keys: ["7", "8"],
      links: [["7", "7.0"], ["8.0"], ["7.5", "70"]], ids: ["7", "8"]),
    Kind(
      owner: "INTEGER PRIMARY KEY", member: "", keys: ["7", "8"],
      links: [["7", "'7'", "7.0"], ["8", "'08'"], ["'x'", "x'37'", "70"]], ids: ["7", "8"]),
    Kind(
      owner: "TEXT PRIMARY KEY", member: "INTEGER", keys: ["'7'", "'a'"],
      links: [["7", "'7'"], ["'a'"], ["70", "'A'"]], ids: ["\"7\"", "\"a\""]),
    Kind(
      owner: "TEXT PRIMARY KEY", member: "TEXT",
      keys: ["char(1) || '0' || char(0, 1)", "'a' || char(0) || 'b'"],
      links: [["char(1) || '0' || char(0, 1)"], ["'a' || char(0) || 'b'"], ["'a'", "'b'"]],
      ids: [#""\u00010\u0000\u0001""#, #""a\u0000b""#], isExact: true),
    Kind(
      owner: "TEXT PRIMARY KEY", member: "TEXT COLLATE NOCASE", keys: ["'A'", "'b'"],
      links: [["'A'"], ["'b'"], ["'a'", "'B'"]], ids: ["\"A\"", "\"b\""], isExact: true),
  ]

  /// Owners with members and, between them and tags, rows that link them.
  static func filled(_ kind: Kind) -> String {
    let cities = kind.links.enumerated().flatMap { owner, links in links.map { (owner, $0) } }
      .enumerated().map { number, link in
        "INSERT INTO city VALUES (\(number + 1), 'c\(link.0)', \(link.1));"
          + "INSERT INTO street VALUES (\(number + 1), \(number + 1));"
          + "INSERT INTO land_tag VALUES (\(link.1), \(number % 2 + 1));"
      }
    return """
      CREATE TABLE land(k \(kind.owner), title TEXT, size INTEGER);
      CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, land \(kind.member) REFERENCES land);
      CREATE TABLE street(id INTEGER PRIMARY KEY, city INTEGER REFERENCES city);
      CREATE TABLE tag(id INTEGER PRIMARY KEY, word TEXT);
      CREATE TABLE land_tag(land \(kind.member) REFERENCES land, tag INTEGER REFERENCES tag);
      CREATE INDEX city_land ON city(land);
      INSERT INTO tag VALUES (1, 'big'), (2, 'old');
      INSERT INTO land VALUES (\(kind.keys[0]), 'one', 1), (\(kind.keys[1]), 'two', 2);
      """ + cities.joined()
  }

  // MARK: Snapshots

  @Test("show the id of the object that they lead to, on both sides", arguments: kinds)
  func bothSidesAgree(kind: Kind) throws {
    let file = try ServedFile(Self.filled(kind))
    let owners = zip(kind.links, kind.ids + [""]).flatMap { links, id in
      links.map { link in
        id.isEmpty ? kind.isExact ? link.replacing("'", with: "\"") : "null" : id
      }
    }
    #expect(
      try Self.items(file, "city?select=land")
        == owners.enumerated().map {
          "{\"id\":\($0 + 1),\"land\":\($1)}"
        })
    let numbers = Array(1...owners.count)
    let first = numbers.prefix(kind.links[0].count)
    let second = numbers.dropFirst(first.count).prefix(kind.links[1].count)
    let members = [first, second].map { "[\($0.map { "\($0)" }.joined(separator: ","))]" }
    #expect(
      try Self.items(file, "land?select=city")
        == zip(kind.ids, members).map {
          "{\"id\":\($0),\"city\":\($1)}"
        })
    #expect(try Self.ids(file, "city?where=land.title=='one'") == members[0])
    #expect(try Self.ids(file, "street?where=city.land.title=='two'") == members[1])
    #expect(
      try Self.ids(file, "city?where=land=='\(kind.ids[0].filter { $0 != "\"" })'") == members[0])
    #expect(
      try Self.ids(file, "land?where=city.@count==\(first.count)+AND+ANY+city.name=='c0'")
        == "[\(kind.ids[0])]")
    let all = try file.ask("/v1/objects/city?select=land&expand=land").json
    #expect(ResultSnapshot(json: all)?.included?["land"]?.count == 2)
  }

  private static func items(_ file: ServedFile, _ fetch: String) throws -> [String] {
    let answer = try file.ask("/v1/objects/\(fetch.replacing(" ", with: "+"))")
    let snapshot = try #require(ResultSnapshot(json: answer.json), "\(fetch): \(answer.text)")
    return snapshot.sections.flatMap(\.items).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func ids(_ file: ServedFile, _ fetch: String) throws -> String {
    try "[\(items(file, fetch + "&as=ids").joined(separator: ","))]"
  }

  // MARK: Diffs

  static let fetches = [
    "city?digest=true", "city?where=land.title=='one'&select=land.title",
    "city?section=land.title&sort=land.size,-name&limit=4&digest=true&count=exact",
    "city?sort=-land&select=land&expand=land", "street?where=city.land.size>1&select=city.land",
    "street?select=city.land.title,city.land&sort=city.land.size", "street?expand=city",
    "land?select=city,title&sort=-title",
    "land?where=ANY+city.name=='c1'", "land?where=city.@count>1&select=tag&as=ids",
    "land?where=ANY+tag.word=='big'&select=tag", "tag?select=land,word&where=ANY+land.size>0",
    "land?where=SUBQUERY(city,+$c,+$c.name=='c0').@count>0&expand=city", "city?where=land==nil",
    "land?where=ALL+city.name!='c2'&sort=size&limit=1", "city?where=land.city.@count>1&count=exact",
  ]

  @Test("changes of linked objects are reported, live and after a restart", arguments: kinds)
  func changesOfLinkedObjectsAreReported(kind: Kind) throws {
    let file = try ServedFile(Self.filled(kind))
    var held = try Self.fetches.map { try Held(file, $0, isUntyped: kind.member.isEmpty) }
    let changes = [
      "UPDATE land SET title = 'three' WHERE k = \(kind.keys[0])",
      "UPDATE land SET size = 9 WHERE k = \(kind.keys[0])",
      "DELETE FROM land WHERE k = \(kind.keys[1])",
      "INSERT INTO land VALUES (\(kind.keys[1]), 'four', 0)",
      "UPDATE city SET land = \(kind.links[1][0]) WHERE id = 1",
      "UPDATE land_tag SET land = \(kind.links[0].last!) WHERE tag = 1",
    ]
    for (number, change) in changes.enumerated() {
      try file.runExternally(change)
      try file.settle()
      for index in held.indices { try held[index].advance(file, "\(kind) \(change)") }
      if number == 2 { try file.restart() }
    }
    let olds = try Self.fetches.map { try Held(file, $0, isUntyped: kind.member.isEmpty) }
    try file.restart { file in
      for change in changes {
        try file.runExternally(change.replacing("INSERT", with: "INSERT OR REPLACE"))
      }
    }
    for old in olds {
      var old = old
      try old.advance(file, "\(kind) restart")
    }
  }

  @Test(
    "diffs lead to every fresh snapshot, whatever is saved", arguments: kinds, [1, 2] as [UInt64])
  func generatedSavesAreReported(kind: Kind, seed: UInt64) throws {
    let file = try ServedFile(Self.filled(kind))
    var random = SeededRandom(seed: seed)
    var held = try Self.fetches.map { try Held(file, $0, isUntyped: kind.member.isEmpty) }
    for round in 0..<12 {
      let changes = (0..<random.number(1...3)).map { _ in Self.change(kind, &random) }
      let place = "\(kind), seed \(seed), round \(round): \(changes)"
      if round % 6 == 5 {
        try file.restart { file in for change in changes { try file.runExternally(change) } }
      } else {
        for change in changes { try file.runExternally(change) }
        try file.settle()
      }
      for index in held.indices where random.oneIn(2) { try held[index].advance(file, place) }
    }
  }

  private static func change(_ kind: Kind, _ random: inout SeededRandom) -> String {
    let (key, city, number) = (
      random.pick(kind.keys), random.number(1...9), random.number(0...9)
    )
    let link = random.pick(kind.links.flatMap { $0 } + ["NULL"])
    let other = random.pick(kind.links[0] + kind.links[1])
    return random.pick([
      "UPDATE land SET title = 't\(number)' WHERE k = \(key)",
      "UPDATE land SET size = \(number) WHERE k = \(key)", "DELETE FROM land WHERE k = \(key)",
      "INSERT OR REPLACE INTO land VALUES (\(key), 'one', \(number))",
      "UPDATE OR IGNORE land SET k = \(other) WHERE size = \(number)",
      "UPDATE OR IGNORE land SET k = \(other) WHERE k = \(key)",
      "INSERT OR REPLACE INTO city VALUES (\(city), 'c\(number % 3)', \(link))",
      "UPDATE city SET land = \(link) WHERE id = \(city)",
      "UPDATE city SET land = \(link) WHERE id % 2 = \(number % 2)",
      "UPDATE city SET name = 'c\(number % 3)' WHERE id = \(city)",
      "DELETE FROM city WHERE id = \(city)",
      "UPDATE street SET city = \(number) WHERE id = \(city)",
      "INSERT INTO land_tag VALUES (\(link), \(1 + number % 2))",
      "UPDATE land_tag SET land = \(link) WHERE tag = \(1 + number % 2)",
      "DELETE FROM land_tag WHERE rowid % 3 = \(number % 3)",
      "UPDATE tag SET word = CASE word WHEN 'big' THEN 'old' ELSE 'big' END WHERE id = 1",
    ])
  }

  // MARK: Links to other columns than the key

  @Test("items of a window show the current linked object, not the previous one")
  func itemsAreNotKeptBeyondTheirOwners() throws {
    let file = try ServedFile(
      """
      CREATE TABLE land(id INTEGER PRIMARY KEY, code TEXT UNIQUE);
      CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, land TEXT REFERENCES land(code));
      INSERT INTO land VALUES (1, 'a'); INSERT INTO city VALUES (1, 'c', 'a');
      """)
    let fetch = "city?select=land&sort=name&limit=4"
    #expect(try Self.items(file, fetch) == [#"{"id":1,"land":1}"#])
    try file.runExternally("UPDATE land SET id = 2")
    try file.settle()
    #expect(try Self.items(file, fetch) == [#"{"id":1,"land":2}"#])
    try file.runExternally("DELETE FROM land")
    try file.settle()
    #expect(try Self.items(file, fetch) == [#"{"id":1,"land":null}"#])
  }

  @Test("deleting a linked object reports its inverse, although the linking rows stay")
  func linksThatAreLeftBehind() throws {
    let file = try ServedFile(
      """
      CREATE TABLE tag(id INTEGER PRIMARY KEY, word TEXT UNIQUE);
      CREATE TABLE post(id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE post_tag(post INTEGER REFERENCES post, word TEXT REFERENCES tag(word));
      INSERT INTO tag VALUES (1, 'big'), (2, 'old'); INSERT INTO post VALUES (1, 'p');
      INSERT INTO post_tag VALUES (1, 'big'), (1, 'old');
      """)
    var held = try ["post?select=tag", "post?where=ANY+tag.id==2"].map { try Held(file, $0) }
    for change in ["DELETE FROM tag WHERE id = 2", "UPDATE tag SET word = 'old'"] {
      try file.runExternally(change)
      try file.settle()
      for index in held.indices { try held[index].advance(file, change) }
      try file.restart()
      for index in held.indices { try held[index].advance(file, change) }
    }
  }

  @Test("a row that refers to itself and is changed by its own foreign key is reported whole")
  func ownCascade() throws {
    let file = try ServedFile(
      """
      CREATE TABLE dept(id INTEGER PRIMARY KEY, code TEXT UNIQUE, name TEXT,
        boss_code TEXT REFERENCES dept(code) ON UPDATE CASCADE);
      INSERT INTO dept VALUES (1, 'A', NULL, NULL), (2, 'B', 'y', NULL);
      """)
    var held = try ["dept?sort=id", "dept?where=name+!=+nil&sort=code", "dept?select=dept"].map {
      try Held(file, $0)
    }
    for change in [
      "UPDATE dept SET boss_code = 'A', name = 'x', code = NULL WHERE id = 1",
      "UPDATE dept SET boss_code = 'B', name = NULL, code = 'C' WHERE id = 2",
      "UPDATE dept SET code = 'D', boss_code = 'D' WHERE id = 1", "UPDATE dept SET id = id + 5",
    ] {
      try file.runExternally("PRAGMA foreign_keys = ON; \(change)")
      try file.settle()
      for index in held.indices { try held[index].advance(file, change) }
    }
  }

  @Test("an observed object reports the target of its link")
  func oneObject() throws {
    let file = try ServedFile(Self.filled(Self.kinds[0]))
    let first = try file.ask("/v1/objects/city/2?since=now&wait=0").json["to"]?.string ?? ""
    try file.runExternally("UPDATE land SET k = 'a' WHERE k = 'A'")
    let diff = try file.ask("/v1/objects/city/2?since=\(first)&wait=60").json
    #expect(diff["changed"]?["land"] == .string("a"))
    #expect(try file.ask("/v1/objects/city/2").json["land"] == .string("a"))
  }

  // MARK: Support

  /// A fetch's snapshot, kept in step by diffs.
  struct Held {
    let fetch: String
    let isUntyped: Bool
    var snapshot: ResultSnapshot

    init(_ file: ServedFile, _ fetch: String, isUntyped: Bool = false) throws {
      self.fetch = fetch
      self.isUntyped = isUntyped
      let answer = try file.ask("/v1/objects/\(fetch)")
      snapshot = try #require(ResultSnapshot(json: answer.json), "\(fetch): \(answer.text)")
    }

    private static func text(_ snapshot: ResultSnapshot) -> [String] {
      snapshot.sections.flatMap { section in
        ["# " + String(decoding: section.info.value, as: UTF8.self)]
          + section.items.map { String(decoding: $0, as: UTF8.self) }
      }
    }

    mutating func advance(_ file: ServedFile, _ change: String) throws {
      let answer = try file.ask("/v1/objects/\(fetch)&since=\(snapshot.token)&wait=0")
      // The type of a column without a declared one is inferred from its first value.
      if isUntyped, answer.status == 410 {
        snapshot = try Held(file, fetch).snapshot
        return
      }
      try snapshot.apply(
        #require(Diff(json: answer.json), "\(fetch) after \(change): \(answer.text)"))
      let fresh = try Held(file, fetch).snapshot
      #expect(Self.text(snapshot) == Self.text(fresh), "\(fetch) after \(change)")
      #expect(snapshot.summary == fresh.summary, "\(fetch) after \(change)")
      for (entity, objects) in fresh.included ?? [:] {
        for (id, json) in objects {
          #expect(snapshot.included?[entity]?[id] == json, "\(fetch) after \(change)")
        }
      }
    }
  }
}
