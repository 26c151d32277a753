// Fetches of a context: requests go to the store, objects and values come back.

extension ManagedObjectContext {
  /// The objects, or values, that `request` means, as the store has them: what is not saved yet does
  /// not match, and an object that is to be deleted is left out.
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
    let start = saves
    let prefetch = request.relationshipsToPrefetch
    let answer = try await ask(body(of: request), isolation: isolation)
    guard let state = ResultState(json: answer) else {
      throw .store(.notUnderstood("no snapshot"))
    }
    root.noteMoment(state.token)
    let items = state.sections.flatMap(\.items)
    try await completeItems(items, as: Element.self, isolation: isolation)
    defer { wholeItems = [:] }
    var elements: [Element] = []
    try reading(since: start) { () throws(MaterializationError) in
      for item in items { elements.append(try Element.materialize(item, in: self)) }
    }
    if !prefetch.isEmpty, let type = Element.self as? any ManagedEntity.Type {
      try keepIncluded(answer["included"], prefetch, of: elements as [Any], type, start)
    }
    processChangesOfTree()
    return elements.filter { ($0 as? ManagedObject)?.isDeleted != true }
  }

  /// How many objects match, whatever the request's window.
  public func count<Element: Fetchable>(
    _ request: FetchRequest<Element>, isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> Int {
    let left: Set = ["limit", "offset", "sort", "select", "expand"]
    let body = request.body().filter { !left.contains($0.name) }
    let answer = try await ask(
      body + [.init(name: "as", value: .string("count"))], isolation: isolation)
    guard let total = answer["total"]?.integer else { throw .store(.notUnderstood("no count")) }
    return Int(clamping: total)
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

  /// An object in memory whose property has this value, unsaved ones too, else one of the store's.
  ///
  /// ```swift
  /// let japan = try await context.findOrFetch(Country.self, where: .code, equals: "JP")
  /// ```
  public func findOrFetch<Object: ManagedObjectType, Value>(
    _ type: Object.Type = Object.self, where key: Object.Key, equals value: Value,
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) -> Object?
  where Value: AttributeValue & PredicateArgumentConvertible {
    if let object = materializedObject(type, where: key, equals: value) { return object }
    var request = type.sortedFetchRequest(
      where: FetchPredicate(
        format: "%K == %@", arguments: [.string(key.rawValue), value.predicateArgument]))
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
    if let object = materializedObject(type, where: key, equals: value) { return object }
    let object = insertObject(type)
    object.setValue(value, for: key)
    configure(object)
    return object
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
      if let object = entry.object as? Object, !object.isDeleted, matches(object) { return object }
    }
    return nil
  }
}
