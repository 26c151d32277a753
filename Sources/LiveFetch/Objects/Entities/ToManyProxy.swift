// The objects of a to-many relationship, fetched on request.

/// The members of an object's to-many relationship.
///
/// A fetch of the object does not include its members: ``ids`` is nil until
/// ``materialize(isolation:)`` or a fetch that prefetches the relationship. Members can be added and
/// removed without fetching.
///
/// The inverse relationship shows a change after the save, because the store maintains inverses.
public struct ToManyProxy<Destination: ManagedEntity> {
  private let owner: ManagedObject
  private let name: String

  init(owner: ManagedObject, name: String) {
    self.owner = owner
    self.name = name
  }

  /// The members' ids including unsaved changes, in the relationship's order or by id; nil if they
  /// were not fetched.
  public var ids: [ManagedObjectID]? { owner.memberIDs(of: name) }

  /// The number of members; nil if they were not fetched.
  public var count: Int? { ids?.count }

  /// The members if all of them are in memory; otherwise nil.
  public var objects: [Destination]? {
    guard let ids, let context = owner.managedObjectContext else { return nil }
    let found = ids.compactMap { context.registeredObject(Destination.self, $0) as? Destination }
    return found.count == ids.count ? found : nil
  }

  /// True if a member is not in memory or the members were not fetched.
  public var isFault: Bool { objects == nil }

  /// True if the object is a member; nil if the members were not fetched.
  public func contains(_ object: Destination) -> Bool? {
    owner.isMember(object.objectID, of: name)
  }

  // MARK: - Changing

  /// Adds a member; at the end of an ordered relationship.
  public func insert(_ object: Destination) {
    owner.editMembers(of: name, [object.objectID]) { $0.insert(object.objectID) }
    owner.addRetained(object, as: name)
  }

  /// Removes a member; nothing happens if the object is not a member.
  public func remove(_ object: Destination) {
    owner.editMembers(of: name, [object.objectID]) { $0.remove(object.objectID) }
    owner.related[name]?.remove(object)
  }

  /// Replaces the members, in this order for an ordered relationship.
  public func replace(with objects: [Destination]) {
    let ids = objects.map(\.objectID)
    owner.editMembers(of: name, ids) { $0 = MemberEdits(all: InsertionOrderedSet(ids)) }
    owner.retain(objects, as: name)
  }

  // MARK: - Fetching

  /// The members, fetched as far as they are not in memory. The owner of the relationship retains
  /// them from then on, except those that retain the owner.
  ///
  /// - Throws: ``ContextError``.
  @discardableResult
  public func materialize(
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> [Destination] {
    guard let context = owner.managedObjectContext else { throw .detached }
    if owner.memberIDs(of: name) == nil {
      try await context.fetchMembers(of: owner, name, isolation: isolation)
    }
    let ids = owner.memberIDs(of: name) ?? []
    let new = ids.compactMap { context.registerFromParent(Destination.self, $0) }
    let wanted = ids.compactMap(\.permanentID)
    let kept = try await context.objects(Destination.self, with: wanted, isolation: isolation)
    // Leaves out members that were deleted in the meantime.
    let found = ids.compactMap { context.registeredObject(Destination.self, $0) as? Destination }
    withExtendedLifetime((new, kept)) { owner.retain(found, as: name) }
    return found
  }
}
