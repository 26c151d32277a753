// JSON written as Swift literals, so that the source of a document resembles its text.

import FetchModel

/// A piece of a JSON document.
struct JSONNode: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral,
  ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral
{
  let json: JSON

  init(_ json: JSON) { self.json = json }
  init(dictionaryLiteral elements: (String, JSONNode)...) { self.init(members: elements) }
  init(arrayLiteral elements: JSONNode...) { self.init(elements) }
  init(stringLiteral text: String) { json = .string(text) }
  init(integerLiteral integer: Int) { json = .number(String(integer)) }
  init(booleanLiteral isTrue: Bool) { json = .boolean(isTrue) }

  init(members: [(String, JSONNode)]) {
    json = .object(members.map { JSON.Member(name: $0.0, value: $0.1.json) })
  }

  init(_ elements: [JSONNode]) { json = .array(elements.map(\.json)) }
  init(_ elements: [JSON]) { json = .array(elements) }
  init(_ texts: [String]) { json = .array(texts.map { .string($0) }) }

  /// The text of the JSON.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(json: json)
    return bytes
  }

  /// The members of an object; none of any other value.
  var members: [JSON.Member] { if case .object(let members) = json { members } else { [] } }

  /// An object with the members of both.
  static func + (left: JSONNode, right: JSONNode) -> JSONNode {
    JSONNode(.object(left.members + right.members))
  }

  static func += (left: inout JSONNode, right: JSONNode) { left = left + right }

  /// An object with the members of all.
  static func merging(_ nodes: some Sequence<JSONNode>) -> JSONNode {
    JSONNode(.object(nodes.flatMap(\.members)))
  }
}
