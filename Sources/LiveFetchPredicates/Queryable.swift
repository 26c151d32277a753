// Entities as Swift types, whose keys typed predicates use. Each name is written once, in the declaration
// of the entity's keys, so that the compiler checks predicates.

import FetchModel

/// An entity whose properties Swift code can name.
///
/// ```swift
/// enum City: Queryable {
///   static let entityName = "City"
///   static let keys = Keys()
///   struct Keys: Sendable {
///     let name = AttributeKey<City, String>("name")
///     let population = AttributeKey<City, Int>("population")
///     let country = ToOne<City, Country>("country")
///     let tags = ToMany<City, Tag>("tags")
///   }
/// }
/// ```
///
/// Predicates are written with key paths into `Keys`, or with a closure that receives the keys:
///
/// ```swift
/// let large: TypedPredicate<City> =
///   \.population >= 1_000_000 && \.country.continent == "Europe"
/// let long = City.predicate { $0.name.length > 20 || any($0.tags.label) == "long" }
/// ```
public protocol Queryable: Sendable {
  /// The keys of its properties; a structure with one member each.
  associatedtype Keys: Sendable

  /// The entity's name in the model.
  static var entityName: String { get }
  /// The keys of the entity's properties.
  static var keys: Keys { get }
}

extension Queryable {
  /// A predicate about this entity, written with its keys.
  public static func predicate(
    _ build: (Keys) -> TypedPredicate<Self>
  ) -> TypedPredicate<Self> {
    build(keys)
  }

  /// A predicate about this entity, written with key paths.
  public static func predicate(_ predicate: TypedPredicate<Self>) -> TypedPredicate<Self> {
    predicate
  }

  /// SELF: the object itself, compared by its id.
  public static var object: ToOne<Self, Self> { ToOne(KeyPathSteps(base: nil, names: [])) }
}

/// The steps of a key path of the predicate language: names that start at the object or at `base`.
struct KeyPathSteps: Sendable, Hashable {
  var base: FetchModel.Expression?
  var names: [KeyPathComponent]

  func appending(_ other: KeyPathSteps) -> KeyPathSteps {
    KeyPathSteps(base: base, names: names + other.names)
  }

  func appending(operator name: String) -> KeyPathSteps {
    KeyPathSteps(base: base, names: names + [KeyPathComponent(.collectionOperator(name))])
  }

  /// The key path as an expression.
  var expression: FetchModel.Expression {
    if names.isEmpty { return base ?? FetchModel.Expression(.object) }
    return FetchModel.Expression(.keyPath(base: base, names))
  }
}

extension KeyPathSteps {
  init(_ name: String) { self.init(base: nil, names: [KeyPathComponent(.name(name))]) }
}

// MARK: - Keys

/// An attribute, or a key path over to-one relationships that ends with an attribute.
///
/// `Value` is the type of the attribute's values other than nil; every key may be compared with
/// `nil`.
public struct AttributeKey<Root: Queryable, Value: PredicateValue>: TypedValue {
  let steps: KeyPathSteps

  /// The attribute called `name`.
  public init(_ name: String) { steps = KeyPathSteps(name) }

  init(_ steps: KeyPathSteps) { self.steps = steps }

  /// The key path as an expression of the predicate language.
  public var expression: FetchModel.Expression { steps.expression }
}

/// A to-one relationship. It is compared by ids, and its members are the destination's keys:
/// `\.country == 5`, `\.country.name == "Peru"`.
@dynamicMemberLookup
public struct ToOne<Root: Queryable, Destination: Queryable>: TypedValue {
  /// Objects are compared by their ids.
  public typealias Value = IDValue

  let steps: KeyPathSteps

  /// The relationship called `name`.
  public init(_ name: String) { steps = KeyPathSteps(name) }

  init(_ steps: KeyPathSteps) { self.steps = steps }

  /// The key path as an expression of the predicate language.
  public var expression: FetchModel.Expression { steps.expression }

  /// An attribute of the destination.
  public subscript<Value>(
    dynamicMember key: KeyPath<Destination.Keys, AttributeKey<Destination, Value>>
  ) -> AttributeKey<Root, Value> {
    AttributeKey(steps.appending(Destination.keys[keyPath: key].steps))
  }

  /// A to-one relationship of the destination.
  public subscript<Next>(
    dynamicMember key: KeyPath<Destination.Keys, ToOne<Destination, Next>>
  ) -> ToOne<Root, Next> {
    ToOne<Root, Next>(steps.appending(Destination.keys[keyPath: key].steps))
  }

  /// A to-many relationship of the destination.
  public subscript<Next>(
    dynamicMember key: KeyPath<Destination.Keys, ToMany<Destination, Next>>
  ) -> ToMany<Root, Next> {
    ToMany<Root, Next>(steps.appending(Destination.keys[keyPath: key].steps))
  }
}
