// Elements of ordered relationships, `[FIRST] [LAST] [SIZE] [n]`.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("Elements of ordered relationships", .mayBlock)
struct OrderedElementTests {
  /// Two teams: League with Ann (1), Bob (2) and Cid (3) in the order 3, 1, 2; Nobody has no members.
  static func teams() throws -> ServedFile {
    let file = try SampleModel.served("heroes")
    let answer = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[
        {"insert":"Team","temporaryID":"t","values":{"name":"League"}},
        {"insert":"Team","values":{"name":"Nobody"}},
        {"insert":"Hero","values":{"name":"Ann","power":50,"team":{"temporaryID":"t"}}},
        {"insert":"Hero","values":{"name":"Bob","power":70,"team":{"temporaryID":"t"}}},
        {"insert":"Hero","values":{"name":"Cid","power":20,"team":{"temporaryID":"t"}}}]}
        """)
    #expect(answer.status == 200, "\(answer.text)")
    #expect(
      try file.ask("PATCH", "/v1/objects/Team/1", body: #"{"members":[3,1,2]}"#).status == 200)
    return file
  }

  /// Predicate about teams → the matching teams.
  static let table: [(String, String)] = [
    ("members[FIRST] == 3", "[1]"), ("members[LAST] == 2", "[1]"), ("members[1] == 1", "[1]"),
    ("members[FIRST].name == 'Cid'", "[1]"), ("members[LAST].name == 'Bob'", "[1]"),
    ("members.name[1] == 'Ann'", "[1]"), ("members[0].power < members[2].power", "[1]"),
    ("members[2].name BEGINSWITH[c] 'b'", "[1]"), ("members[3] == nil", "[1,2]"),
    ("members[FIRST] == nil", "[2]"), ("members[FIRST] != 3", "[2]"),
    ("NOT (members[FIRST].power > 10)", "[2]"), ("members[LAST].power IN {70, 80}", "[1]"),
    ("members[LAST].power BETWEEN {60, 70}", "[1]"), ("members[SIZE] == 3", "[1]"),
    ("members[SIZE] == 0", "[2]"), ("members[FIRST].team.name == 'League'", "[1]"),
    ("SUBQUERY(members, $h, $h.power > 30)[FIRST].name == 'Ann'", "[1]"),
    ("SUBQUERY(members, $h, $h.power < 60)[LAST] == 1", "[1]"),
    ("members[$n].name == 'Ann'", "[1]"), ("members[FIRST].power * 2 == 40", "[1]"),
  ]

  @Test func anElementIsTheObjectAtItsIndex() throws {
    let file = try Self.teams()
    for (predicate, ids) in Self.table {
      let text = DictionariesContractTests.encoded(predicate)
      let variable = predicate.contains("$n") ? "&var.n=1" : ""
      let answer = try file.ask("/v1/objects/Team?as=ids&where=\(text)\(variable)")
      #expect(answer.text.contains("\"items\":\(ids)}"), "\(predicate): \(answer.text)")
    }
  }

  /// Cid (3), the first member of League (1), has the apprentices Ann (1) and Bob (2).
  private static let collections: [(predicate: String, ids: String)] = [
    ("members[FIRST].apprentices.@count == 2", "[1]"),
    ("members[LAST].apprentices.@count == 0", "[1,2]"),
    ("members[FIRST].apprentices.@sum.name.length > 0", "refused"),
    ("ANY members[FIRST].apprentices.name == 'Ann'", "[1]"),
    ("ANY members[LAST].apprentices.name == 'Ann'", "[]"),
    ("NONE members[LAST].apprentices.name == 'Ann'", "[1,2]"),
    ("ALL members[FIRST].apprentices.name BEGINSWITH 'A'", "[2]"),
    ("members[FIRST].apprentices CONTAINS 2", "[1]"),
    ("2 IN members[LAST].apprentices", "[]"),
    ("SUBQUERY(members[FIRST].apprentices, $a, $a.name == 'Bob').@count == 1", "[1]"),
    ("members[FIRST].team.members.@count == 3", "[1]"),
    ("ANY members[FIRST].team.members.name == 'Bob'", "[1]"),
    ("ANY members[FIRST].team.members.apprentices.@count == 2", "[1]"),
    ("members[FIRST].name.length == 3", "[1]"),
    ("SUBQUERY(members, $h, $h.power < 60)[FIRST].apprentices.@count == 2", "[1]"),
    ("members[FIRST].@count == 1", "refused"), ("ANY members[FIRST].name == 'Cid'", "refused"),
    ("members[FIRST] > 1", "refused"), ("members[FIRST].apprentices == 1", "refused"),
  ]

  @Test func collectionsOfAnElementAreCollections() throws {
    let file = try Self.teams()
    for id in 1...2 {
      let answer = try file.ask("PATCH", "/v1/objects/Hero/\(id)", body: #"{"mentor":3}"#)
      #expect(answer.status == 200, "\(answer.text)")
    }
    for (predicate, ids) in Self.collections {
      let text = DictionariesContractTests.encoded(predicate)
      let answer = try file.ask("/v1/objects/Team?as=ids&where=\(text)")
      if ids == "refused" {
        #expect(answer.status == 400, "\(predicate): \(answer.text)")
      } else {
        #expect(answer.text.contains("\"items\":\(ids)}"), "\(predicate): \(answer.text)")
      }
    }
  }

  @Test("two elements in a key path are refused with the place of the second one")
  func secondElements() throws {
    let file = try Self.teams()
    for (predicate, code, offset, found) in [
      (
        "members[FIRST].team.members[LAST].name == 'Bob'", "type-mismatch", 27,
        "a second element by its place"
      ),
      (
        "members[FIRST].apprentices[0].apprentices.@count == 1", "type-mismatch", 26,
        "a second element by its place"
      ),
      (
        "ANY members.team.members[FIRST].name == 'Cid'", "unordered-relationship", 4,
        "an element by its place"
      ),
      ("ANY members[FIRST].name == 'Cid'", "quantifier-without-to-many", 4, "a single value"),
    ] {
      let text = DictionariesContractTests.encoded(predicate)
      let answer = try file.ask("/v1/objects/Team?where=\(text)")
      #expect(answer.code == code, "\(predicate): \(answer.text)")
      #expect(answer.json["offset"]?.integer == Int64(offset), "\(predicate): \(answer.text)")
      #expect(answer.json["found"]?.string == found, "\(predicate): \(answer.text)")
    }
    let size = DictionariesContractTests.encoded("members[FIRST].team.members[SIZE] == 3")
    #expect(try file.ask("/v1/objects/Team?as=ids&where=\(size)").text.contains("[1]}"))
    let other = DictionariesContractTests.encoded(
      "SUBQUERY(members, $m, $m == members[FIRST] AND $m.team.members[LAST].name == 'Bob').@count > 0"
    )
    let answer = try file.ask("/v1/objects/Team?as=ids&where=\(other)")
    #expect(answer.text.contains("\"items\":[1]}"), "\(answer.text)")
  }

  @Test func aCollectionOfAnElementOfManyToManyIsOne() throws {
    let file = try SampleModel.served("blog")
    let author = try file.insert("Author", #"{"name":"A"}"#)
    for tag in ["x", "y", "z"] { _ = try file.insert("Tag", #"{"name":"\#(tag)"}"#) }
    for tags in ["[3,1]", "[1,2]", "[2]"] {
      _ = try file.insert("Post", #"{"title":"T","author":\#(author),"tags":\#(tags)}"#)
    }
    let fetch = "/v1/objects/Post?as=ids&sort=id&where="
    let predicate = DictionariesContractTests.encoded("tags[FIRST].posts.@count == 2")
    #expect(try file.ask(fetch + predicate).text.contains("\"items\":[2,3]}"))
  }

  @Test func anElementIsAColumnOfDictionariesToo() throws {
    let file = try Self.teams()
    let answer = try file.ask(
      "/v1/objects/Team?as=dictionaries&select=name,first:members[FIRST].name,n:members[SIZE]")
    #expect(
      answer.text.contains(
        #"[{"name":"League","first":"Cid","n":3},{"name":"Nobody","first":null,"n":0}]"#),
      "\(answer.text)")
  }

  /// A change → the ids of teams whose first member is Ann, afterwards.
  @Test(arguments: [
    ("PATCH", "/v1/objects/Team/1", #"{"members":[1,2,3]}"#, "[1]"),
    ("PATCH", "/v1/objects/Hero/3", #"{"name":"Ann"}"#, "[1]"),
    ("PATCH", "/v1/objects/Hero/1", #"{"team":2}"#, "[2]"),
    ("DELETE", "/v1/objects/Hero/3", "", "[1]"),
    ("PATCH", "/v1/objects/Team/2", #"{"members":[1]}"#, "[2]"),
  ])
  func changesOfPositionsAreReported(
    method: String, path: String, body: String, ids: String
  ) throws {
    let file = try Self.teams()
    let fetch = "/v1/objects/Team?as=ids&where=members%5BFIRST%5D.name=='Ann'"
    let token = try #require(file.ask(fetch).json["token"]?.string)
    let waiting = file.begin("GET", "\(fetch)&since=\(token)&wait=60")
    let saved = try file.ask(method, path, body: body.isEmpty ? nil : body)
    #expect(saved.status < 300, "\(saved.text)")
    let team = ids.dropFirst().dropLast()
    let diff = try #require(waiting.wait())
    #expect(diff.text.contains(#""inserted":[{"to":[0,0],"id":\#(team)}]"#), "\(diff.text)")
    #expect(try file.ask(fetch).text.contains("\"items\":\(ids)}"))
    // The old token gives the same answer after a restart, when past values are queried.
    try file.restart()
    let later = try file.ask("\(fetch)&since=\(token)&wait=0")
    #expect(later.text.contains(#""inserted":[{"to":[0,0],"id":\#(team)}]"#), "\(later.text)")
  }

  @Test func anOrderOfMoreThanOneToManyIsKeptByTheTableBetween() throws {
    let file = try SampleModel.served("blog")
    let author = try file.insert("Author", #"{"name":"A"}"#)
    for tag in ["x", "y", "z"] { _ = try file.insert("Tag", #"{"name":"\#(tag)"}"#) }
    let post = try file.insert("Post", #"{"title":"T","author":\#(author),"tags":[3,1]}"#)
    let fetch = "/v1/objects/Post?as=ids&where=tags%5BLAST%5D.name=='z'"
    let token = try #require(file.ask(fetch).json["token"]?.string)
    #expect(
      try file.ask("/v1/objects/Post?as=count&where=tags%5B0%5D==3").json["total"]?.integer == 1)
    #expect(try file.ask(fetch).json["count"]?.integer == 0)
    _ = try file.ask("PATCH", "/v1/objects/Post/\(post)", body: #"{"tags":[1,3]}"#)
    let diff = try file.ask("\(fetch)&since=\(token)&wait=5")
    #expect(diff.text.contains(#""inserted":[{"to":[0,0],"id":1}]"#), "\(diff.text)")
  }

  private static let invalid: [(predicate: String, code: String)] = [
    ("team%5BFIRST%5D==1", "type-mismatch"), ("members%5B-1%5D==1", "type-mismatch"),
    ("members%5B1.5%5D==1", "type-mismatch"), ("members%5B'x'%5D==1", "type-mismatch"),
    ("members%5Bname%5D==1", "type-mismatch"), ("members%5BSIZE%5D.name==1", "type-mismatch"),
    ("members%5BFIRST%5D.nope==1", "unknown-key-path"),
    ("members%5BFIRST%5D==2.5.5", "syntax-error"),
  ]

  @Test func invalidIndexesAreRefused() throws {
    let file = try Self.teams()
    for (predicate, code) in Self.invalid {
      let entity = predicate.hasPrefix("team") ? "Hero" : "Team"
      let answer = try file.ask("/v1/objects/\(entity)?where=\(predicate)")
      #expect(answer.status == 400)
      #expect(answer.code == code, "\(predicate): \(answer.text)")
    }
  }

  @Test func aRelationshipWithoutAnOrderHasNoIndexes() throws {
    let file = try ServedFile(contractFixture)
    for predicate in ["city[FIRST] == 1", "city[LAST].name == 'x'", "city[0].name == 'x'"] {
      let text = DictionariesContractTests.encoded(predicate)
      let answer = try file.ask("/v1/objects/country?where=\(text)")
      #expect(answer.status == 400)
      #expect(answer.code == "unordered-relationship")
      #expect(answer.text.contains("`city` has no order"), "\(predicate): \(answer.text)")
    }
    let size = try file.ask("/v1/objects/country?as=ids&where=city%5BSIZE%5D==2")
    #expect(size.text.contains("[1]"))
  }
}
