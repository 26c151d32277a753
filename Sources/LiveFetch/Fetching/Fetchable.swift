// Types that a fetch can return.

/// A type whose instances are created from the items of a fetch.
///
/// A `Codable` structure needs only its entity's name:
///
/// ```swift
/// struct City: Codable, Fetchable, Identifiable {
///   static let entityName = "City"
///   let id: Int
///   var name: String
///   var population: Int
/// }
/// ```
///
/// Other types implement ``materialize(_:in:)``.
public protocol Fetchable: SendableMetatype {
  /// The entity's name in the store's model.
  static var entityName: String { get }
  /// The order of requests without sort descriptors.
  static var defaultSortDescriptors: [SortTerm] { get }
  /// The predicate of every request, unless the request ignores it; nil for all objects.
  static var defaultPredicate: FetchPredicate? { get }
  /// The selection of requests that have none; nil for every attribute and to-one relationship.
  static var propertiesToFetch: [String]? { get }
  /// The id of the object from which this instance was created; nil if unknown. The default for
  /// `Identifiable` types is derived from `id`.
  var fetchedObjectID: ObjectID? { get }
  /// Creates an instance from `item`.
  static func materialize(
    _ item: Item, in context: ManagedObjectContext
  ) throws(MaterializationError) -> Self
}

extension Fetchable {
  public static var defaultSortDescriptors: [SortTerm] { [] }
  public static var defaultPredicate: FetchPredicate? { nil }
  public static var propertiesToFetch: [String]? { nil }
  public var fetchedObjectID: ObjectID? { nil }
}

extension Fetchable where Self: Identifiable, ID: PredicateArgumentConvertible {
  public var fetchedObjectID: ObjectID? { ObjectID(json: id.predicateArgument) }
}

/// The reason why an item does not fit the requested type.
public struct MaterializationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The entity's name.
  public let entity: String
  /// The object's id.
  public let id: ObjectID
  /// The property and the reason.
  public let reason: String

  public var description: String { "\(entity) \(id): \(reason)" }
}

/// The keys of an entity's properties: an enumeration with string values.
///
/// ```swift
/// enum Key: String, KeyCodable { case name, population, country }
/// ```
public protocol KeyCodable: RawRepresentable<String>, CaseIterable, Hashable, Sendable,
  PredicateArgumentConvertible
{}

extension KeyCodable {
  public var predicateArgument: JSON { .string(rawValue) }
}
