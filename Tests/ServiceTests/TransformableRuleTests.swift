// Valid transformable values, also nested ones, and unreadable ones.

import FetchModel
import SQLiteStore
import TestSupport
import Testing

@Suite("Transformable values have only declared classes", .mayBlock)
struct TransformableRuleTests {
  static let model = """
    {"entities":[{"name":"Figure","attributes":[
      {"name":"gear","type":"Transformable","class":"Gear"},
      {"name":"bag","type":"Transformable","transformer":"Array","class":"Gear"},
      {"name":"named","type":"Transformable","transformer":"Dictionary","class":"Gear"},
      {"name":"any","type":"Transformable"},
      {"name":"tint","type":"Transformable","transformer":"Color"},
      {"name":"mark","type":"Transformable","transformer":"UUID"}]}],
    "classes":[
      {"name":"Gear","abstract":true,"fields":[{"name":"title","type":"String","optional":false}]},
      {"name":"Sword","parent":"Gear","fields":[{"name":"length","type":"Double"},
        {"name":"gems","type":"Gem","list":true},{"name":"inner","type":"Gear"}]},
      {"name":"Gem","fields":[{"name":"carat","type":"Integer 16","optional":false},
        {"name":"color","type":"Color"},{"name":"found","type":"Date"},
        {"name":"notes","type":"Dictionary"}]}]}
    """

