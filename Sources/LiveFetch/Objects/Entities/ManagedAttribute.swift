// The property wrappers `@Managed` and `@ManagedDerived` of attributes, and the short names of all wrappers.

import FetchModel

extension ManagedObjectType {
  /// An attribute: `@Managed(.name) var name = ""`.
  public typealias Managed<Value> = ManagedAttribute<Key, Value>
  /// An attribute that the store computes: `@ManagedDerived(.total) var total: Int?`.
  public typealias ManagedDerived<Value> = DerivedAttribute<Key, Value>
  /// A to-one relationship: `@ManagedToOne(.mayor) var mayor: Fault<Person>?`.
  public typealias ManagedToOne<Destination: ManagedEntity> = ToOneRelationship<Key, Destination>
  /// A to-many relationship: `@ManagedToMany(.cities) var cities: ToManyProxy<City>`.
  public typealias ManagedToMany<Destination: ManagedEntity> = ToManyRelationship<Key, Destination>
}

/// An attribute of a managed object.
///
/// ```swift
/// @Managed(.name) var name = ""                                  // required
/// @Managed(.due) var due: Date?                                  // optional
/// @Managed(.mood) var mood = Mood.calm                           // an enumeration with raw values
/// @Managed(.skill) var skill: Skill?                             // a polymorphic value
/// @Managed(.colour, transformer: "HexColour") var colour: Colour?
/// @Managed(.legacy) var legacy: Result<Mood, UnreadableValue>?   // a failure if unreadable
/// ```
///
/// Reading an attribute never fails. If a stored value is missing or not of the declared type, the object
/// is refused with a ``MaterializationError`` when it is received.
@propertyWrapper
public struct ManagedAttribute<Key: KeyCodable, Value>: DeclaredProperty {
  let key: Key
  let initial: Value
  /// True if the declaration gives the initial value, with which a new object is then saved; false for the
  /// implicit nil of an optional attribute.
  let isInitialSaved: Bool
  let coding: AttributeCoding<Value>

  /// An attribute with an initial value, which is saved with a new object.
  public init(wrappedValue: Value, _ key: Key) where Value: AttributeValue {
    self.init(key, initial: wrappedValue, isInitialSaved: true, AttributeCoding())
  }

  /// An optional attribute, initially nil.
  public init(_ key: Key) where Value: AttributeValue & ExpressibleByNilLiteral {
    self.init(key, initial: nil, isInitialSaved: false, AttributeCoding())
  }

  /// An optional attribute with a transformer.
  public init<Wrapped, Stored: AttributeValue>(
    _ key: Key, transformer: AttributeTransformer<Wrapped, Stored>
  ) where Value == Wrapped? {
    self.init(key, initial: nil, isInitialSaved: false, transformer.coding.optional)
  }

  /// An optional attribute with the transformer that is registered under the name `transformer`.
  public init<Wrapped>(_ key: Key, transformer: String) where Value == Wrapped? {
    self.init(
      key, initial: nil, isInitialSaved: false,
      AttributeCoding<Wrapped>(transformer: transformer).optional)
  }

  /// A required attribute with a transformer.
  public init<Stored: AttributeValue>(
    wrappedValue: Value, _ key: Key, transformer: AttributeTransformer<Value, Stored>
  ) {
    self.init(key, initial: wrappedValue, isInitialSaved: true, transformer.coding)
  }

  private init(
    _ key: Key, initial: Value, isInitialSaved: Bool, _ coding: AttributeCoding<Value>
  ) {
    self.key = key
    self.initial = initial
    self.isInitialSaved = isInitialSaved
    self.coding = coding
  }

  @available(*, unavailable, message: "attributes belong to managed objects")
  public var wrappedValue: Value {
    get { initial }
    set { _ = newValue }
  }

  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner,
    wrapped wrapped: ReferenceWritableKeyPath<Owner, Value>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Value {
    get {
      let attribute = owner[keyPath: storage]
      return owner.value(of: attribute.name, initial: attribute.initial, attribute.coding)
    }
    set {
      let attribute = owner[keyPath: storage]
      owner.setValue(newValue, of: attribute.name, attribute.coding.encode)
    }
  }

  var name: String { key.rawValue }

  var layout: PropertyLayout {
    let initialJSON = isInitialSaved ? try? coding.encode(initial) : nil
    return PropertyLayout(
      name: name, kind: .attribute(initial: initialJSON),
      kinds: coding.isOwn ? ItemValue.Kinds(fitting: Value.self) : [],
      type: coding.isOwn ? AttributeType(of: Value.self) : nil,
      valueType: coding.isOwn ? Value.self as Any.Type : nil,
      className: coding.isOwn ? PropertyLayout.className(of: Value.self) : nil
    ) { [coding] in coding.problem(with: $0) }
  }
}

/// An attribute that the store computes from others and that no save writes. It is nil until the
/// object is saved, and afterwards the value that the store returned last.
///
/// ```swift
/// @ManagedDerived(.memberCount, from: "members.@count") var memberCount: Int?
/// ```
///
/// The expression, in Core Data's syntax, is for `ModelFile(of:)` only; a store has its own model.
@propertyWrapper
public struct DerivedAttribute<Key: KeyCodable, Value>: DeclaredProperty {
  let key: Key
  let coding: AttributeCoding<Value?>
  private let expression: String?

  /// - Parameters:
  ///   - key: the attribute's key.
  ///   - expression: how the value is computed, such as `members.@count`.
  public init(_ key: Key, from expression: String? = nil) where Value: AttributeValue {
    self.key = key
    self.expression = expression
    coding = AttributeCoding<Value?>()
  }

  @available(*, unavailable, message: "attributes belong to managed objects")
  public var wrappedValue: Value? { nil }

  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner,
    wrapped wrapped: KeyPath<Owner, Value?>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Value? {
    let attribute = owner[keyPath: storage]
    return owner.value(of: attribute.name, initial: nil, attribute.coding)
  }

  var name: String { key.rawValue }

  var layout: PropertyLayout {
    PropertyLayout(
      name: name, kind: .attribute(initial: nil), kinds: ItemValue.Kinds(fitting: Value?.self),
      type: AttributeType(of: Value.self), valueType: Value.self, isDerived: true,
      derivation: expression
    ) { [coding] in coding.problem(with: $0) }
  }
}
