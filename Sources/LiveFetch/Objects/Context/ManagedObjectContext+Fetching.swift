// Fetches of a context: requests go to the store, objects and values come back.

extension ManagedObjectContext {
  /// The objects, or values, that `request` means.
  ///
  /// Objects of this context with unsaved changes are judged by their present values, and stand where
  /// these say: a new one that matches is found, one that was changed so that it matches no more is
  /// not, nor is one that is to be deleted; order, offset and limit are theirs too. Changes of the
  /// contexts above count as well. Everything else is as the store has it, and values that are no
  /// managed objects always are. ``FetchRequest/includesPendingChanges`` turns this off.
  ///
  /// What the classes do not declare cannot be judged here: where a predicate or an order names such a
  /// property, or compares what is stored as a whole, changed objects are found as they are stored,
  /// and new ones are not.
  ///
  /// ```swift
  /// let large = try await context.fetch(
  ///   City.sortedFetchRequest(where: "%K >= %ld", City.Key.population, 1_000_000))
  /// ```
  ///
  /// - Throws: ``ContextError``.
  public func fetch<Element: Fetchable>(
    _ request: FetchRequest<Element>, isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> [Element] {
    try Self.checkWindow(of: request)
    guard let view = try await unsavedView(of: request, isolation: isolation) else {
      return try await fetchStored(request, isolation: isolation).map(\.element)
    }
    let stored = try await fetchStored(
      view.rest, ordering: view.judge?.orderPaths ?? [], isolation: isolation)
    return view.merged(stored, try await judged(view, isolation: isolation))
  }

  /// How many objects ``fetch(_:isolation:)`` would give: those that match, less the request's offset,
  /// and at most its limit. Unsaved changes count as there.
  ///
  /// - Throws: ``ContextError``.
  public func count<Element: Fetchable>(
    _ request: FetchRequest<Element>, isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> Int {
    try Self.checkWindow(of: request)
    let view = try await unsavedView(of: request, isolation: isolation)
    let left: Set = ["limit", "offset", "sort", "select", "expand"]
    let body = (view?.rest ?? request).body().filter { !left.contains($0.name) }
    let answer = try await ask(
      body + [.init(name: "as", value: .string("count"))], isolation: isolation)
    guard let total = answer["total"]?.integer else { throw .store(.notUnderstood("no count")) }
    var count = Int(clamping: total)
    if let view { count += try await judged(view, isolation: isolation).count }
    return min(max(0, count - request.fetchOffset), request.fetchLimit ?? .max)
  }

  private static func checkWindow<Element>(
    of request: FetchRequest<Element>
  ) throws(ContextError) {
    do throws(FetchError) {
      try request.checkWindow()
    } catch {
      guard case .store(let reason) = error else { return }
      throw .store(reason)
    }
  }

  /// The one object that matches; nil where none does.
  ///
  /// - Throws: ``ContextError/notUnique(entity:)`` where several do.
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

  /// The object with this id, if it is in memory.
  public func registeredObject<Object: ManagedEntity>(
    _ type: Object.Type = Object.self, with id: ObjectID
  ) -> Object? {
    registeredObject(type, .permanent(id)) as? Object
  }

  /// The object with this id, in memory or not. Whether there is one shows when it is materialized.
  public func object<Object: ManagedEntity>(
    _ type: Object.Type = Object.self, with id: ObjectID
  ) -> Fault<Object> {
    Fault(id: .permanent(id), in: self)
  }

  /// The object with this id, fetched if it is not in memory.
  ///
  /// - Throws: ``ContextError/notFound(entity:id:)`` where there is none.
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

  /// The objects with these ids, fetched as far as they are not in memory; those that do not exist
  /// are left out.
  public func objects<Object: ManagedEntity>(
    _ type: Object.Type = Object.self, with ids: [ObjectID],
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> [Object] {
    let new = ids.compactMap { adoptFromAbove(type, .permanent($0)) }
    let missing = ids.filter { registeredObject(type, .permanent($0)) == nil }
    let read = try await read(layout(of: type), ids: missing, isolation: isolation)
    return withExtendedLifetime((new, read)) {
      ids.compactMap { registeredObject(type, .permanent($0)) as? Object }
        .filter { !isDeletedAbove(key(of: $0)) }
    }
  }

  // MARK: - By a value

  /// An object in memory whose property has this value, unsaved ones too, else one of the store's:
  /// one that the class' default predicate means, and that is not to be deleted.
  ///
  /// ```swift
  /// let japan = try await context.findOrFetch(Country.self, where: .code, equals: "JP")
  /// ```
  public func findOrFetch<Object: ManagedObjectType, Value>(
    _ type: Object.Type = Object.self, where key: Object.Key, equals value: Value,
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> Object?
  where Value: AttributeValue & PredicateArgumentConvertible {
    var request = type.sortedFetchRequest(
      where: FetchPredicate(
        format: "%K == %@", arguments: [.string(key.rawValue), value.predicateArgument]))
    if let object = objectInMemory(request, where: key, equals: value) { return object }
    request.fetchLimit = 1
    return try await fetch(request, isolation: isolation).first
  }

  /// The same, or a new object with that value, which `configure` completes.
  public func findOrCreate<Object: ManagedObjectType, Value>(
    _ type: Object.Type = Object.self, where key: Object.Key, equals value: Value,
    isolation: isolated (any Actor)? = #isolation, configure: (Object) -> Void = { _ in }
  ) async throws(ContextError) -> Object
  where Value: AttributeValue & PredicateArgumentConvertible {
    let found = try await findOrFetch(type, where: key, equals: value, isolation: isolation)
    if let found { return found }
    // Somebody else may have made it while the store was asked.
    if let object = objectInMemory(type.sortedFetchRequest, where: key, equals: value) {
      return object
    }
    let object = insertObject(type)
    object.setValue(value, for: key)
    configure(object)
    return object
  }

  /// An object in memory whose property has this value, and which the request is known to mean.
  private func objectInMemory<Object: ManagedObjectType>(
    _ request: FetchRequest<Object>, where key: Object.Key, equals value: some AttributeValue
  ) -> Object? {
    guard let json = try? value.attributeJSON() else { return nil }
    let judge = Object.defaultPredicate.flatMap { _ in UnsavedJudge(request, in: self) }
    return materializedObject(Object.self) { object in
      guard object.value(for: key) == json else { return false }
      return Object.defaultPredicate == nil || judge?.matches(object) == true
    }
  }

  /// An object in memory whose property has this value.
  public func materializedObject<Object: ManagedObjectType>(
    _ type: Object.Type = Object.self, where key: Object.Key, equals value: some AttributeValue
  ) -> Object? {
    guard let json = try? value.attributeJSON() else { return nil }
    return materializedObject(type) { $0.value(for: key) == json }
  }

  /// An object in memory that `matches`.
  public func materializedObject<Object: ManagedEntity>(
    _ type: Object.Type = Object.self, where matches: (Object) -> Bool
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
