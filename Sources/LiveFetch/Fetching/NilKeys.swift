// Finds the optional properties of a value that are nil. Foundation's encoder omits them, so that
// an update could not set a property to null.

/// Encodes a value to find the keys that it omits.
enum NilKeys {
  /// Null for each key of the value's own optionals that are nil; nested values are not examined.
  static func members(of value: some Encodable) -> [JSON.Member] {
    let collector = NilKeyCollector()
    // The later encoding reports the error.
    try? value.encode(to: collector)
    return collector.names.subtracting(collector.written).sorted().map {
      JSON.Member(name: $0, value: .null)
    }
  }
}

/// An encoder that writes nothing.
private final class NilKeyCollector: Encoder {
  var names: Set<String> = []
  var written: Set<String> = []
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(NilKeyContainer<Key>(collector: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { IgnoredValues() }
  func singleValueContainer() -> any SingleValueEncodingContainer { IgnoredValues() }
}

private struct NilKeyContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let collector: NilKeyCollector
  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) { collector.written.insert(key.stringValue) }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) {
    collector.written.insert(key.stringValue)
  }

  func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: Bool?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: String?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: Double?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: Float?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: Int?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) { record(value, key) }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) { record(value, key) }

  private func record<Value>(_ value: Value?, _ key: Key) {
    if value == nil {
      collector.names.insert(key.stringValue)
    } else {
      collector.written.insert(key.stringValue)
    }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    collector.written.insert(key.stringValue)
    return KeyedEncodingContainer(NilKeyContainer<NestedKey>(collector: NilKeyCollector()))
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    collector.written.insert(key.stringValue)
    return IgnoredValues()
  }

  /// A superclass's values in a separate container.
  func superEncoder() -> any Encoder { NilKeyCollector() }

  func superEncoder(forKey key: Key) -> any Encoder {
    collector.written.insert(key.stringValue)
    return NilKeyCollector()
  }
}

/// Discards values.
private struct IgnoredValues: UnkeyedEncodingContainer, SingleValueEncodingContainer {
  var codingPath: [any CodingKey] { [] }
  var count: Int { 0 }

  func encodeNil() {}
  func encode<Value: Encodable>(_ value: Value) {}

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    KeyedEncodingContainer(NilKeyContainer<NestedKey>(collector: NilKeyCollector()))
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { IgnoredValues() }
  func superEncoder() -> any Encoder { NilKeyCollector() }
}
