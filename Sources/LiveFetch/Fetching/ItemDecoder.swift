// Decodes `Decodable` types from an item's values and from parsed JSON, without JSON text in between. Dates,
// data and infinities have the API's formats; everything else follows Foundation's JSONDecoder.

import FetchModel
import Foundation

/// The decoder of one JSON value.
struct ItemDecoder: Decoder {
  let json: JSON
  private let parentPath: [any CodingKey]
  private let key: (any CodingKey)?

  /// - Parameters:
  ///   - parentPath: the path of the object or array that contains the value.
  ///   - key: the value's key there; nil for the outermost value.
  init(_ json: JSON, in parentPath: [any CodingKey] = [], at key: (any CodingKey)? = nil) {
    self.json = json
    self.parentPath = parentPath
    self.key = key
  }

  /// Computed on request, because most values are read without it.
  var codingPath: [any CodingKey] { key.map { parentPath + [$0] } ?? parentPath }

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = json else {
      throw json.mismatch([String: JSON].self, expected: "an object", at: codingPath)
    }
    return MemberDecoder(ItemValues(members), at: codingPath).container(keyedBy: type)
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = json else {
      throw json.mismatch([JSON].self, expected: "an array", at: codingPath)
    }
    return ItemElements(elements, at: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

// MARK: - Values

extension ItemDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { json.isNull }

  func decode(_ type: Bool.Type) throws -> Bool {
    guard case .boolean(let value) = json else {
      throw json.mismatch(type, expected: "a boolean", at: codingPath)
    }
    return value
  }

  func decode(_ type: String.Type) throws -> String {
    guard case .string(let value) = json else {
      throw json.mismatch(type, expected: "a string", at: codingPath)
    }
    return value
  }

  func decode(_ type: Double.Type) throws -> Double { try real() }
  func decode(_ type: Float.Type) throws -> Float { try real() }
  func decode(_ type: Int.Type) throws -> Int { try integer() }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
  func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
  func decode(_ type: UInt.Type) throws -> UInt { try integer() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let found = try foundationValue(type), let value = found as? Value { return value }
    return try Value(from: self)
  }

  /// The value of a type whose format the API defines; nil for other types.
  private func foundationValue(_ type: Any.Type) throws -> Any? {
    let types: [any AttributeValue.Type] = [Date.self, Data.self, URL.self, Decimal.self]
    guard let type = types.first(where: { $0 == type }) else { return nil }
    do throws(UnreadableValue) {
      return try type.attributeValue(of: json)
    } catch {
      throw corrupted(error.reason)
    }
  }

  private func integer<Value: FixedWidthInteger & Decodable>() throws -> Value {
    guard case .number(let text) = json else {
      throw json.mismatch(Value.self, expected: "a number", at: codingPath)
    }
    if let value = Value(text) ?? Double(text).flatMap(Value.init(exactly:)) { return value }
    throw corrupted("\(text) is no \(Value.self)")
  }

  private func real<Value: BinaryFloatingPoint & LosslessStringConvertible>() throws -> Value {
    switch json {
    case .number(let text):
      guard let value = Value(text), value.isFinite else {
        throw corrupted("\(text) is no \(Value.self)")
      }
      return value
    case .string("Infinity"): return .infinity
    case .string("-Infinity"): return -.infinity
    case .string("NaN"): return .nan
    default: throw json.mismatch(Value.self, expected: "a number", at: codingPath)
    }
  }

  private func corrupted(_ reason: String) -> DecodingError {
    .dataCorrupted(.init(codingPath: codingPath, debugDescription: reason))
  }
}

extension JSON {
  fileprivate var isNull: Bool { if case .null = self { true } else { false } }

  fileprivate func mismatch(
    _ type: Any.Type, expected: String, at codingPath: [any CodingKey]
  ) -> DecodingError {
    let context = DecodingError.Context(
      codingPath: codingPath, debugDescription: "expected \(expected), found \(kind)")
    return isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }
}

// MARK: - Objects

/// The decoder of an item, or of an object within it.
final class MemberDecoder: Decoder {
  private let members: ItemValues
  private let id: ObjectID?
  let codingPath: [any CodingKey]
  /// The index of the member that was found last.
  private var lastFound = 0

