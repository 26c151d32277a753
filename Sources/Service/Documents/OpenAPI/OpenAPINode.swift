// JSON written as Swift literals, so that a document reads in the source as it reads on the wire.

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

  static func schema(_ name: String) -> OpenAPINode { ref("schemas", name) }

  /// With another member at the end; for objects.
  func adding(_ name: String, _ node: OpenAPINode) -> OpenAPINode {
    guard case .object(let members) = json else { return self }
    return OpenAPINode(.object(members + [JSON.Member(name: name, value: node.json)]))
  }

  /// The same schema for a value that may be nil.
  var orNull: OpenAPINode { ["anyOf": [self, ["type": "null"]]] }
}