  static let refusals: [(values: String, detail: String)] = [
    (#"{"gear":{"$class":"Gear","title":"x"}}"#, "`gear` `Gear` is abstract"),
    (#"{"gear":{"$class":"Axe","title":"x"}}"#, "`gear` `Axe` is not a declared class"),
    (#"{"gear":{"$class":"Gem","carat":1}}"#, "`gear` `Gem` is not a class of Gear"),
    (#"{"gear":{"$class":"Sword"}}"#, "`gear` `Sword` needs the field `title`"),
    (
      #"{"gear":{"$class":"Sword","title":"x","edge":1}}"#, "`gear` `Sword` has no field `edge`"
    ),
    (
      #"{"gear":{"$class":"Sword","title":"x","gems":[{"$class":"Gem","carat":1},{"$class":"Gem","carat":40000}]}}"#,
      "`gear` the field `gems[1]`: the field `carat` holds integers of 16 bits alone"
    ),
    (
      #"{"gear":{"$class":"Sword","title":"x","inner":{"$class":"Sword","title":"y","gems":[7]}}}"#,
      "`gear` the field `inner`: the field `gems[0]`: takes an object with `$class`, not a number"
    ),
    (
      #"{"gear":{"$class":"Sword","title":"x","inner":{"$class":"Gear","title":"y"}}}"#,
      "`gear` the field `inner`: `Gear` is abstract"
    ),
    (
      #"{"bag":[{"$class":"Sword","title":"x"},{"$class":"Gem","carat":1}]}"#, "`bag` [1]: `Gem` is"
    ),
    (#"{"named":{"a":{"$class":"Evil"}}}"#, "`named` `a`: `Evil` is not a declared class"),
    // Each level is examined once.
    (
      #"{"any":"# + String(repeating: "[", count: 31) + #"{"$class":"Evil"}"#
        + String(repeating: "]", count: 31) + "}",
      "`any` " + String(repeating: "[0]: ", count: 31) + "`Evil` is not a declared class"
    ),
    (
      #"{"any":{"deep":[1,{"$class":"Evil"}]}}"#,
      "`any` `deep`: [1]: `Evil` is not a declared class"
    ),
    (#"{"tint":"red"}"#, "`tint` takes a colour as `#RRGGBB` or `#RRGGBBAA`"),
    (#"{"mark":"1234"}"#, "`mark` takes a UUID as a string"),
  ]

  @Test func invalidValuesAreRefusedWithTheirPlace() throws {
    let file = try SampleModel.served(text: Self.model)
    for (values, detail) in Self.refusals {
      let answer = try file.ask("POST", "/v1/objects/Figure", body: values)
      #expect(answer.status == 422, "\(values)")
      let reported = answer.json["detail"]?.string ?? ""
      #expect(reported.hasPrefix(detail), "\(answer.text)")
      #expect(answer.text.contains("invalid-value"), "\(values)")
    }
  }

  @Test func nestedValuesAreKeptAndFoundByTheirFields() throws {
    let file = try SampleModel.served(text: Self.model)
    let sword = """
      {"$class":"Sword","title":"x","length":1.5,"gems":[{"$class":"Gem","carat":1,"color":"#FF0000","found":"2024-01-31T00:00:00Z","notes":{"a":[1]}}],"inner":{"$class":"Sword","title":"y"}}
      """
    let id = try file.insert(
      "Figure",
      ##"{"gear":\##(sword),"bag":[\##(sword)],"named":{"k":\##(sword)},"tint":"#01020304"}"##)
    _ = try file.insert("Figure", #"{"gear":{"$class":"Sword","title":"z","length":0.5}}"#)
    #expect(
      try file.ask("/v1/objects/Figure/\(id)?select=gear").text == #"{"id":1,"gear":\#(sword)}"#)
    #expect(
      try file.ask("/v1/objects/Figure/\(id)?select=bag,named,tint").text
        == ##"{"id":1,"bag":[\##(sword)],"named":{"k":\##(sword)},"tint":"#01020304"}"##)
    let found = { (predicate: String) in
      try file.ask("/v1/objects/Figure?as=ids&where=\(predicate)").text
    }
    #expect(try found("gear.inner.title=='y'").contains(#""items":[1]"#))
    #expect(try found("gear.length%3C1").contains(#""items":[2]"#))
    #expect(try found("gear.gems==nil").contains("unknown-key-path"))
    #expect(
      try file.ask("/v1/objects/Figure?select=gear.title,gear.inner.title&sort=id").text.contains(
        #"[{"id":1,"gear.title":"x","gear.inner.title":"y"},{"id":2,"gear.title":"z","gear.inner.title":null}]"#
      ))
  }

  @Test func aSelectedFieldIsLive() throws {
    let file = try SampleModel.served(text: Self.model)
    let id = try file.insert("Figure", #"{"gear":{"$class":"Sword","title":"a","length":1}}"#)
    let path = "/v1/objects/Figure?select=gear.title&sort=-gear.length"
    let token = try file.ask(path).json["token"]?.string ?? ""
    // Attributes that are neither selected nor ordered by change nothing.
    _ = try file.ask(
      "PATCH", "/v1/objects/Figure/\(id)",
      body: #"{"gear":{"$class":"Sword","title":"a","length":1,"gems":[]}}"#)
    let silent = try file.ask("\(path)&since=\(token)&wait=0")
    #expect(silent.text.contains(#""updated":[]"#), "\(silent.text)")
    _ = try file.ask(
      "PATCH", "/v1/objects/Figure/\(id)",
      body: #"{"gear":{"$class":"Sword","title":"b","length":1}}"#)
    let diff = try file.ask("\(path)&since=\(token)&wait=10")
    #expect(diff.text.contains(#""changed":{"gear.title":"b"}"#), "\(diff.text)")
  }

  private struct NoSecret: Error {}

  @Test(.onlyForFiles) func aTransformerThatFailsRefusesAValueAndServesAnErrorValue() throws {
    let text = """
      {"entities":[{"name":"Note","attributes":[
      {"name":"secret","type":"Transformable","transformer":"Shift","class":"Secret"}]}],
      "classes":[{"name":"Secret","fields":[{"name":"text","type":"String","optional":false}]}]}
      """
    var options = SQLiteStoreOptions()
    options.model = try ModelFile(parsing: Array(text.utf8))
    options.transformers["Shift"] = ValueTransformer(
      encode: { json in
        guard let text = json["text"]?.string, text != "no" else { throw NoSecret() }
        return text.utf8.map { $0 &+ 1 }
      },
      decode: { bytes in
        guard bytes.first != 0 else { throw NoSecret() }
        let text = String(decoding: bytes.map { $0 &- 1 }, as: UTF8.self)
        return .object([
          .init(name: "$class", value: .string(text == "old" ? "Gone" : "Secret")),
          .init(name: "text", value: .string(text)),
        ])
      })
    let file = try ServedFile("", options: options)
    let id = try file.insert("Note", #"{"secret":{"$class":"Secret","text":"abc"}}"#)
    #expect(
      try SQLiteShell.integer("SELECT secret = x'626364' FROM Note", path: file.path) == 1)
    #expect(
      try file.ask("/v1/objects/Note/\(id)").text
        == #"{"id":1,"secret":{"$class":"Secret","text":"abc"}}"#)
    let refused = try file.ask(
      "PATCH", "/v1/objects/Note/1", body: #"{"secret":{"$class":"Secret","text":"no"}}"#)
    #expect(refused.status == 422)
    #expect(refused.text.contains("the transformer refuses the value"), "\(refused.text)")
    // A class that is no longer declared, and bytes that the transformer cannot read.
    _ = try file.insert("Note", #"{"secret":{"$class":"Secret","text":"old"}}"#)
    try file.runExternally("INSERT INTO Note(secret) VALUES (x'00')")
    let all = try file.ask("/v1/objects/Note?sort=id")
    #expect(all.status == 200)
    #expect(all.text.contains(#"{"$error":"`Gone` is not a declared class"}"#), "\(all.text)")
    #expect(
      all.text.contains(#"{"$error":"`Shift` cannot decode the stored bytes"}"#), "\(all.text)")
    #expect(try file.ask("/v1/objects/Note?where=secret.text=='abc'").code == "unknown-key-path")
  }
}
