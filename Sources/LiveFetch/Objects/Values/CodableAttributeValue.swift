// Structures, enumerations and classes as the values of one attribute: JSON columns, and the
// transformable attributes of a model.

import Foundation

/// A `Codable` type that one attribute holds as a whole, as JSON.
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
  /// This value; a stored one that the store cannot read any more says why.
  func checkedForError() throws(UnreadableValue) -> JSON {
    if let reason = self["$error"]?.string { throw UnreadableValue(reason) }
    return self
  }
}

/// A class of a transformable attribute's values, which may have subclasses with fields of their own.
///
/// The base lists what there may be. What it does not list is refused by its name, whoever sends it:
/// the list is the border that keeps a stored value from making an instance of just any class. A
/// base that does not list itself is abstract, and can be neither read nor written.
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
/// In JSON the class stands under `$class`: `{"$class":"HeroSkill","name":"英雄怒视",…}`. Instances
/// should not change: an attribute notices what is assigned to it, not what happens within.
public protocol PolymorphicValue: AnyObject, AttributeValue, Codable {
  /// The classes that values may be of. Without a list of one's own, this class alone.
  static var concreteClasses: [any PolymorphicValue.Type] { get }
  /// What `$class` says; the name of the Swift class.
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

  /// The class called `name`, if it may make a value of this one.
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

/// A polymorphic value inside another `Codable` one.
///
/// ```swift
/// weapon = try container.decodeIfPresent(Polymorphic<Weapon>.self, forKey: .weapon)?.value
/// try container.encodeIfPresent(weapon.map(Polymorphic.init), forKey: .weapon)
/// ```
public struct Polymorphic<Base: PolymorphicValue>: Codable {
  public let value: Base

  public init(_ value: Base) { self.value = value }

  private enum Key: String, CodingKey { case className = "$class" }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let name = try container.decodeIfPresent(String.self, forKey: .className)
    guard let name else { throw Self.corrupted("needs a `$class`", decoder) }
    do {
      let found = try Base.concreteClass(name).init(from: decoder)
      guard let value = found as? Base else {
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
