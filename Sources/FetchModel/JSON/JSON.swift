// A JSON text as a value. Numbers keep their text, so that 64-bit integers and decimals stay exact.
// A repeated member of a request is an error, as RFC 8259 allows.

/// A JSON value as it was written.
public enum JSON: Sendable, Hashable {
  /// `null`
  case null
  /// `true` or `false`
  case boolean(Bool)
  /// A number's original text.
  case number(String)
  /// The text of a string, without quotes and escapes.
  case string(String)
  /// The elements of an array.
  case array([JSON])
  /// The members of an object, in the order of the text.
  case object([Member])

  /// A name and a value of an object.
  public struct Member: Sendable, Hashable {
    /// The name, without escapes.
    public let name: String
    /// The value.
    public let value: JSON

    /// Makes a member of an object.
    public init(name: String, value: JSON) {
      self.name = name
      self.value = value
    }
  }

  /// The value of the member called `name`; nil if this is not an object or has no such member.
  /// O(members).
  public subscript(name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  /// The text of a string; nil for other values.
  public var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// The exact value of a number that is a 64-bit integer, including `1e3` and `2.0`; nil for other
  /// values.
  public var integer: Int64? {
    guard case .number(let text) = self else { return nil }
    return Int64(text) ?? ExactDecimal(text)?.integer
  }

  /// The nearest double of a number; nil if it is too large, and for other values.
  public var double: Double? {
    guard case .number(let text) = self, let double = Double(text), double.isFinite else {
      return nil
    }
    return double
  }

  /// True for a number that is too large for a double.
  var isBeyondDoubles: Bool {
    if case .number = self { double == nil } else { false }
  }

  /// True for a number that consists of digits.
  var isWholeNumber: Bool {
    guard case .number(let text) = self else { return false }
    return text.utf8.allSatisfy { $0 == 0x2D || $0 >= 0x30 && $0 <= 0x39 }
  }

  /// The value as JSON text without spaces, in UTF-8.
  public var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(json: self)
    return bytes
  }

  /// The value as JSON text without spaces.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The kind of value for messages: `a number`.
  public var kind: String {
    switch self {
    case .null: "null"
    case .boolean: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension [JSON.Member] {
  /// The members whose values are not nil.
  init(_ pairs: KeyValuePairs<String, JSON?>) {
    self = pairs.compactMap { name, value in value.map { JSON.Member(name: name, value: $0) } }
  }
}

extension [UInt8] {
  /// Appends `value` as JSON text without spaces.
  public mutating func append(json value: JSON) {
    switch value {
    case .null: append(json: "null")
    case .boolean(let isTrue): append(json: isTrue ? "true" : "false")
    case .number(let text): append(contentsOf: text.utf8)
    case .string(let text): append(jsonString: text)
    case .array(let elements): append(jsonArray: elements) { $1.append(json: $0) }
    case .object(let members):
      append(0x7B)
      append(separated: members) { member, json in
        json.append(jsonString: member.name)
        json.append(0x3A)
        json.append(json: member.value)
      }
      append(0x7D)
    }
  }
}
