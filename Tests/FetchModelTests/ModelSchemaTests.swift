// The JSON Schema of model files, compared with the reader.

import FetchModel
import Foundation
import Testing

/// The published JSON Schema accepts exactly the files that the reader accepts. `make schema`
/// checks this with other validators too.
@Suite("The model files' JSON Schema")
struct ModelSchemaTests {
  private static func json(_ path: String) throws -> JSON {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../..")
    return try JSON(parsing: [UInt8](Data(contentsOf: root.appendingPathComponent(path))))
  }

  private static let samples = "Sources/LiveFetchCommand/Resources/models"

  /// A model in which every member that there is has a value that is not its default.
  static let full = """
    {"version":"2","access":{"default":false},"entities":[
    {"name":"A","abstract":true,"renamingIdentifier":"AA",
     "access":{"read":true,"insert":"s == $user.id","update":false,"delete":false},
     "attributes":[{"name":"s","type":"String","optional":false,"default":"x","minimumLength":1,
       "maximumLength":9,"regex":".*","renamingIdentifier":"t","hidden":false,
       "readOnly":"NOT 'x' IN $user.roles"},
      {"name":"n","type":"Double","minimum":1,"maximum":2.5,"transient":true},
      {"name":"d","type":"String","derivation":"uppercase:(s)"},
      {"name":"v","type":"Transformable","transformer":"JSON","class":"C"}],
     "relationships":[{"name":"r","destination":"B","toMany":true,"ordered":true,"optional":false,
       "inverse":"q","deleteRule":"Deny","minimumCount":1,"maximumCount":3,
       "renamingIdentifier":"rr"}],
     "fetchIndexes":[{"name":"i","elements":[{"property":"s","descending":true}]}],
     "uniquenessConstraints":[["s"]],"sort":["-s"]},
    {"name":"B","parent":"A","relationships":[{"name":"q","destination":"A","inverse":"r"}]}],
    "classes":[{"name":"P","abstract":true},{"name":"C","parent":"P",
     "fields":[{"name":"f","type":"String","optional":false,"list":true}]}],
    "fetchTemplates":[{"name":"t","entity":"A","predicate":"s == $S","sort":["s"],"limit":5,
     "subentities":false}]}
    """

  @Test func itKnowsEveryMemberThatTheReaderTakesAndNoOther() throws {
    let schema = try SchemaValidator(Self.json("Public/model-schema.json"))
    let json = try JSON(parsing: Array(Self.full.utf8))
    #expect(schema.problems(of: json) == [])
    let model = try ModelFile(json)
    #expect(try ModelFile(model.json) == model)
    // The schema has exactly the members that the writer can write, and `$schema`.
    var used = Set(schema.membersUsed(by: model.json))
    used.insert("/$schema")
    #expect(used == Set(schema.membersDeclared))
  }

  @Test(arguments: ["world", "heroes", "todo", "blog"])
  func everySampleConforms(_ name: String) throws {
    let schema = try SchemaValidator(Self.json("Public/model-schema.json"))
    #expect(schema.problems(of: try Self.json("\(Self.samples)/\(name).json")) == [])
  }

