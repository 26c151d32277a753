// Swift types of attributes → the declared classes of a model, with their fields. A class is asked for its
// fields by decoding it from a decoder that notes what is read and answers with zeros and empty texts.

import FetchModel

/// Collects the classes of polymorphic values.
struct ValueClasses {
  private var types: [any PolymorphicValue.Type] = []

  /// Adds the classes that occur in values of `type`: those of a polymorphic one, and those inside a
  /// `Codable` one.
  ///
  /// - Returns: the class of the values, or of the elements of a list; nil for any other type.
  mutating func add(_ type: Any.Type?) -> (className: String, isList: Bool)? {
    switch type {
    case let optional as any AnyOptional.Type: return add(optional.wrappedType)
    case let list as any AnyList.Type:
      return add(list.elementType).map { (className: $0.className, isList: true) }
    case let base as any PolymorphicValue.Type:
      add(base)
      return (base.className, false)
    case let value as any CodableAttributeValue.Type:
      let recorder = FieldRecorder()
      // What a value cannot be decoded for is unknown; a save then names the class.
      _ = try? value.init(from: recorder)
      for base in recorder.bases { add(base) }
      return nil
    default: return nil
    }
  }

  private mutating func add(_ base: any PolymorphicValue.Type) {
    guard !types.contains(where: { $0 == base }) else { return }
    types.append(base)
    for type in base.concreteClasses where type.isKind(of: base) { add(type) }
    guard let recorder = try? FieldRecorder(of: base) else { return }
    for base in recorder.bases { add(base) }
  }

  /// The classes, each with the fields that its ancestors do not have.
  ///
  /// - Parameter problems: gets one for each class whose fields cannot be found.
  func classes(_ problems: inout [ModelFileProblem]) -> [ModelFile.Class] {
    types.map { type in
      var declared = ModelFile.Class(name: type.className)
      let ancestors = ancestors(of: type)
      declared.parent =
        ancestors.max { self.ancestors(of: $0).count < self.ancestors(of: $1).count }?
        .className
      declared.isAbstract = !type.isConcrete
      do {
        let inherited = try ancestors.flatMap { try FieldRecorder(of: $0).fields.map(\.name) }
        declared.fields = try FieldRecorder(of: type).fields.filter { !inherited.contains($0.name) }
      } catch {
        problems.append(
          .init(
            "classes/\(type.className)",
            "the fields cannot be found, as a sample cannot be decoded: \(error). "
              + "An enumeration of a required field has to be CaseIterable"))
      }
      return declared
    }
  }

  private func ancestors(of type: any PolymorphicValue.Type) -> [any PolymorphicValue.Type] {
    types.filter { $0 != type && type.isKind(of: $0) }
  }
}

extension PolymorphicValue {
  /// True if there may be values of this very class.
  fileprivate static var isConcrete: Bool { concreteClasses.contains { $0 == Self.self } }

  fileprivate static func isKind(of base: any PolymorphicValue.Type) -> Bool {
    base.isClass(of: self)
  }

  private static func isClass(of type: any PolymorphicValue.Type) -> Bool { type is Self.Type }
}

private protocol AnyList { static var elementType: Any.Type { get } }

extension Array: AnyList { static var elementType: Any.Type { Element.self } }
extension Set: AnyList { static var elementType: Any.Type { Element.self } }

private protocol AnyPolymorphic { static var base: any PolymorphicValue.Type { get } }

extension Polymorphic: AnyPolymorphic { static var base: any PolymorphicValue.Type { Base.self } }

// MARK: - Recording

/// A decoder that notes the fields that are read, and gives a sample of each.
private final class FieldRecorder: Decoder {
  var fields: [ModelFile.Class.Field] = []
  /// The classes of polymorphic values that were met, at any depth.
  var bases: [any PolymorphicValue.Type] = []
  /// The fields that may be missing.
  var optionalFields: Set<String> = []
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  init() {}

  /// The fields of a class; an abstract one is not decoded and has none.
  init(of type: any PolymorphicValue.Type) throws {
    if type.isConcrete { _ = try type.init(from: self) }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RecordingContainer<Key>(recorder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Self.noFields }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Self.noFields }

  private static let noFields = UnreadableValue("it is not decoded by the names of fields")

  func record(_ name: String, _ type: Any.Type, isOptional: Bool) {
    guard !fields.contains(where: { $0.name == name }) else { return }
    var element = type
    if let list = type as? any AnyList.Type { element = list.elementType }
    var field = ModelFile.Class.Field(name: name, type: fieldType(of: element))
    field.isList = element != type
    field.isOptional = isOptional || optionalFields.contains(name)
    fields.append(field)
  }

  private func fieldType(of type: Any.Type) -> ModelFile.FieldType {
    if let polymorphic = type as? any AnyPolymorphic.Type {
      bases.append(polymorphic.base)
      return .object(polymorphic.base.className)
    }
    if let type = AttributeType(of: type) { return .value(.init(type)) }
    if type is any FixedWidthInteger.Type { return .value(.integer64) }
    if let type = type as? any Decodable.Type {
      let inner = FieldRecorder()
      _ = try? type.init(from: inner)
      bases += inner.bases
    }
    return .dictionary
  }

  private static let samples: [JSON] = [
    .number("0"), .string(""), .boolean(false), .array([]), .string("2001-01-01T00:00:00Z"),
    .string("00000000-0000-0000-0000-000000000000"), .string("a:b"),
  ]

  static func sample<Value: Decodable>(of type: Value.Type) throws -> Value {
    for json in samples {
      if let value = try? ItemCoding.decode(type, from: json) { return value }
    }
    if let cases = type as? any CaseIterable.Type, let value = first(of: cases) as? Value {
      return value
    }
    if let polymorphic = type as? any AnyPolymorphic.Type,
      let value = try sample(of: polymorphic.base) as? Value
    {
      return value
    }
    return try type.init(from: FieldRecorder())
  }

  private static func first(of type: (some CaseIterable).Type) -> Any? { type.allCases.first }

  private static func sample<Base: PolymorphicValue>(of base: Base.Type) throws -> Any? {
    let type = base.concreteClasses.first { $0 is Base.Type }
    return try (type?.init(from: FieldRecorder()) as? Base).map(Polymorphic.init)
  }
}

private struct RecordingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let recorder: FieldRecorder
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }

  func contains(_ key: Key) -> Bool { true }

  /// Foundation's `decodeIfPresent` asks it first.
  func decodeNil(forKey key: Key) -> Bool {
    recorder.optionalFields.insert(key.stringValue)
    return false
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    recorder.record(key.stringValue, type, isOptional: false)
    return try FieldRecorder.sample(of: type)
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) -> Value? {
    recorder.record(key.stringValue, type, isOptional: true)
    return nil
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedDecodingContainer<Nested> {
    superDecoder(named: key.stringValue).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw UnreadableValue("the elements of `\(key.stringValue)` are decoded one by one")
  }

  func superDecoder() -> any Decoder { superDecoder(named: "super") }
  func superDecoder(forKey key: Key) -> any Decoder { superDecoder(named: key.stringValue) }

  private func superDecoder(named name: String) -> FieldRecorder {
    recorder.record(name, [String: JSON].self, isOptional: false)
    return FieldRecorder()
  }
}
