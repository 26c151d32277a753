// Entities as classes: what a class says of itself so that a context can make its objects.

/// A class of managed objects that can be fetched. Entities of their own are ``ManagedObjectType``;
/// an abstract parent entity, of which there are only subentities' objects, conforms to this alone.
///
/// ```swift
/// class Human: ManagedObject, ManagedEntity {
///   class var entityName: String { "Human" }
///   class var subentities: [any ManagedEntity.Type] { [Hero.self, Villain.self] }
///   enum HumanKey: String, KeyCodable { case name, skill }
///   @ManagedAttribute(HumanKey.name) var name = ""
/// }
/// final class Hero: Human, ManagedObjectType {
///   override class var entityName: String { "Hero" }
///   enum Key: String, KeyCodable { case name, skill, power }
///   @Managed(.power) var power = 1
/// }
/// let everyone = try await context.fetch(Human.sortedFetchRequest)  // heroes and villains
/// ```
public protocol ManagedEntity: ManagedObject, Fetchable {
  /// The classes of the entities below this one. A fetch makes an object of the class of its entity,
  /// and of this class where none is listed.
  static var subentities: [any ManagedEntity.Type] { get }
}

/// A class of managed objects: an entity's name, the keys of its properties, and the properties.
///
/// ```swift
/// final class City: ManagedObject, ManagedObjectType {
///   static let entityName = "City"
///   static let defaultSortDescriptors = [SortTerm.ascending(Key.name)]
///   enum Key: String, KeyCodable { case name, population, mayor }
///
///   @Managed(.name) var name = ""
///   @Managed(.population) var population: Int?
///   @ManagedToOne(.mayor) var mayor: Fault<Person>?
/// }
/// ```
///
/// The keys' texts are the names in the store's model. A property declared with a value begins with
/// it in a new object and is saved with it; an optional one that was never assigned is left to the
/// store's default. ``ManagedObjectContext`` makes, finds and saves the objects.
public protocol ManagedObjectType: ManagedEntity {
  /// The keys of the entity's properties.
  associatedtype Key: KeyCodable

  /// Own rules for one property, asked before a save for every property that it would write. The
  /// default has none.
  ///
  /// - Throws: ``ValidationFailure``, or any error, whose description is then the reason.
  func validateValue(for key: Key) throws
  /// An id for an object that is to have one before it is saved, see
  /// ``ManagedObjectContext/obtainPermanentIDs(for:)``. The default is a random integer of 52 bits;
  /// an entity whose key is text or a UUID gives its own.
  static func makePermanentID() -> ObjectID
}

extension ManagedEntity {
  public static var subentities: [any ManagedEntity.Type] { [] }

  /// The declared attributes and to-one relationships.
  public static var propertiesToFetch: [String]? {
    let names = EntityLayout(Self.self).itemNames
    return names.isEmpty ? nil : names
  }

  public var fetchedObjectID: ObjectID? { objectID.permanentID }

  public static func materialize(
    _ item: Item, in context: ManagedObjectContext
  ) throws(MaterializationError) -> Self {
    let object = try context.register(item, as: Self.self)
    guard let object = object as? Self else {
      throw MaterializationError(
        entity: entityName, id: item.id, reason: "is in use as \(type(of: object))")
    }
    return object
  }
}

extension ManagedObjectType {
  public func validateValue(for key: Key) throws {}

  public static func makePermanentID() -> ObjectID { .integer(Int64.random(in: 1 << 40..<1 << 52)) }
}

extension FetchRequest where Element: ManagedObjectType {
  /// Has the fetch bring the objects of these relationships along.
  public mutating func prefetch(_ relationships: Element.Key...) {
    relationshipsToPrefetch += relationships.map(\.rawValue)
  }
}

extension Fetchable {
  /// Every object that the default predicate means, in the default order.
  public static var sortedFetchRequest: FetchRequest<Self> {
    FetchRequest(sortedBy: defaultSortDescriptors)
  }

  /// The objects that a predicate means as well, in the default order.
  ///
  /// ```swift
  /// City.sortedFetchRequest(where: "%K >= %ld", City.Key.population, 1_000_000)
  /// ```
  public static func sortedFetchRequest(
    where format: String, _ arguments: any PredicateArgumentConvertible...
  ) -> FetchRequest<Self> {
    sortedFetchRequest(
      where: FetchPredicate(format: format, arguments: arguments.map(\.predicateArgument)))
  }

  /// The objects that a predicate means as well, in the default order.
  public static func sortedFetchRequest(where predicate: FetchPredicate) -> FetchRequest<Self> {
    FetchRequest(where: predicate, sortedBy: defaultSortDescriptors)
  }

  /// The objects that a predicate means as well, which the compiler checked.
  public static func sortedFetchRequest<Root>(
    where predicate: TypedPredicate<Root>
  ) -> FetchRequest<Self> {
    sortedFetchRequest(where: FetchPredicate(predicate))
  }
}