  @Test(arguments: [
    (#"{}"#, ": `entities` is needed"), (#"{"entities":[]}"#, "/entities: too few"),
    (#"{"entities":[{"name":"1"}]}"#, "/entities/0/name: pattern"),
    (#"{"entities":[{"name":"A","abstrct":true}]}"#, "/entities/0: `abstrct` is not known"),
    (
      #"{"entities":[{"name":"A","attributes":[{"name":"x","type":"Int"}]}]}"#,
      "/entities/0/attributes/0/type: enum"
    ),
    (
      #"{"entities":[{"name":"A","attributes":[{"name":"x","type":"String","maximumLength":-1}]}]}"#,
      "/entities/0/attributes/0/maximumLength: too small"
    ),
  ])
  func itRefusesWhatTheReaderRefuses(_ text: String, _ problem: String) throws {
    let schema = try SchemaValidator(Self.json("Public/model-schema.json"))
    let json = try JSON(parsing: Array(text.utf8))
    #expect(schema.problems(of: json).contains(problem), "\(schema.problems(of: json))")
    #expect(throws: ModelFileError.self) { try ModelFile(json) }
  }
}

/// The part of JSON Schema that the model's schema uses. Any other keyword is reported as a problem
/// of the schema.
private struct SchemaValidator {
  let root: JSON

  init(_ root: JSON) { self.root = root }

  private static let annotations: Set = ["$schema", "$defs", "title", "description", "default"]

  private func resolved(_ schema: JSON) -> JSON {
    guard let reference = schema["$ref"]?.string else { return schema }
    return reference.split(separator: "/").dropFirst().reduce(root) { $0[String($1)] ?? .null }
  }

  func problems(of value: JSON) -> [String] { problems(of: value, root, "") }

  private func problems(of value: JSON, _ schema: JSON, _ place: String) -> [String] {
    guard case .object(let members) = resolved(schema) else { return ["\(place): no schema"] }
    return members.filter { !Self.annotations.contains($0.name) }.flatMap { keyword in
      problems(of: value, keyword, resolved(schema), place)
    }
  }

  private func problems(
    of value: JSON, _ keyword: JSON.Member, _ schema: JSON, _ place: String
  ) -> [String] {
    switch (keyword.name, value) {
    case ("type", _):
      let names = keyword.value.string.map { [$0] } ?? elements(keyword.value).compactMap(\.string)
      return names.contains { Self.fits(value, $0) } ? [] : ["\(place): type"]
    case ("enum", _): return elements(keyword.value).contains(value) ? [] : ["\(place): enum"]
    case ("required", .object):
      return elements(keyword.value).compactMap(\.string).filter { value[$0] == nil }
        .map { "\(place): `\($0)` is needed" }
    case ("additionalProperties", .object(let members)):
      return members.filter { schema["properties"]?[$0.name] == nil }
        .map { "\(place): `\($0.name)` is not known" }
    case ("properties", .object(let members)):
      return members.flatMap { member in
        schema["properties"]?[member.name].map {
          problems(of: member.value, $0, "\(place)/\(member.name)")
        } ?? []
      }
    case ("items", .array(let values)):
      return values.enumerated().flatMap { problems(of: $1, keyword.value, "\(place)/\($0)") }
    case ("minItems", .array(let values)):
      return values.count < Int(keyword.value.integer ?? 0) ? ["\(place): too few"] : []
    case ("minimum", .number):
      return (value.double ?? 0) < (keyword.value.double ?? 0) ? ["\(place): too small"] : []
    case ("pattern", .string(let text)):
      let found = text.range(of: keyword.value.string ?? "", options: .regularExpression)
      return found == nil ? ["\(place): pattern"] : []
    case ("required", _), ("additionalProperties", _), ("properties", _), ("items", _),
      ("minItems", _), ("minimum", _), ("pattern", _):
      return []
    default: return ["\(place): the keyword `\(keyword.name)` is not known"]
    }
  }

  private static func fits(_ value: JSON, _ type: String) -> Bool {
    switch (type, value) {
    case ("object", .object), ("array", .array), ("string", .string), ("boolean", .boolean),
      ("number", .number):
      true
    case ("integer", .number): value.integer != nil
    default: false
    }
  }

  private func elements(_ json: JSON) -> [JSON] {
    if case .array(let elements) = json { elements } else { [] }
  }

  /// `/entity/name`: each member by the definition that has it.
  var membersDeclared: [String] {
    guard case .object(let definitions)? = root["$defs"] else { return [] }
    return declared(by: root, "") + definitions.flatMap { declared(by: $0.value, $0.name) }
  }

  private func declared(by schema: JSON, _ name: String) -> [String] {
    guard case .object(let members)? = schema["properties"] else { return [] }
    return members.flatMap { member -> [String] in
      let inner = member.value["items"] ?? member.value
      return ["\(name)/\(member.name)"] + declared(by: inner, "\(name).\(member.name)")
    }
  }

  func membersUsed(by value: JSON) -> [String] { used(by: value, root, "") }

  private func used(by value: JSON, _ schema: JSON, _ name: String) -> [String] {
    let name = schema["$ref"]?.string.map { String($0.dropFirst("#/$defs/".count)) } ?? name
    let schema = resolved(schema)
    switch value {
    case .array(let values):
      return schema["items"].map { items in values.flatMap { used(by: $0, items, name) } } ?? []
    case .object(let members):
      guard let properties = schema["properties"] else { return [] }
      return members.flatMap { member in
        ["\(name)/\(member.name)"]
          + (properties[member.name].map {
            used(by: member.value, $0, "\(name).\(member.name)")
          } ?? [])
      }
    default: return []
    }
  }
}
