// Encodes and decodes the values of one declared attribute.

/// The conversions of a value from and to stored JSON.
struct AttributeCoding<Value> {
  let decode: (JSON) throws(UnreadableValue) -> Value
  let encode: (Value) throws(UnreadableValue) -> JSON

  init(
    decode: @escaping (JSON) throws(UnreadableValue) -> Value,
    encode: @escaping (Value) throws(UnreadableValue) -> JSON
  ) {
    self.decode = decode
    self.encode = encode
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
  init() {
    self.init(
      decode: { json throws(UnreadableValue) in try Value.attributeValue(of: json) },
      encode: { value throws(UnreadableValue) in try value.attributeJSON() })
  }
}

extension AttributeCoding {
  /// The same conversions, with nil as null.
  var optional: AttributeCoding<Value?> {
    AttributeCoding<Value?>(
      decode: { [decode] json throws(UnreadableValue) in
        if case .null = json { return nil }
        return try decode(json)
      },
      encode: { [encode] value throws(UnreadableValue) in
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
