// The objects of a to-many relationship, which are fetched when they are asked for.

/// The members of an object's to-many relationship.
///
/// Which they are is not told with the object itself: ``ids`` is nil until
/// ``materialize(isolation:)`` asked, or a fetch that prefetched the relationship. Members are added
/// and removed without asking.
///
/// The other side of a relationship shows a change after the save, since the store keeps inverses.
public struct Members<Destination: ManagedEntity> {
  private let owner: ManagedObject
  private let name: String

  init(owner: ManagedObject, name: String) {
    self.owner = owner
    self.name = name
  }

  /// Whom the relationship holds, unsaved changes included, in its order where it has one, else by
  /// id; nil where that was not fetched.
  public var ids: [ManagedObjectID]? { owner.memberIDs(of: name) }

  /// How many there are; nil where that was not fetched.
  public var count: Int? { ids?.count }

  /// The members, if all of them are in memory; nil where one is not.
  public var objects: [Destination]? {
    guard let ids, let context = owner.managedObjectContext else { return nil }
    let found = ids.compactMap { context.registeredObject(Destination.self, $0) as? Destination }
    return found.count == ids.count ? found : nil
  }

  /// Whether a member is not in memory, or it was not fetched which there are.
  public var isFault: Bool { objects == nil }

  public func contains(_ object: Destination) -> Bool? { ids?.contains(object.objectID) }

  // MARK: - Changing

  /// Adds a member; at the end where there is an order.
  public func insert(_ object: Destination) {
    owner.editMembers(of: name) { $0.insert(object.objectID) }
    owner.related[name, default: []].append(object)
  }

  public func remove(_ object: Destination) {
    owner.editMembers(of: name) { $0.remove(object.objectID) }
    owner.related[name]?.removeAll { $0 === object }
  }

  /// Makes exactly these the members, in this order where there is one.
  public func replace(with objects: [Destination]) {
    owner.editMembers(of: name) { $0 = MemberEdits(all: objects.map(\.objectID)) }
    owner.related[name] = objects
  }

  // MARK: - Fetching

  /// The members, fetched as far as they are not in memory.
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
    let new = ids.compactMap { context.adoptFromAbove(Destination.self, $0) }
    let wanted = ids.compactMap(\.permanentID)
    let kept = try await context.objects(Destination.self, with: wanted, isolation: isolation)
    // A member that was deleted meanwhile is none any more.
    let found = ids.compactMap { context.registeredObject(Destination.self, $0) as? Destination }
    withExtendedLifetime((new, kept)) { owner.related[name] = found }
    return found
  }
}
