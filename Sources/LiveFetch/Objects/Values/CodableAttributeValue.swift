// `Codable` types ↔ the JSON value of one attribute: a JSON column, or a transformable attribute of a model.

import Foundation

/// A `Codable` type that one attribute stores as JSON.
///
/// ```swift
/// struct Address: CodableAttributeValue { var street: String, town: String }
/// final class Person: ManagedObject, ManagedObjectType {
///   enum Key: String, KeyCodable { case address }
///   @Managed(.address) var address: Address?
/// }
/// ```
public protocol CodableAttributeValue: AttributeValue, Codable {}

extension CodableAttributeValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> Self {
    try ItemCoding.decode(Self.self, from: try json.checkedForError())
  }

  public func attributeJSON() throws(UnreadableValue) -> JSON { try ItemCoding.encode(self) }
}

extension JSON {
  /// This value; throws if the store reported that it cannot read it.
  func checkedForError() throws(UnreadableValue) -> JSON {
    if let reason = self["$error"]?.string { throw UnreadableValue(reason) }
    return self
  }
}

/// The base class of a transformable attribute's values. Subclasses may have further fields.
///
/// The base class lists the allowed classes. A value of any other class is refused, so that stored
/// data cannot create an instance of an arbitrary class. A base class that does not list itself is
/// abstract.
///
/// ```swift
/// class Skill: PolymorphicValue {
///   class var concreteClasses: [any PolymorphicValue.Type] { [HeroSkill.self, VillainSkill.self] }
///   let name: String
///   …
/// }
/// final class HeroSkill: Skill { let justicePower: Int … }
/// ```
///
/// In JSON, `$class` names the class: `{"$class":"HeroSkill","name":"英雄怒视",…}`. Instances should be
/// immutable: an attribute detects assignments, not changes within a value.
public protocol PolymorphicValue: AnyObject, AttributeValue, Codable {
  /// The allowed classes; by default this class only.
  static var concreteClasses: [any PolymorphicValue.Type] { get }
  /// The value of `$class`; by default the name of the Swift class.
  static var className: String { get }
}

extension PolymorphicValue {
  public static var concreteClasses: [any PolymorphicValue.Type] { [Self.self] }
  public static var className: String { "\(Self.self)" }

  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> Self {
    try ItemCoding.decode(Polymorphic<Self>.self, from: try json.checkedForError()).value
  }

  public func attributeJSON() throws(UnreadableValue) -> JSON {
    try ItemCoding.encode(Polymorphic(self))
  }

  /// Returns the allowed class with this ``className``; throws if there is none.
  fileprivate static func concreteClass(
    _ name: String
  ) throws(UnreadableValue) -> any PolymorphicValue.Type {
    if let found = concreteClasses.first(where: { $0.className == name && $0 is Self.Type }) {
      return found
    }
    if name == className { throw UnreadableValue("`\(name)` is abstract") }
    throw UnreadableValue("`\(name)` is not a declared class of \(className)")
  }
}

/// A polymorphic value inside another `Codable` value.
///
/// ```swift
/// weapon = try container.decodeIfPresent(Polymorphic<Weapon>.self, forKey: .weapon)?.value
/// try container.encodeIfPresent(weapon.map(Polymorphic.init), forKey: .weapon)
/// ```
public struct Polymorphic<Base: PolymorphicValue>: Codable {
  /// The value, of the concrete class that was encoded.
  public let value: Base

  /// Wraps a value, so that it is encoded with its class.
  public init(_ value: Base) { self.value = value }

  private enum Key: String, CodingKey { case className = "$class" }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let name = try container.decodeIfPresent(String.self, forKey: .className)
    guard let name else { throw Self.corrupted("needs a `$class`", decoder) }
    do {
      let decoded = try Base.concreteClass(name).init(from: decoder)
      guard let value = decoded as? Base else {
        throw UnreadableValue("`\(name)` is not a class of \(Base.className)")
      }
      self.value = value
    } catch let error as UnreadableValue {
      throw Self.corrupted(error.reason, decoder)
    }
  }

  public func encode(to encoder: any Encoder) throws {
    let name = type(of: value).className
    _ = try Base.concreteClass(name)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(name, forKey: .className)
    try value.encode(to: encoder)
  }

  private static func corrupted(_ reason: String, _ decoder: any Decoder) -> DecodingError {
    .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: reason))
  }
}
