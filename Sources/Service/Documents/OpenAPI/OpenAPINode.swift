// JSON written as Swift literals, so that the source of a document resembles its text.

import FetchModel

/// A piece of a JSON document.
struct OpenAPINode: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral,
  ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
  var json: JSON

  init(_ json: JSON) { self.json = json }
  init(dictionaryLiteral elements: (String, OpenAPINode)...) { self.init(members: elements) }
  init(arrayLiteral elements: OpenAPINode...) { self.init(elements) }
  init(stringLiteral text: String) { json = .string(text) }
  init(integerLiteral integer: Int) { json = .number(String(integer)) }
  init(booleanLiteral isTrue: Bool) { json = .boolean(isTrue) }
  init(nilLiteral: ()) { json = .null }

  init(members: [(String, OpenAPINode)]) {
    json = .object(members.map { JSON.Member(name: $0.0, value: $0.1.json) })
  }

  init(_ elements: [OpenAPINode]) { json = .array(elements.map(\.json)) }

  init(_ texts: [String]) { json = .array(texts.map { .string($0) }) }

  /// `{"$ref": "#/components/KIND/NAME"}`
  static func ref(_ kind: String, _ name: String) -> OpenAPINode {
    ["$ref": "#/components/\(kind)/\(name)"]
  }

  static let string: OpenAPINode = ["type": "string"]
  static let integer: OpenAPINode = ["type": "integer"]
  static let boolean: OpenAPINode = ["type": "boolean"]

  static func array(_ items: OpenAPINode) -> OpenAPINode { ["type": "array", "items": items] }

  /// The schema of an object.
  static func object(_ properties: OpenAPINode, required: OpenAPINode) -> OpenAPINode {
    ["type": "object", "required": required, "properties": properties]
  }

  static func schema(_ name: String) -> OpenAPINode { ref("schemas", name) }

  /// The members of an object; none of any other value.
  var members: [JSON.Member] { if case .object(let members) = json { members } else { [] } }

  /// An object with the members of both.
  static func + (left: OpenAPINode, right: OpenAPINode) -> OpenAPINode {
    OpenAPINode(.object(left.members + right.members))
  }

  static func += (left: inout OpenAPINode, right: OpenAPINode) { left = left + right }

  /// An object with the members of all.
  static func merging(_ nodes: some Sequence<OpenAPINode>) -> OpenAPINode {
    OpenAPINode(.object(nodes.flatMap(\.members)))
  }

  /// The same schema for a value that may be nil.
  var orNull: OpenAPINode { ["anyOf": [self, ["type": "null"]]] }
}
