// A reference to an object that may not be in memory.

/// References an object of a relationship, or one requested by id. Reading the object is
/// asynchronous, because the store may be remote. A fault has no attributes, so nothing outdated
/// can be read from it.
///
/// ```swift
/// city.mayor?.id                                 // known at once
/// city.mayor?.object?.name                       // nil unless the mayor is in memory
/// try await city.mayor?.materialize().name       // fetched unless it is in memory
/// city.mayor = Fault(person)
/// ```
public struct Fault<Destination: ManagedEntity>: Hashable {
  /// The id with which the fault was made.
  private let givenID: ManagedObjectID
  /// The object whose relationship this is; nil without one.
  private let owner: ManagedObject?
  /// The relationship of the owner; empty without one.
  private let relationshipName: String
  private let target: Destination?
  private let context: ManagedObjectContext?

  /// References an existing object.
  public init(_ object: Destination) {
    givenID = object.objectID
    target = object
    owner = nil
    relationshipName = ""
    context = object.managedObjectContext
  }

  init(id: ManagedObjectID, owner: ManagedObject, name: String) {
    givenID = id
    self.owner = owner
    relationshipName = name
    target = nil
    context = nil
  }

  init(id: ManagedObjectID, in context: ManagedObjectContext) {
    givenID = id
    owner = nil
    relationshipName = ""
    target = nil
    self.context = context
  }

  private var resolvedContext: ManagedObjectContext? { context ?? owner?.managedObjectContext }

  /// The id of the related object: temporary until the object is saved.
  public var id: ManagedObjectID {
    guard givenID.isTemporary else { return givenID }
    if let target { return target.objectID }
    return resolvedContext?.permanentID(for: givenID).map { .permanent($0) } ?? givenID
  }

  /// The object if it is in memory.
  public var object: Destination? {
    target ?? resolvedContext?.registeredObject(Destination.self, id) as? Destination
  }

  /// True if the object is not in memory.
  public var isFault: Bool { object == nil }

  /// Returns the object, fetched if it is not in memory. The owner of the relationship retains it
  /// from then on, unless the object retains the owner.
  ///
  /// - Throws: ``ContextError``; ``ContextError/notFound(entity:id:)`` if it was deleted.
  @discardableResult
  public func materialize(
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> Destination {
    if let object {
      retainByOwner(object)
      return object
    }
    guard let resolvedContext else { throw .detached }
    if let new = resolvedContext.registerFromParent(Destination.self, id) as? Destination {
      retainByOwner(new)
      return new
    }
    guard let permanentID = id.permanentID else {
      throw .notFound(entity: Destination.entityName, id: id)
    }
    let object = try await resolvedContext.materializedObject(
      Destination.self, with: permanentID, isolation: isolation)
    retainByOwner(object)
    return object
  }

  /// Makes the owner retain the object if the relationship still has its id.
  private func retainByOwner(_ object: Destination) {
    guard let owner, owner.current(relationshipName) == id.json else { return }
    owner.retain([object], as: relationshipName)
  }

  /// Faults that were made with one id are equal, whatever their contexts. A save that makes the id
  /// permanent does not change them.
  public static func == (left: Fault, right: Fault) -> Bool { left.givenID == right.givenID }

  /// Hashes the id with which the fault was made.
  public func hash(into hasher: inout Hasher) { hasher.combine(givenID) }
}