  /// - Parameter id: the member `id` of an item, which is not among the others.
  init(_ members: ItemValues, id: ObjectID? = nil, at codingPath: [any CodingKey] = []) {
    self.members = members
    self.id = id
    self.codingPath = codingPath
  }

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(ItemMembers<Key>(decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try wholeDecoder.unkeyedContainer()
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { wholeDecoder }

  private var wholeDecoder: ItemDecoder {
    let first = id.map { [JSON.Member(name: "id", value: $0.predicateArgument)] } ?? []
    return ItemDecoder(.object(first + members.members), in: codingPath)
  }

  fileprivate var isItem: Bool { id != nil }

  fileprivate var names: [String] { (id == nil ? [] : ["id"]) + members.names }

  /// Returns the value of a member. The search begins at the member that was found last, because a type
  /// reads its properties in the order in which a fetch selects them.
  fileprivate func value(_ name: String) -> ItemValue? {
    if let id, name == "id" { return ItemValue(id) }
    guard let index = members.index(of: name, from: lastFound) else { return nil }
    lastFound = index
    return members.values[index]
  }
}

/// The members of an object.
private struct ItemMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: MemberDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }

  var allKeys: [Key] { decoder.names.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { value(key) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try required(key).isNull }

  // These functions read the usual kinds of values, which is faster. `ItemDecoder` reads the others and
  // throws the errors.

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    if case .boolean(let value)? = value(key) { return value }
    return try decoder(for: key).decode(type)
  }
  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    if case .text(let value)? = value(key) { return value }
    return try decoder(for: key).decode(type)
  }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    switch value(key) {
    case .double(let value): return value
    case .integer(let value): return Double(value)
    case .json(let json):
      if let value = json.double { return value }
    default: break
    }
    return try decoder(for: key).decode(type)
  }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    if case .integer(let value)? = value(key), let value = Int(exactly: value) { return value }
    return try decoder(for: key).decode(type)
  }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
    if case .integer(let value)? = value(key) { return value }
    return try decoder(for: key).decode(type)
  }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decoder(for: key).decode(type)
  }

  // The default implementations would search for the member three times.

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try isPresent(key) ? decode(type, forKey: key) : nil
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try isPresent(key) ? decode(type, forKey: key) : nil
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try isPresent(key) ? decode(type, forKey: key) : nil
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try isPresent(key) ? decode(type, forKey: key) : nil
  }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    try isPresent(key) ? decode(type, forKey: key) : nil
  }
  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    try isPresent(key) ? decoder(for: key).decode(type) : nil
  }

  /// Throws if the key is a key path that an item lacks: no fetch selects it unless the request names it,
  /// so that nil would be wrong.
  private func isPresent(_ key: Key) throws -> Bool {
    if let value = value(key) { return !value.isNull }
    if decoder.isItem, key.stringValue.contains(".") { _ = try required(key) }
    return false
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try decoder(for: key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(for: key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { decoder(of: "super") }

  func superDecoder(forKey key: Key) throws -> any Decoder { decoder(of: key.stringValue) }

  private func decoder(of name: String) -> ItemDecoder {
    ItemDecoder(decoder.value(name)?.json ?? .null, in: codingPath, at: ItemKey(stringValue: name))
  }

  private func decoder(for key: Key) throws -> ItemDecoder {
    ItemDecoder(try required(key).json, in: codingPath, at: key)
  }

  private func required(_ key: Key) throws -> ItemValue {
    if let value = value(key) { return value }
    throw DecodingError.keyNotFound(
      key, .init(codingPath: codingPath, debugDescription: "the object has no such member"))
  }

  private func value(_ key: Key) -> ItemValue? { decoder.value(key.stringValue) }
}

extension ItemValue {
  fileprivate init(_ id: ObjectID) {
    switch id {
    case .integer(let id): self = .integer(id)
    case .text(let id): self = .text(id)
    }
  }

  fileprivate var isNull: Bool { if case .null = self { true } else { false } }
}

/// The key of an array's element, or of `super`.
private struct ItemKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = Int(stringValue)
  }

  init(intValue: Int) {
    stringValue = "\(intValue)"
    self.intValue = intValue
  }
}

// MARK: - Arrays

private struct ItemElements: UnkeyedDecodingContainer {
  private let elements: [JSON]
  let codingPath: [any CodingKey]
  private(set) var currentIndex = 0

  init(_ elements: [JSON], at codingPath: [any CodingKey]) {
    self.elements = elements
    self.codingPath = codingPath
  }

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }

  mutating func decodeNil() throws -> Bool {
    guard try current().json.isNull else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try decodeNext { try $0.decode(type) }
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try decodeNext { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try decodeNext { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try decodeNext { $0 } }

  /// Reads the current element. An element that cannot be read remains the current one.
  private mutating func decodeNext<Value>(_ read: (ItemDecoder) throws -> Value) throws -> Value {
    let value = try read(current())
    currentIndex += 1
    return value
  }

  private func current() throws -> ItemDecoder {
    guard elements.indices.contains(currentIndex) else {
      throw DecodingError.valueNotFound(
        JSON.self,
        .init(codingPath: codingPath, debugDescription: "the array has no more elements"))
    }
    return ItemDecoder(
      elements[currentIndex], in: codingPath, at: ItemKey(intValue: currentIndex))
  }
}
