// Fetches of a context.

extension ManagedObjectContext {
  /// Fetches the objects or values of `request`.
  ///
  /// Objects with unsaved changes are evaluated by their current values: a new object that matches
  /// is included, a changed one that no longer matches is not, nor is one that will be deleted;
  /// order, offset and limit apply to the current values. Changes of parent contexts count as well.
  /// All other objects are evaluated as stored, as are values that are not managed objects. Set
  /// ``FetchRequest/includesPendingChanges`` to false to turn this off.
  ///
  /// Properties that a class does not declare cannot be evaluated here. If a predicate or an order
  /// uses one, or compares stored values as a whole, changed objects are found as stored and new
  /// ones are not found.
  ///
  /// An unreadable object, one whose stored values do not fit its class, is left out and reported:
  /// see ``unreadableObjects``.
  ///
  /// ```swift
  /// let large = try await context.fetch(
  ///   City.sortedFetchRequest(where: "%K >= %ld", City.Key.population, 1_000_000))
  /// ```
  ///
  /// - Throws: ``ContextError``; ``ContextError/materialization(_:)`` if objects match and none of
  ///   them is readable, because the declaration is wrong then rather than a value.
  public func fetch<Element: Fetchable>(
    _ request: FetchRequest<Element>, isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> [Element] {
    try request.checkWindow(ContextError.store)
    if let values = try await fetchValues(request, isolation: isolation) { return values }
    guard let view = try await unsavedView(of: request, isolation: isolation) else {
      return try await fetchStored(request, isolation: isolation).elements
    }
    let stored = try await fetchStored(
      view.storedRequest, ordering: view.evaluator?.orderPaths ?? [], isolation: isolation)
    return view.merged(stored, try await unsavedMatches(view, isolation: isolation))
  }

  /// The number of objects that ``fetch(_:isolation:)`` would return: those that match, less the
  /// offset, at most the limit. Unsaved changes count as they do there. Unreadable objects count as
  /// well.
  ///
  /// - Throws: ``ContextError``.
  public func count<Element: Fetchable>(
    _ request: FetchRequest<Element>, isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> Int {
    try request.checkWindow(ContextError.store)
    var count = 0
    for _ in 0..<3 {
      let saved = saves
      count = try await countMatches(request, isolation: isolation)
      // If a save ended meanwhile, its objects may have been counted as stored and as unsaved.
      if saves == saved { break }
    }
    return min(max(0, count - request.fetchOffset), request.fetchLimit ?? .max)
  }

  private func countMatches<Element: Fetchable>(
    _ request: FetchRequest<Element>, isolation: isolated (any Actor)?
  ) async throws(ContextError) -> Int {
    let view = try await unsavedView(of: request, isolation: isolation)
    let omitted: Set = ["limit", "offset", "sort", "select", "expand"]
    let body = request.body().filter { !omitted.contains($0.name) }
    let answer = try await fetchResponse(
      body + [.init(name: "as", value: .string("count"))], isolation: isolation)
    guard let total = answer["total"]?.integer else { throw .store(.notUnderstood("no count")) }
    let count = Int(clamping: total)
    guard let view else { return count }
    let unsaved = try await unsavedMatches(view, isolation: isolation).count
    let excluded = try await stored(view.excluded, request, isolation: isolation).count
    return count - excluded + unsaved
  }

  /// Fetches the only object that matches; nil if none does.
  ///
  /// - Throws: ``ContextError/notUnique(entity:)`` if several do.
  public func fetchSingleObject<Element: Fetchable>(
    _ request: FetchRequest<Element>, isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> Element? {
    var request = request
    request.fetchLimit = 2
    let found = try await fetch(request, isolation: isolation)
    guard found.count < 2 else { throw .notUnique(entity: Element.entityName) }
    return found.first
  }

  // MARK: - By id

  /// The object with this id if it is in memory.
  public func registeredObject<Object: ManagedEntity>(
    _ type: Object.Type = Object.self, with id: ObjectID
  ) -> Object? {
    registeredObject(type, .permanent(id)) as? Object
  }

  /// The object with this id, in memory or as a fault. Its existence is checked when it is
  /// materialized.
  public func object<Object: ManagedEntity>(
    _ type: Object.Type = Object.self, with id: ObjectID
  ) -> Fault<Object> {
    Fault(id: .permanent(id), in: self)
  }

  /// The object with this id, fetched if it is not in memory.
  ///
  /// - Throws: ``ContextError/notFound(entity:id:)`` if it does not exist.
  public func materializedObject<Object: ManagedEntity>(
    _ type: Object.Type = Object.self, with id: ObjectID,
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> Object {
    let found = try await objects(type, with: [id], isolation: isolation)
    guard let object = found.first else {
      throw .notFound(entity: type.entityName, id: .permanent(id))
    }
    return object
  }

  /// The objects with these ids, fetched if they are not in memory. Ids without an object are
  /// skipped, as are unreadable objects; see ``unreadableObjects``.
  public func objects<Object: ManagedEntity>(
    _ type: Object.Type = Object.self, with ids: [ObjectID],
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> [Object] {
    let new = ids.compactMap { registerFromParent(type, .permanent($0)) }
    let missing = ids.filter { registeredObject(type, .permanent($0)) == nil }
    let read = try await read(layout(of: type), ids: missing, isolation: isolation)
    if new.isEmpty, missing.count == ids.count { _ = try read.orThrow() }
    return withExtendedLifetime((new, read)) {
      ids.compactMap { registeredObject(type, .permanent($0)) as? Object }
        .filter { !isDeletedAbove(key(of: $0)) }
    }
  }

  // MARK: - By a value

  /// Finds an object whose property has this value: first in memory, including unsaved ones, then
  /// in the store. The class's default predicate applies, and deleted objects are ignored. O(objects in
  /// memory).
  ///
  /// ```swift
  /// let japan = try await context.findOrFetch(Country.self, where: .code, equals: "JP")
  /// ```
  public func findOrFetch<Object: ManagedObjectType>(
    _ type: Object.Type = Object.self, where key: Object.Key, equals value: some AttributeValue,
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> Object? {
    var request = type.sortedFetchRequest(
      where: FetchPredicate(
        format: "%K == %@", arguments: [.string(key.rawValue), value.predicateArgument]))
    if let object = objectInMemory(request, where: key, equals: value) { return object }
    request.fetchLimit = 1 + updates.count
    let json = try? value.attributeJSON()
    return try await fetch(request, isolation: isolation).first { object in
      // Ignore a stored object whose property was changed in the meantime.
      object.edits[key.rawValue].map { $0 == json } ?? true
    }
  }

  /// Finds an object as ``findOrFetch(_:where:equals:isolation:)`` does, or inserts one with that
  /// value and calls `configure`.
  public func findOrCreate<Object: ManagedObjectType>(
    _ type: Object.Type = Object.self, where key: Object.Key, equals value: some AttributeValue,
    isolation: isolated (any Actor)? = #isolation, configure: (Object) -> Void = { _ in }
  ) async throws(ContextError) -> Object {
    let found = try await findOrFetch(type, where: key, equals: value, isolation: isolation)
    if let found { return found }
    // Another task may have inserted it during the fetch.
    if let object = objectInMemory(type.sortedFetchRequest, where: key, equals: value) {
      return object
    }
    let object = insertObject(type)
    object.setValue(value, for: key)
    configure(object)
    return object
  }

  /// An object in memory whose property has this value and that the request is known to include.
  private func objectInMemory<Object: ManagedObjectType>(
    _ request: FetchRequest<Object>, where key: Object.Key, equals value: some AttributeValue
  ) -> Object? {
    guard let json = try? value.attributeJSON() else { return nil }
    let evaluator = Object.defaultPredicate.flatMap { _ in UnsavedEvaluator(request, in: self) }
    return materializedObject(Object.self) { object in
      guard object.value(for: key) == json else { return false }
      return Object.defaultPredicate == nil || evaluator?.matches(object) == true
    }
  }

  /// An object in memory for which `matches` is true.
  private func materializedObject<Object: ManagedEntity>(
    _ type: Object.Type, where matches: (Object) -> Bool
  ) -> Object? {
    for entry in registry.values {
      guard let object = entry.object as? Object, !object.isDeleted,
        !isDeletedAbove(key(of: object))
      else { continue }
      if matches(object) { return object }
    }
    return nil
  }
}
