// The rules of a model, which no save can break.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("Saves keep a model's rules", .mayBlock)
struct ModelRulesTests {
  /// Values of a hero, and their failures.
  static let refusals: [(values: String, property: String, code: String)] = [
    (#"{"power":1}"#, "name", "missing"),
    (#"{"name":null}"#, "name", "not-optional"),
    (#"{"name":""}"#, "name", "too-short"),
    (#"{"name":"\#(String(repeating: "x", count: 81))"}"#, "name", "too-long"),
    (#"{"name":"A","power":-1}"#, "power", "too-small"),
    (#"{"name":"A","power":9001}"#, "power", "too-large"),
    (#"{"name":"A","power":3000000000}"#, "power", "out-of-range"),
    (#"{"name":"A","power":9223372036854775808}"#, "power", "out-of-range"),
    (#"{"name":"A","power":-99999999999999999999}"#, "power", "out-of-range"),
    (#"{"name":"A","power":1.5}"#, "power", "wrong-type"),
    (#"{"name":"A","power":"much"}"#, "power", "wrong-type"),
    (#"{"name":"A","power":null}"#, "power", "not-optional"),
    (#"{"name":"A","motto":"no capital"}"#, "motto", "pattern-mismatch"),
    (#"{"name":"A","searchName":"a"}"#, "searchName", "not-writable"),
    (#"{"name":"A","entity":"Villain"}"#, "entity", "wrong-entity"),
    (#"{"name":"A","entity":"Human"}"#, "entity", "wrong-entity"),
    (#"{"name":"A","entity":"Heros"}"#, "entity", "unknown-entity"),
    (#"{"name":"A","entity":7}"#, "entity", "wrong-type"),
    (#"{"name":"A","evilness":1}"#, "evilness", "unknown-property"),
    (#"{"name":"A","skill":{"name":"x"}}"#, "skill", "invalid-value"),
    (#"{"name":"A","skill":{"$class":"Skill","name":"x"}}"#, "skill", "invalid-value"),
    (#"{"name":"A","skill":{"$class":"Magic","name":"x"}}"#, "skill", "invalid-value"),
    (#"{"name":"A","skill":{"$class":"Weapon","title":"x"}}"#, "skill", "invalid-value"),
    (#"{"name":"A","skill":{"$class":"HeroSkill","name":"x"}}"#, "skill", "invalid-value"),
    (
      #"{"name":"A","skill":{"$class":"HeroSkill","name":"x","justicePower":1,"size":2}}"#, "skill",
      "invalid-value"
    ),
    (
      #"{"name":"A","skill":{"$class":"HeroSkill","name":"x","justicePower":1,"color":"red"}}"#,
      "skill", "invalid-value"
    ),
    (
      #"{"name":"A","skill":{"$class":"VillainSkill","name":"x","weapon":{"$class":"Skill"}}}"#,
      "skill", "invalid-value"
    ),
  ]

  @Test func aViolatedRuleIsRefusedAndNamed() throws {
    let file = try SampleModel.served("heroes")
    for (values, property, code) in Self.refusals {
      let answer = try file.ask("POST", "/v1/objects/Hero", body: values)
      #expect(answer.status == 422, "\(values)")
      #expect(
        answer.text.contains(#"{"change":0,"property":"\#(property)","code":"\#(code)""#),
        "\(values): \(answer.text)")
    }
    #expect(try file.ask("/v1/objects/Hero?as=count").json["total"]?.integer == 0)
  }

  @Test func everyFailureIsListed() throws {
    let file = try SampleModel.served("heroes")
    let answer = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"insert":"Hero","values":{"name":"","power":-1,"motto":"x"}},
        {"insert":"Villain","values":{"evilness":2}}]}
        """)
    let errors = try answer.errors()
    #expect(
      errors.map { "\($0["change"]?.integer ?? 9) \($0["code"]?.string ?? "")" }.sorted() == [
        "0 pattern-mismatch", "0 too-short", "0 too-small", "1 missing", "1 too-large",
      ])
  }

  @Test func everyRuleThatOneValueViolatesIsListed() throws {
    let file = try SampleModel.served(
      text: """
        {"entities":[{"name":"P","attributes":[
          {"name":"code","type":"String","minimumLength":3,"regex":"[A-Z]+"},
          {"name":"size","type":"Integer 16","maximum":9}]}]}
        """)
    let answer = try file.ask("POST", "/v1/objects/P", body: #"{"code":"a","size":70000}"#)
    let errors = try answer.errors()
    #expect(
      errors.map { "\($0["property"]?.string ?? "") \($0["code"]?.string ?? "")" } == [
        "code too-short", "code pattern-mismatch", "size out-of-range", "size too-large",
      ])
  }

  @Test func batchesKeepTheRulesToo() throws {
    let file = try SampleModel.served("heroes")
    _ = try file.insert("Hero", #"{"name":"A"}"#)
    let answer = try file.ask(
      "PATCH", "/v1/objects/Hero?where=TRUEPREDICATE", body: #"{"power":9001}"#)
    #expect(answer.status == 422)
    #expect(answer.text.contains("too-large"))
  }

  @Test func defaultsFillMissingValuesOfAnInsert() throws {
    let file = try SampleModel.served("heroes")
    let hero = try file.insert("Hero", #"{"name":"A"}"#)
    let villain = try file.insert("Villain", #"{"name":"B"}"#)
    #expect(try file.ask("/v1/objects/Hero/\(hero)").json["power"]?.integer == 1)
    #expect(try file.ask("/v1/objects/Villain/\(villain)").json["evilness"]?.double == 0.5)
    _ = try file.ask("PATCH", "/v1/objects/Hero/\(hero)", body: #"{"power":7,"motto":"X"}"#)
    let answer = try file.ask("PUT", "/v1/objects/Hero/\(hero)", body: #"{"name":"C"}"#)
    #expect(answer.json["power"]?.integer == 1)
    #expect(answer.json["motto"] == .null)
    #expect(answer.json["name"]?.string == "C")
    #expect(try file.ask("/v1/objects/Human/\(hero)").json["entity"]?.string == "Hero")
  }

  // MARK: Inverses

  @Test func bothSidesOfAOneToOneRelationshipChangeTogether() throws {
    let file = try SampleModel.served("heroes")
    let ann = try file.insert("Hero", #"{"name":"Ann"}"#)
    let bob = try file.insert("Hero", #"{"name":"Bob"}"#)
    let cid = try file.insert("Villain", #"{"name":"Cid","nemesis":\#(ann)}"#)
    let nemesis = { (path: String) in try file.ask("/v1/objects/\(path)").json["nemesis"] }
    #expect(try nemesis("Hero/\(ann)") == .number("\(cid)"))
    _ = try file.ask("PATCH", "/v1/objects/Hero/\(bob)", body: #"{"nemesis":\#(cid)}"#)
    #expect(try nemesis("Hero/\(ann)") == .null)
    #expect(try nemesis("Villain/\(cid)") == .number("\(bob)"))
    _ = try file.ask("PATCH", "/v1/objects/Villain/\(cid)", body: #"{"nemesis":null}"#)
    #expect(try nemesis("Hero/\(bob)") == .null)
    _ = try file.ask("PATCH", "/v1/objects/Villain/\(cid)", body: #"{"nemesis":\#(ann)}"#)
    #expect(try file.ask("DELETE", "/v1/objects/Hero/\(ann)").status == 204)
    #expect(try nemesis("Villain/\(cid)") == .null)
  }

  @Test func aRelationshipAcceptsOnlyObjectsOfItsEntity() throws {
    let file = try SampleModel.served("heroes")
    let ann = try file.insert("Hero", #"{"name":"Ann"}"#)
    let answer = try file.ask(
      "PATCH", "/v1/objects/Hero/\(ann)", body: #"{"nemesis":\#(ann)}"#)
    #expect(answer.status == 409)
    #expect(answer.text.contains(#""property":"nemesis","code":"no-such-object""#))
    let mentor = try file.ask("PATCH", "/v1/objects/Hero/\(ann)", body: #"{"mentor":\#(ann)}"#)
    #expect(mentor.status == 200)
  }

  @Test(
    "a required relationship may be set by its inverse in the same save, in any order",
    arguments: [
      #"{"insert":"Team","temporaryID":"t","values":{"members":[{"temporaryID":"h"}]}}"#,
      #"{"insert":"Team","temporaryID":"t","values":{"members":{"add":[{"temporaryID":"h"}]}}}"#,
      #"{"insert":"Team","temporaryID":"t","values":{"lead":{"temporaryID":"h"}}}"#,
    ])
  func requiredInverse(team: String) throws {
    let isLead = team.contains("lead")
    let required = isLead ? "leads" : "team"
    let model = """
      {"entities":[{"name":"Team","relationships":[
        {"name":"members","destination":"Hero","toMany":true,"inverse":"team"},
        {"name":"lead","destination":"Hero","inverse":"leads"}]},
      {"name":"Hero","attributes":[{"name":"name","type":"String","optional":false}],
        "relationships":[
        {"name":"team","destination":"Team","inverse":"members","optional":\(isLead)},
        {"name":"leads","destination":"Team","inverse":"lead","optional":\(!isLead)}]}]}
      """
    let hero = #"{"insert":"Hero","temporaryID":"h","values":{"name":"A"}}"#
    for changes in [[team, hero], [hero, team]] {
      let file = try SampleModel.served(text: model)
      let answer = try file.ask(
        "POST", "/v1/save", body: #"{"changes":[\#(changes.joined(separator: ","))]}"#)
      #expect(answer.status == 200, "\(changes): \(answer.text)")
      #expect(try file.ask("/v1/objects/Hero/1?select=\(required)").json[required]?.integer == 1)
    }
    let file = try SampleModel.served(text: model)
    let inserts = #"{"insert":"Hero","temporaryID":"h"},{"insert":"Hero","values":{"name":"B"}}"#
    let nameless = try file.ask(
      "POST", "/v1/save", body: #"{"changes":[\#(team),\#(inserts)]}"#)
    #expect(nameless.status == 422)
    #expect(
      try nameless.errors().map {
        [$0["change"]?.integer.map(String.init), $0["property"]?.string, $0["code"]?.string]
      } == [["1", "name", "missing"], ["2", required, "missing"]], "\(nameless.text)")
  }

  // MARK: Delete rules

  @Test func cascadeDeletesMembers() throws {
    let file = try SampleModel.served("todo")
    let list = try file.insert("List", #"{"title":"L"}"#)
    let token = try file.ask("/v1/objects/Item").json["token"]?.string ?? ""
    _ = try file.insert("Item", #"{"title":"a","list":\#(list)}"#)
    _ = try file.insert("Item", #"{"title":"b","list":\#(list)}"#)
    let waiting = try file.ask("/v1/objects/Item?since=\(token)").json["to"]?.string ?? ""
    #expect(try file.ask("DELETE", "/v1/objects/List/\(list)").status == 204)
    let diff = try file.ask("/v1/objects/Item?as=ids&since=\(waiting)")
    #expect(
      diff.text.contains(#""deleted":[{"from":[0,0],"id":1},{"from":[0,1],"id":2}]"#),
      "\(diff.text)")
  }

  @Test func denyKeepsAnObjectThatOthersReferTo() throws {
    let file = try SampleModel.served("blog")
    let author = try file.insert("Author", #"{"name":"A"}"#)
    let post = try file.insert("Post", #"{"title":"T","author":\#(author)}"#)
    let refused = try file.ask("DELETE", "/v1/objects/Author/\(author)")
    #expect(refused.status == 409)
    #expect(refused.text.contains(#""property":"posts","code":"still-referenced""#))
    // The rule is checked after all changes.
    let both = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"delete":"Author","id":\(author)},{"delete":"Post","id":\(post)}]}
        """)
    #expect(both.status == 200, "\(both.text)")
  }

  @Test func nullifyOfARequiredRelationshipIsRefused() throws {
    let model = """
      {"entities":[
      {"name":"A","relationships":[{"name":"bs","destination":"B","toMany":true,"inverse":"a"}]},
      {"name":"P","abstract":true},
      {"name":"B","parent":"P","relationships":[{"name":"a","destination":"A","inverse":"bs","optional":false}]}]}
      """
    let file = try SampleModel.served(text: model)
    let owner = try file.insert("A", "{}")
    let member = try file.insert("B", #"{"a":\#(owner)}"#)
    let answer = try file.ask("DELETE", "/v1/objects/A/\(owner)")
    #expect(answer.status == 422)
    #expect(answer.text.contains(#""property":"a","code":"not-optional""#), "\(answer.text)")
    #expect(try file.ask("/v1/objects/B/\(member)").json["a"]?.integer == owner)
  }

  @Test(arguments: ["Cascade", "Deny", "Nullify", "No Action"])
  func theSideThatHoldsTheColumnHasItsRuleToo(_ rule: String) throws {
    let model = """
      {"entities":[
      {"name":"A","relationships":[{"name":"b","destination":"B","inverse":"as","deleteRule":"\(rule)"}]},
      {"name":"B","relationships":[{"name":"as","destination":"A","toMany":true,"inverse":"b","deleteRule":"Cascade"}]}]}
      """
    let file = try SampleModel.served(text: model)
    let b = try file.insert("B", "{}")
    let a = try file.insert("A", #"{"b":\#(b)}"#)
    _ = try file.insert("A", #"{"b":\#(b)}"#)
    let answer = try file.ask("DELETE", "/v1/objects/A/\(a)")
    let left = try ["A", "B"].map {
      try file.ask("/v1/objects/\($0)?as=count").json["total"]?.integer
    }
    switch rule {
    // The cascade continues in the cycle: the other object is deleted with its owner.
    case "Cascade":
      #expect(answer.status == 204)
      #expect(left == [0, 0])
    case "Deny":
      #expect(answer.status == 409)
      #expect(answer.text.contains(#""property":"b","code":"still-referenced""#))
      #expect(left == [2, 1])
    default:
      #expect(answer.status == 204)
      #expect(left == [1, 1])
    }
  }

  @Test func rulesOfManyToManyRelationshipsHold() throws {
    let model = """
      {"entities":[
      {"name":"A","relationships":[{"name":"bs","destination":"B","toMany":true,"inverse":"as","deleteRule":"Cascade"}]},
      {"name":"B","relationships":[{"name":"as","destination":"A","toMany":true,"inverse":"bs","deleteRule":"Deny"}]}]}
      """
    let file = try SampleModel.served(text: model)
    let b = try file.insert("B", "{}")
    let a = try file.insert("A", #"{"bs":[\#(b)]}"#)
    #expect(try file.ask("DELETE", "/v1/objects/B/\(b)").code == "conflict")
    // Removing a member deletes nothing.
    _ = try file.ask("PATCH", "/v1/objects/A/\(a)", body: #"{"bs":[]}"#)
    #expect(try file.ask("/v1/objects/B/\(b)").status == 200)
    _ = try file.ask("PATCH", "/v1/objects/A/\(a)", body: #"{"bs":[\#(b)]}"#)
    #expect(try file.ask("DELETE", "/v1/objects/A/\(a)").status == 204)
    #expect(try file.ask("/v1/objects/B/\(b)").status == 404)
  }

  @Test func aRelationshipMayBeItsOwnInverse() throws {
    let model = """
      {"entities":[{"name":"P","relationships":[
      {"name":"friends","destination":"P","toMany":true,"inverse":"friends"},
      {"name":"spouse","destination":"P","inverse":"spouse"}]}]}
      """
    let file = try SampleModel.served(text: model)
    let ids = try (0..<3).map { _ in try file.insert("P", "{}") }
    _ = try file.ask(
      "PATCH", "/v1/objects/P/\(ids[0])", body: #"{"friends":[\#(ids[1])],"spouse":\#(ids[1])}"#)
    let other = try file.ask("/v1/objects/P/\(ids[1])?select=friends,spouse").text
    #expect(other == #"{"id":2,"friends":[1],"spouse":1}"#)
    _ = try file.ask("PATCH", "/v1/objects/P/\(ids[2])", body: #"{"spouse":\#(ids[0])}"#)
    #expect(try file.ask("/v1/objects/P/\(ids[1])").json["spouse"] == .null)
    #expect(try file.ask("/v1/objects/P/\(ids[0])").json["spouse"]?.integer == ids[2])
    _ = try file.ask("PATCH", "/v1/objects/P/\(ids[1])", body: #"{"friends":[]}"#)
    #expect(try file.ask("/v1/objects/P/\(ids[0])?select=friends").text.contains("[]"))
  }

  // MARK: Counts and uniqueness

  @Test func uniquenessIsKeptAndNamesTheProperty() throws {
    let file = try SampleModel.served("blog")
    _ = try file.insert("Tag", #"{"name":"x"}"#)
    let answer = try file.ask("POST", "/v1/objects/Tag", body: #"{"name":"x"}"#)
    #expect(answer.status == 409)
    #expect(answer.text.contains(#""property":"name","code":"not-unique""#))
  }

  @Test func countsHoldWhicheverEndChanges() throws {
    let file = try SampleModel.served("heroes")
    let mentor = try file.insert("Hero", #"{"name":"M"}"#)
    for index in 0..<3 { _ = try file.insert("Villain", #"{"name":"V\#(index)","mentor":1}"#) }
    let fourth = try file.ask("POST", "/v1/objects/Villain", body: #"{"name":"W","mentor":1}"#)
    #expect(fourth.status == 422)
    #expect(
      fourth.text.contains(#"{"change":0,"property":"apprentices","code":"too-many""#),
      "\(fourth.text)")
    let one = try file.insert("Villain", #"{"name":"W"}"#)
    let edit = try file.ask(
      "PATCH", "/v1/objects/Human/\(mentor)", body: #"{"apprentices":{"add":[\#(one)]}}"#)
    #expect(edit.status == 422)
    #expect(try file.ask("/v1/objects/Human?as=count&where=mentor==1").json["total"]?.integer == 3)
  }

  @Test func aMandatoryToManyRelationshipNeedsAnObject() throws {
    let model = """
      {"entities":[
      {"name":"Order","relationships":[{"name":"lines","destination":"Line","toMany":true,"inverse":"order","optional":false,"minimumCount":1,"deleteRule":"Cascade"}]},
      {"name":"Line","relationships":[{"name":"order","destination":"Order","inverse":"lines"}]}]}
      """
    let file = try SampleModel.served(text: model)
    let empty = try file.ask("POST", "/v1/objects/Order", body: "{}")
    #expect(empty.text.contains(#""property":"lines","code":"too-few""#), "\(empty.text)")
    let both = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"insert":"Order","temporaryID":"o"},
        {"insert":"Line","values":{"order":{"temporaryID":"o"}}}]}
        """)
    #expect(both.status == 200, "\(both.text)")
    // PostgreSQL assigns no id twice, not even that of a refused insertion.
    let order = both.json["ids"]?["o"]?.integer ?? 0
    #expect(try file.ask("DELETE", "/v1/objects/Line/1").status == 422)
    #expect(try file.ask("DELETE", "/v1/objects/Order/\(order)").status == 204)
  }

  // MARK: Derived attributes

  @Test func derivedAttributesFollowEveryWriter() throws {
    let file = try SampleModel.served("heroes")
    let team = try file.insert("Team", #"{"name":"League"}"#)
    let ann = try file.insert("Hero", #"{"name":"Ánn","power":5,"team":\#(team)}"#)
    _ = try file.insert("Hero", #"{"name":"Bob","power":7,"team":\#(team)}"#)
    let read = { try file.ask("/v1/objects/Team/\(team)?select=memberCount,totalPower").text }
    #expect(try read() == #"{"id":1,"memberCount":2,"totalPower":12}"#)
    #expect(try file.ask("/v1/objects/Hero/\(ann)").json["searchName"]?.string == "ann")
    #expect(try file.ask("/v1/objects/Hero/\(ann)").json["teamName"]?.string == "League")
    let token = try file.ask("/v1/objects/Hero?select=teamName").json["token"]?.string ?? ""
    _ = try file.ask("PATCH", "/v1/objects/Team/\(team)", body: #"{"name":"Guild"}"#)
    let diff = try file.ask("/v1/objects/Hero?select=teamName&since=\(token)")
    #expect(
      diff.text.matches(of: /"changed":\{"teamName":"Guild"\}/).count == 2, "\(diff.text)")
    try file.runExternally(#"UPDATE "Human" SET power = 100 WHERE name = 'Bob'"#)
    try file.runExternally(#"UPDATE "Team" SET name = 'Club'"#)
    #expect(try read() == #"{"id":1,"memberCount":2,"totalPower":105}"#)
    #expect(try file.ask("/v1/objects/Hero/\(ann)").json["teamName"]?.string == "Club")
    _ = try file.ask("DELETE", "/v1/objects/Human/\(ann)")
    #expect(try read() == #"{"id":1,"memberCount":1,"totalPower":100}"#)
  }

  @Test func theModificationTimeChangesOnlyWithChanges() throws {
    let file = try SampleModel.served("heroes")
    let hero = try file.insert("Hero", #"{"name":"A"}"#)
    let first = try file.ask("/v1/objects/Hero/\(hero)").json["changedAt"]?.string ?? ""
    #expect(first.hasPrefix("20"))
    _ = try file.ask("PATCH", "/v1/objects/Hero/\(hero)", body: #"{"name":"A"}"#)
    #expect(try file.ask("/v1/objects/Hero/\(hero)").json["changedAt"]?.string == first)
    Thread.sleep(forTimeInterval: 0.01)
    _ = try file.ask("PATCH", "/v1/objects/Hero/\(hero)", body: #"{"name":"B"}"#)
    #expect(try file.ask("/v1/objects/Hero/\(hero)").json["changedAt"]?.string != first)
  }
}
