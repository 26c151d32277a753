// How one declared attribute reads and writes its values.

/// A value's two ways between Swift and the store.
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

  /// Why `json` makes no value; nil where it does.
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
  /// As the type itself says.
  init() {
    self.init(
      decode: { json throws(UnreadableValue) in try Value.attributeValue(of: json) },
      encode: { value throws(UnreadableValue) in try value.attributeJSON() })
  }
}

extension AttributeCoding {
  /// The same, with nil for nil.
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

  /// Through the transformer registered under `name` when a value is read or written.
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
