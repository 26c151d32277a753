// Swift types that a fetch can give.

/// A type whose instances are made of the items of a fetch.
///
/// A `Codable` structure needs its entity's name alone:
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
/// Any other type says itself how it is made of an item.
public protocol Fetchable {
  /// The entity's name in the store's model.
  static var entityName: String { get }
  /// How a request sorts that does not say.
  static var defaultSortDescriptors: [SortTerm] { get }
  /// Which objects a request means that does not say; nil: all of them.
  static var defaultPredicate: FetchPredicate? { get }
  /// What a request selects that does not say; nil: every attribute and to-one relationship.
  static var propertiesToFetch: [String]? { get }
  /// The id of the object that this instance was made of; nil where it does not know. An
  /// `Identifiable` instance knows it by its `id`.
  var fetchedObjectID: ObjectID? { get }
  /// The instance that `item` stands for.
  static func materialize(
    _ item: Item, in context: ManagedObjectContext
  ) throws(MaterializationError) -> Self
}

extension Fetchable {
  public static var defaultSortDescriptors: [SortTerm] { [] }
  public static var defaultPredicate: FetchPredicate? { nil }
  public static var propertiesToFetch: [String]? { nil }
}

extension Fetchable {
  public var fetchedObjectID: ObjectID? { nil }
}

extension Fetchable where Self: Identifiable, ID: PredicateArgumentConvertible {
  public var fetchedObjectID: ObjectID? { ObjectID(json: id.predicateArgument) }
}

/// Why an item does not make an instance of the type that was asked for.
public struct MaterializationError: Error, Sendable, Hashable, CustomStringConvertible {
  public let entity: String
  public let id: ObjectID
  /// Which property, and what is wrong with it.
  public let reason: String

  public var description: String { "\(entity) \(id): \(reason)" }
}

/// The keys of an entity's properties: an enumeration of texts.
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

/// Any item as it is: for entities that have no type of their own.
extension Item: PredicateArgumentConvertible {
  public var predicateArgument: JSON { id.predicateArgument }
}
