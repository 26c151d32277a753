// Entities as classes: the declarations from which a context creates objects.

/// A class of managed objects that can be fetched. Classes of concrete entities conform to
/// ``ManagedObjectType``; an abstract parent entity conforms to this protocol only.
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
  /// The classes of the direct subentities. A fetch creates an object of its entity's class, or of
  /// this class if that entity is not listed.
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
/// The keys' raw values are the names in the store's model. A property with an initial value has it
/// in a new object and saves it; an optional property that was never set gets the store's default.
/// ``ManagedObjectContext`` inserts, finds and saves the objects.
public protocol ManagedObjectType: ManagedEntity {
  /// The keys of the entity's properties.
  associatedtype Key: KeyCodable

  /// Validates one property; called before a save for every property that it writes. The default
  /// accepts every value.
  ///
  /// - Throws: ``ValidationFailure``, or any error, whose description becomes the reason.
  func validateValue(for key: Key) throws
  /// Generates an id for ``ManagedObjectContext/obtainPermanentIDs(for:)``. The default is a random
  /// integer of 52 bits; override it for an entity whose key is text or a UUID.
  static func makePermanentID() -> ObjectID

  // A subentity inherits the conformance to `Fetchable` from its parent, and with it the parent's defaults.
  // Requirements of this protocol, to which it conforms itself, find those that it declares.

  /// The order of requests without sort descriptors.
  @_nonoverride static var defaultSortDescriptors: [SortTerm] { get }
  /// The predicate of every request, unless the request ignores it; nil for all objects.
  @_nonoverride static var defaultPredicate: FetchPredicate? { get }
  /// The selection of requests that have none: all that the class declares.
  @_nonoverride static var propertiesToFetch: [String]? { get }
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

extension Fetchable {
  private static var ownDefaults: (any ManagedObjectType.Type)? {
    Self.self as? any ManagedObjectType.Type
  }

  /// The default order, which is a subentity's own if it declares one.
  static var effectiveSortDescriptors: [SortTerm] {
    ownDefaults?.defaultSortDescriptors ?? defaultSortDescriptors
  }

  /// The default predicate, which is a subentity's own if it declares one.
  static var effectivePredicate: FetchPredicate? {
    if let ownDefaults { ownDefaults.defaultPredicate } else { defaultPredicate }
  }

  /// The default selection, which is a subentity's own if it declares one.
  static var effectiveSelection: [String]? {
    if let ownDefaults { ownDefaults.propertiesToFetch } else { propertiesToFetch }
  }

  /// All objects of the default predicate, in the default order.
  public static var sortedFetchRequest: FetchRequest<Self> {
    FetchRequest(sortedBy: effectiveSortDescriptors)
  }

  /// The objects that match the default predicate and this one, in the default order.
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

  /// The objects that match the default predicate and this one, in the default order.
  public static func sortedFetchRequest(where predicate: FetchPredicate) -> FetchRequest<Self> {
    FetchRequest(where: predicate, sortedBy: effectiveSortDescriptors)
  }
}
