// Values of declared classes: served, selected and compared. No value makes a fetch fail.

import FetchModel
import SQLiteStore
import TestSupport
import Testing

@Suite("Transformable values", .mayBlock)
struct TransformableContractTests {
  static let glare =
    ##"{"$class":"HeroSkill","name":"英雄怒视","justicePower":109,"color":"#FFC0CB"}"##

  static func file() throws -> ServedFile {
    let file = try SampleModel.served("heroes")
    _ = try file.insert("Hero", #"{"name":"Ann","skill":\#(glare)}"#)
    _ = try file.insert(
      "Villain",
      #"{"name":"Bob","skill":{"$class":"VillainSkill","name":"ray","evilPower":200.5,"weapon":{"$class":"Weapon","title":"Ray","damage":7}}}"#
    )
    _ = try file.insert("Hero", #"{"name":"Cid"}"#)
    return file
  }

  @Test func aValueIsServedAsItWasSaved() throws {
    let file = try Self.file()
    let answer = try file.ask("/v1/objects/Hero/1?select=skill")
    #expect(answer.text == #"{"id":1,"skill":\#(Self.glare)}"#)
    #expect(try file.ask("/v1/objects/Hero/3").json["skill"] == .null)
    _ = try file.ask("PATCH", "/v1/objects/Hero/1", body: #"{"skill":null}"#)
    #expect(try file.ask("/v1/objects/Hero/1").json["skill"] == .null)
  }

  private static let keyPaths = [
    ("where=skill.justicePower>100", "[1]"), ("where=skill.justicePower>109", "[]"),
    ("where=skill.evilPower>200", "[2]"), ("where=skill.name=='ray'", "[2]"),
    ("where=skill.weapon.damage==7", "[2]"), ("where=skill.justicePower==nil", "[2,3]"),
    ("where=skill==nil", "[3]"), ("sort=-skill.justicePower,id", "[1,2,3]"),
    ("sort=skill.weapon.title:nullslast,id", "[2,1,3]"),
  ]

  @Test func keyPathsLeadIntoValues() throws {
    let file = try Self.file()
    for (query, ids) in Self.keyPaths {
      let answer = try file.ask("/v1/objects/Human?as=ids&\(Self.encoded(query))")
      #expect(answer.text.contains(#""items":\#(ids)"#), "\(query): \(answer.text)")
    }
  }

  @Test(
    "A number of any size and form in a value is found, and shown under its key path",
    arguments: [
      ("HeroSkill", "justicePower", "1234567890123456789", "== 1234567890123456789"),
      ("HeroSkill", "justicePower", "5.0", "== 5"), ("HeroSkill", "justicePower", "1e2", "== 100"),
      ("VillainSkill", "evilPower", "1e100", "> 1e99"),
      ("VillainSkill", "evilPower", "1e-120", "BETWEEN {1e-121, 1e-119}"),
    ])
  func numbers(_ type: String, _ field: String, _ number: String, _ condition: String) throws {
    let file = try Self.file()
    let skill = ##"{"$class":"\##(type)","name":"x","\##(field)":\##(number)}"##
    let saved = try file.ask("PATCH", "/v1/objects/Human/3", body: #"{"skill":\#(skill)}"#)
    #expect(saved.status == 200, "\(saved.text)")
    let fetch = #"{"entity":"Human","where":"skill.\#(field) \#(condition)","as":"ids"}"#
    let found = try file.ask("POST", "/v1/fetch", body: fetch)
    #expect(found.text.contains(#""items":[3]"#), "\(found.text)")
    let shown = try file.ask("/v1/objects/Human/3?select=skill.\(field)")
    #expect(!shown.text.contains("null"), "\(shown.text)")
  }

  private static func encoded(_ query: String) -> String {
    query.replacing(">", with: "%3E").replacing("==", with: "%3D%3D")
  }

  @Test func fieldsAreSelectedAndMakeSections() throws {
    let file = try Self.file()
    let answer = try file.ask(
      "/v1/objects/Human?select=skill.name,skill.justicePower&section=skill.name&limit=2&subentities=true"
    )
    #expect(
      answer.text.contains(
        #"{"id":2,"entity":"Villain","skill.name":"ray","skill.justicePower":null}"#),
      "\(answer.text)")
    let unknown = try file.ask("/v1/objects/Human?where=skill.nothing%3E1")
    #expect(unknown.code == "unknown-key-path")
  }

  @Test func aFetchIsFollowedIntoValues() throws {
    let file = try Self.file()
    let path = "/v1/objects/Hero?select=name&where=skill.justicePower%3E100"
    let token = try file.ask(path).json["token"]?.string ?? ""
    _ = try file.ask(
      "PATCH", "/v1/objects/Hero/3",
      body: #"{"skill":{"$class":"HeroSkill","name":"x","justicePower":500}}"#)
    let diff = try file.ask("\(path)&since=\(token)")
    #expect(
      diff.text.contains(#""inserted":[{"to":[0,1],"item":{"id":3,"name":"Cid"}}]"#),
      "\(diff.text)")
  }

  /// A column of PostgreSQL holds nothing but JSON.
  @Test(.onlyForFiles) func aValueThatCannotBeReadIsAnErrorValue() throws {
    let file = try Self.file()
    try file.runExternally(
      """
      UPDATE Human SET skill = '{"$class":"Magic"}' WHERE id = 1;
      UPDATE Human SET skill = 'not JSON' WHERE id = 2;
      UPDATE Human SET skill = 7 WHERE id = 3;
      """)
    let answer = try file.ask("/v1/objects/Human?select=skill&sort=id")
    #expect(answer.status == 200)
    for part in [
      #"{"id":1,"entity":"Hero","skill":{"$error":"`Magic` is not a declared class"}}"#,
      #"{"id":2,"entity":"Villain","skill":{"$error":"the stored value is not JSON"}}"#,
      #"{"id":3,"entity":"Hero","skill":{"$error":"#,
    ] {
      #expect(answer.text.contains(part), "\(answer.text)")
    }
    #expect(try file.ask("/v1/objects/Human?as=ids&where=skill.justicePower==nil").status == 200)
  }

  /// The `json` of SQLite and of PostgreSQL accepts it too, and a plain JSON column serves it.
  @Test(.onlyForFiles) func aStoredValueMayRepeatAMember() throws {
    let file = try Self.file()
    let skill = #"{"$class":"VillainSkill","name":"ray","name":"fog"}"#
    try file.runExternally("UPDATE Human SET skill = '\(skill)' WHERE id = 2")
    let answer = try file.ask("/v1/objects/Villain/2?select=skill")
    #expect(answer.text.contains(#""skill":\#(skill)"#), "\(answer.text)")
  }

  /// Only the Swift library registers transformers, for files.
  @Test(.onlyForFiles) func transformersOfOnesOwnStoreAsTheyLike() throws {
    let model = """
      {"entities":[{"name":"Note","attributes":[
      {"name":"secret","type":"Transformable","transformer":"Reversed"},
      {"name":"color","type":"Transformable","transformer":"Color"},
      {"name":"tags","type":"Transformable","transformer":"Array"}]}]}
      """
    var options = SQLiteStoreOptions()
    options.model = try ModelFile(parsing: Array(model.utf8))
    #expect(throws: StoreError.unusable("Note.secret: there is no transformer `Reversed`")) {
      _ = try ServedFile("", options: options)
    }
    options.transformers["Reversed"] = ValueTransformer(
      encode: { Array(($0.string ?? "").utf8.reversed()) },
      decode: { .string(String(decoding: $0.reversed(), as: UTF8.self)) })
    let file = try ServedFile("", options: options)
    let id = try file.insert(
      "Note", ##"{"secret":"abc","color":"#102030","tags":["a",1]}"##)
    #expect(
      try file.ask("/v1/objects/Note/\(id)").text
        == ##"{"id":1,"secret":"abc","color":"#102030","tags":["a",1]}"##)
    #expect(try file.ask("/v1/objects/Note/\(id)/secret").text.contains("cba"))
    let refused = try file.ask("PATCH", "/v1/objects/Note/\(id)", body: #"{"color":"red"}"#)
    #expect(refused.text.contains("invalid-value"))
    let foreign = try file.ask(
      "PATCH", "/v1/objects/Note/\(id)", body: #"{"tags":[{"$class":"Evil"}]}"#)
    #expect(foreign.text.contains("`Evil` is not a declared class"))
  }
}
