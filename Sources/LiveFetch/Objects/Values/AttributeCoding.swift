// The values of one declared attribute → the JSON that is stored, and back. A value that cannot be
// converted is an `UnreadableValue`.

import FetchModel

/// The conversions of an attribute's value from and to stored JSON. Every object has an instance for each
/// of its attributes, so an instance without a transformer allocates no memory.
struct AttributeCoding<Value> {
  typealias Decoding = (JSON) throws(UnreadableValue) -> Value
  typealias Encoding = (Value) throws(UnreadableValue) -> JSON

  private enum Conversions {
    /// The type's own conversions. The type is `Value`, with its conformance.
    case own(any AttributeValue.Type)
    /// Those of a transformer.
    case transformed(Transformation)
  }

  private final class Transformation {
    let decode: Decoding
    let encode: Encoding

    init(_ decode: @escaping Decoding, _ encode: @escaping Encoding) {
      (self.decode, self.encode) = (decode, encode)
    }
  }

  private let conversions: Conversions

  init(decode: @escaping Decoding, encode: @escaping Encoding) {
    conversions = .transformed(Transformation(decode, encode))
  }

  /// True without a transformer: `Value` itself determines its stored values.
  var isOwn: Bool { if case .own = conversions { true } else { false } }

  func decode(_ json: JSON) throws(UnreadableValue) -> Value {
    switch conversions {
    case .own(let type): try Self.decode(json, by: type)
    case .transformed(let transformation): try transformation.decode(json)
    }
  }

  /// Returns the value of an item if it is a `Value` without a conversion through JSON; otherwise nil.
  func unconverted(_ value: ItemValue) -> Value? {
    guard isOwn else { return nil }
    return switch value {
    case .boolean(let boolean): boolean as? Value
    case .integer(let integer): Int(exactly: integer).flatMap { $0 as? Value }
    case .double(let double): double as? Value
    case .text(let text): text as? Value
    case .null, .json: nil
    }
  }

  func encode(_ value: Value) throws(UnreadableValue) -> JSON {
    switch conversions {
    case .own(let type): try Self.encode(value, by: type)
    case .transformed(let transformation): try transformation.encode(value)
    }
  }

  private static func decode<Own: AttributeValue>(
    _ json: JSON, by type: Own.Type
  ) throws(UnreadableValue) -> Value {
    guard let value = try Own.attributeValue(of: json) as? Value else {
      throw UnreadableValue("is no \(Value.self)")
    }
    return value
  }

  private static func encode<Own: AttributeValue>(
    _ value: Value, by type: Own.Type
  ) throws(UnreadableValue) -> JSON {
    guard let own = value as? Own else { throw UnreadableValue("is no \(Own.self)") }
    return try own.attributeJSON()
  }

  /// The reason why `json` cannot be decoded; nil if it can.
  func problem(with json: JSON) -> String? {
    do throws(UnreadableValue) {
      _ = try decode(json)
      return nil
    } catch {
      return error.reason
    }
  }
}

extension AttributeCoding where Value: AttributeValue {
  /// The conversions of the type itself.
  init() { conversions = .own(Value.self) }
}

extension AttributeCoding {
  /// The same conversions for an optional value; nil is null.
  var optional: AttributeCoding<Value?> {
    AttributeCoding<Value?>(
      decode: { json throws(UnreadableValue) in
        if case .null = json { return nil }
        return try decode(json)
      },
      encode: { value throws(UnreadableValue) in
        guard let value else { return .null }
        return try encode(value)
      })
  }

  /// The conversions of the transformer registered under `name`, looked up at each use.
  init(transformer name: String) {
    self.init(
      decode: { json throws(UnreadableValue) in try Self.registered(name).decode(json) },
      encode: { value throws(UnreadableValue) in try Self.registered(name).encode(value) })
  }

  private static func registered(_ name: String) throws(UnreadableValue) -> Self {
    guard let found = RegisteredTransformers.shared[name] else {
      throw UnreadableValue("there is no transformer `\(name)`")
    }
    guard let coding = found.anyCoding as? Self else {
      throw UnreadableValue("the transformer `\(name)` does not make a \(Value.self)")
    }
    return coding
  }
}
