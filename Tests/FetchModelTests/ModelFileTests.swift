// Model files: every mistake is reported with its location and reason.

import FetchModel
import Foundation
import Testing

@Suite("Model files")
struct ModelFileTests {
  private static func problems(_ text: String) -> [String] {
    do throws(ModelFileError) {
      _ = try ModelFile(parsing: Array(text.utf8))
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  /// A model of one entity with these members in addition to its name.
  private static func entity(_ members: String) -> [String] {
    problems(#"{"entities":[{"name":"City",\#(members)},{"name":"Land"}]}"#)
  }

  static let mistakes: [(text: String, problem: String)] = [
    ("{\n \"entities\": [}", "line 2, column 15: expected "),
    ("[]", "has to be an object, not an array"),
    ("{}", "entities: a model has at least one"),
    (#"{"entities":{}}"#, "entities: a model has at least one"),
    (#"{"entities":7}"#, "entities: has to be an array, not a number"),
    (
      #"{"entitys":[],"entities":[{"name":"A"}]}"#,
      "entitys: is not known here; did you mean `entities`?"
    ),
    (#"{"entities":[{}]}"#, "entities/0/name: is needed"),
    (#"{"entities":[{"name":"A"},{"name":"A"}]}"#, "entities/A: the name is not unique"),
    (#"{"entities":[{"name":"A"},{"name":"a"}]}"#, "entities/a: differs from `A` in case alone"),
    (#"{"entities":[{"name":"Old"}]}"#, "entities/Old: the name is reserved"),
    (#"{"entities":[{"name":"1"}]}"#, "entities/1: a name is letters, digits and _"),
    (#"{"entities":[{"name":"A","parent":"B"}]}"#, "entities/A/parent: there is no entity `B`"),
    (
      #"{"entities":[{"name":"A","parent":"B"},{"name":"B","parent":"A"}]}"#,
      "entities/A/parent: `A` would inherit from itself"
    ),
    (
      #"{"entities":[{"name":"A","attributes":[{"name":"x","type":"String"}]},{"name":"B","parent":"A","attributes":[{"name":"x","type":"String"}]}]}"#,
      "entities/B/x: is inherited already"
    ),
    (
      #"{"entities":[{"name":"A"}],"classes":[{"name":"C","parent":"D"}]}"#,
      "classes/C/parent: there is no class `D`"
    ),
    (
      #"{"entities":[{"name":"A"}],"classes":[{"name":"C","fields":[{"name":"f","type":"Strin"}]}]}"#,
      "classes/C/fields/f/type: `Strin` is neither a type nor a declared class"
    ),
    (
      #"{"entities":[{"name":"A"}],"fetchTemplates":[{"name":"t","entity":"A","predicate":"a >"}]}"#,
      "fetchTemplates/t/predicate: at 3: "
    ),
    (
      #"{"entities":[{"name":"A"}],"fetchTemplates":[{"name":"t","entity":"B"}]}"#,
      "fetchTemplates/t/entity: there is no entity `B`"
    ),
  ]

  @Test(arguments: mistakes.indices)
  func aMistakeIsReportedWithItsPlace(_ index: Int) {
    let found = Self.problems(Self.mistakes[index].text)
    #expect(found.contains { $0.hasPrefix(Self.mistakes[index].problem) }, "\(found)")
  }

  static let entityMistakes: [(members: String, problem: String)] = [
    (#""attributes":[{"name":"x"}]"#, "attributes/x/type: is needed"),
    (
      #""attributes":[{"name":"x","type":"Integer 63"}]"#,
      "attributes/x/type: `Integer 63` is none of"
    ),
    (#""attributes":[{"name":"id","type":"String"}]"#, "attributes/id: the name is reserved"),
    (#""attributes":[{"name":"entity","type":"String"}]"#, "attributes/entity: the name is"),
    (
      #""attributes":[{"name":"x","type":"String","optionl":true}]"#,
      "attributes/x/optionl: is not known here; did you mean `optional`?"
    ),
    (
      #""attributes":[{"name":"x","type":"Integer 16","default":40000}]"#,
      "attributes/x/default: the default holds integers of 16 bits alone"
    ),
    (
      #""attributes":[{"name":"x","type":"String","default":"a\u0000b"}]"#,
      "attributes/x/default: a default may not hold the character U+0000"
    ),
    (
      #""attributes":[{"name":"x","type":"Float","default":1e39}]"#,
      "attributes/x/default: the default is beyond what a Float holds"
    ),
    (
      #""attributes":[{"name":"x","type":"Integer 16","default":"a"}]"#,
      "attributes/x/default: Integer 16 takes an integer of 64 bits, not a string"
    ),
    (
      #""attributes":[{"name":"x","type":"Double","minimum":2,"maximum":1}]"#,
      "attributes/x/maximum: is less than the minimum"
    ),
    (
      #""attributes":[{"name":"x","type":"Integer 16","minimum":100000}]"#,
      "attributes/x/minimum: is no value of Integer 16"
    ),
    (
      #""attributes":[{"name":"x","type":"Integer 32","maximum":-3000000000}]"#,
      "attributes/x/maximum: is no value of Integer 32"
    ),
    (
      #""attributes":[{"name":"x","type":"Float","maximum":1e39}]"#,
      "attributes/x/maximum: is no value of Float"
    ),
    (
      #""attributes":[{"name":"x","type":"Boolean","minimum":2}]"#,
      "attributes/x/minimum: Boolean has no order to bound"
    ),
    (#""attributes":[{"name":"x","type":"String","regex":"("}]"#, "attributes/x/regex: "),
    (
      #""attributes":[{"name":"x","type":"String","class":"C"}]"#,
      "attributes/x/class: is for Transformable alone"
    ),
    (
      #""attributes":[{"name":"x","type":"Transformable","class":"C"}]"#,
      "attributes/x/class: there is no class `C`"
    ),
    (
      #""attributes":[{"name":"x","type":"String","derivation":"shout:(y)"}]"#,
      "attributes/x/derivation: `shout:(y)` is none of"
    ),
    (
      #""attributes":[{"name":"x","type":"Integer 64","maximumLength":3}]"#,
      "attributes/x/maximumLength: Integer 64 has no length"
    ),
    (
      #""attributes":[{"name":"x","type":"Integer 64","derivation":"ys.@count"}]"#,
      "attributes/x/derivation: City has no to-many relationship `ys`"
    ),
    (
      #""relationships":[{"name":"r","destination":"Lnd"}]"#,
      "relationships/r/destination: there is no entity `Lnd`"
    ),
    (
      #""relationships":[{"name":"r","destination":"Land","inverse":"c"}]"#,
      "relationships/r/inverse: Land has no relationship `c`"
    ),
    (
      #""relationships":[{"name":"r","destination":"Land","ordered":true}]"#,
      "relationships/r/ordered: is for to-many alone"
    ),
    (
      #""relationships":[{"name":"r","destination":"Land","toMany":true,"minimumCount":3,"maximumCount":2}]"#,
      "relationships/r/maximumCount: is less than the minimum"
    ),
    (
      #""relationships":[{"name":"r","destination":"Land","deleteRule":"nulify"}]"#,
      "relationships/r/deleteRule: `nulify` is none of Nullify, Cascade, Deny, No Action; did you mean `Nullify`?"
    ),
    (
      #""fetchIndexes":[{"name":"i","elements":[{"property":"x"}]}]"#,
      "fetchIndexes/i/elements: City has no property `x`"
    ),
    (#""uniquenessConstraints":[["x"]]"#, "uniquenessConstraints/0: City has no property `x`"),
    (#""sort":["-x"]"#, "sort: City has no property `x`"),
  ]

  @Test(arguments: entityMistakes.indices)
  func aMistakeInAnEntityIsReportedWithItsPlace(_ index: Int) {
    let found = Self.entity(Self.entityMistakes[index].members)
    let wanted = "entities/City/" + Self.entityMistakes[index].problem
    #expect(found.contains { $0.hasPrefix(wanted) }, "\(found)")
  }

  /// A model of cities of a land, where this attribute of one or the other is derived.
  private static func derived(_ type: String, _ derivation: String) -> String {
    let attribute = #"{"name":"x","type":"\#(type)","derivation":"\#(derivation)"}"#
    let isOfLand = derivation.contains("@")
    return """
      {"entities":[{"name":"City","attributes":[{"name":"people","type":"Integer 16"},
      {"name":"area","type":"Double"}\(isOfLand ? "" : "," + attribute)],
      "relationships":[{"name":"land","destination":"Land","inverse":"cities"}]},
      {"name":"Land","attributes":[{"name":"name","type":"String"},{"name":"page","type":"URI"},
      {"name":"size","type":"Integer 64"},{"name":"since","type":"Date"},
      {"name":"isLarge","type":"Boolean"},{"name":"skill","type":"Transformable"}\
      \(isOfLand ? "," + attribute : "")],
      "relationships":[{"name":"cities","destination":"City","toMany":true,"inverse":"land"}]}]}
      """
  }

  @Test(arguments: [
    ("Integer 32", "land.name", "it results in String, and the attribute's type is Integer 32"),
    ("Date", "land.name", "it results in String, and the attribute's type is Date"),
    ("String", "land.since", "it results in Date, and the attribute's type is String"),
    ("Boolean", "land.size", "it results in Integer 64, and the attribute's type is Boolean"),
    (
      "Boolean", "cities.@sum.people",
      "it results in Integer 64, and the attribute's type is Boolean"
    ),
    ("Date", "cities.@count", "it results in Integer 64, and the attribute's type is Date"),
    (
      "Integer 16", "cities.@sum.area",
      "it results in Double, and the attribute's type is Integer 16"
    ),
  ])
  func aDerivationThatTheAttributesTypeDoesNotHoldIsRefused(
    _ type: String, _ derivation: String, _ reason: String
  ) throws {
    let entity = derivation.contains("@") ? "Land" : "City"
    let text = Self.derived(type, derivation)
    #expect(Self.problems(text) == ["entities/\(entity)/attributes/x/derivation: \(reason)"])
    // A store that has such a model can be served and migrated as before.
    _ = try ModelFile(stored: text)
  }

  @Test(arguments: [
    ("Integer 16", "land.size"), ("Double", "land.size"), ("Decimal", "land.isLarge"),
    ("String", "land.page"), ("String", "cities.@count"), ("URI", "land.name"),
    ("Date", "land.since"), ("Boolean", "land.isLarge"), ("Transformable", "land.skill"),
    ("Integer 32", "land.skill.power"), ("Integer 32", "cities.@count"),
    ("Double", "cities.@count"), ("Integer 64", "cities.@sum.people"),
    ("Double", "cities.@sum.area"), ("Decimal", "cities.@sum.people"),
    ("Float", "cities.@sum.area"),
  ])
  func aDerivationThatTheAttributesTypeHoldsIsRead(_ type: String, _ derivation: String) {
    #expect(Self.problems(Self.derived(type, derivation)) == [])
  }

  @Test func everyMistakeIsReported() {
    let found = Self.entity(
      #""attributes":[{"name":"x","type":"Integer 63"},{"name":"y","type":"String","regex":1}],"sort":1"#
    )
    #expect(found.count == 3)
  }

  @Test(arguments: ["heroes", "todo", "blog"])
  func aModelIsWrittenAsItWasRead(_ name: String) throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources/LiveFetchCommand/Resources/models/\(name).json")
    let model = try ModelFile(parsing: [UInt8](try Data(contentsOf: folder)))
    let again = try ModelFile(parsing: model.text)
    #expect(again == model)
    #expect(again.text == model.text)
  }

  @Test(arguments: [
    ("2024-01-01T00:00:00.1234565Z", "2024-01-01T00:00:00.123457Z"),
    ("2024-01-01T00:00:00.9999996Z", "2024-01-01T00:00:01Z"),
    ("+292277026596-12-04T15:30:07.9999999Z", "+292277026596-12-04T15:30:07.9999999Z"),
    ("no date", "no date"),
  ])
  func aDateIsCopiedInMicroseconds(_ text: String, _ copied: String) throws {
    let model = try ModelFile(
      parsing: Array(
        #"{"entities":[{"name":"A","attributes":[{"name":"x","type":"Date"}]}]}"#.utf8))
    let item = model.copied(.object([.init(name: "x", value: .string(text))]), of: "A")
    #expect(item["x"] == .string(copied))
  }

  @Test func aDifferenceListsANewParent() throws {
    let old = try ModelFile(parsing: Array(#"{"entities":[{"name":"City"}]}"#.utf8))
    let new = try ModelFile(
      parsing: Array(#"{"entities":[{"name":"Place"},{"name":"City","parent":"Place"}]}"#.utf8))
    #expect(
      ModelDifference(from: old, to: new).description == """
        added Place
        changed City: inherits from Place, not nothing
        """)
    #expect(
      ModelDifference(from: new, to: old).description == """
        changed City: inherits from nothing, not Place
        removed Place
        """)
  }

  @Test func aDifferenceListsAccessRules() throws {
    func model(_ head: String, _ access: String) throws(ModelFileError) -> ModelFile {
      let attribute = #"{"name":"s","type":"String"}"#
      return try ModelFile(
        parsing: Array(
          #"{\#(head)"entities":[{"name":"Note","attributes":[\#(attribute)]\#(access)}]}"#.utf8))
    }
    let old = try model("", #","access":{"read":true,"update":"s == 'x'"}"#)
    let new = try model(
      #""access":{"default":true},"#,
      #","access":{"read":"s == 'y'","update":"s == 'x'","delete":false}"#)
    #expect(
      ModelDifference(from: old, to: new).description == """
        changed Note: read rule: true → "s == 'y'"
        changed Note: delete rule: unset → false
        changed access: default: unset → true
        """)
    #expect(ModelDifference(from: new, to: new).changes.isEmpty)
  }

  @Test(arguments: [
    ("Decimal", "99999999999999.99", Value.string("99999999999999.991"), true),
    ("Decimal", "99999999999999.99", .string("99999999999999.990"), false),
    ("Decimal", "99999999999999.99", .integer(99_999_999_999_999), false),
    ("Decimal", "9007199254740992", .string("9007199254740992.5"), true),
    ("Decimal", "0.3", .double(0.3), false),
    ("Decimal", "0.3", .string("0.30000000000000001"), true),
    ("Double", "10", .double(.infinity), true), ("Double", "10", .double(-.infinity), false),
    ("Double", "10.5", .double(10.5), false), ("Double", "10.5", .double(10.6), true),
    ("Integer 64", "9007199254740992", .integer(9_007_199_254_740_993), true),
  ])
  func aBoundOfADecimalIsComparedInAllItsDigits(
    _ type: String, _ maximum: String, _ value: Value, _ isTooLarge: Bool
  ) throws {
    let attribute = #"{"name":"x","type":"\#(type)","maximum":\#(maximum)}"#
    let model = try ModelFile(
      parsing: Array(#"{"entities":[{"name":"A","attributes":[\#(attribute)]}]}"#.utf8))
    let found = try #require(model.entities.first?.attributes.first).violations(of: value)
    #expect(found.map(\.code) == (isTooLarge ? [.tooLarge] : []))
  }
}
