// Reads for a context's fetches: store requests, properties of subentities, prefetched
// relationships.

import FetchModel

extension ManagedObjectContext {
  /// Fetches the store's response to a request.
  func fetchResponse(
    _ body: [JSON.Member], isolation: isolated (any Actor)?
  ) async throws(ContextError) -> JSON {
    let answer: JSON
    do throws(ObjectStoreError) {
      answer = try await store.fetch(.object(body))
    } catch {
      throw .store(error)
    }
    await awaitRunningSave(isolation: isolation)
    return answer
  }

  /// Fetches a snapshot. Its items are read outside of the caller's actor. A snapshot that a save or a
  /// merge overtook is fetched again: its objects would get old values, and deleted ones would come back.
  /// If the second one is not newer either, the store was restored from a backup.
  func fetchState(
    _ body: [JSON.Member], isolation: isolated (any Actor)?
  ) async throws(ContextError) -> (answer: JSON, state: ResultState) {
    let answer = try await receiveState(body, isolation: isolation)
    guard !answer.state.isStored, root.isOvertaken(answer.state.token) else { return answer }
    let second: (answer: JSON, state: ResultState)
    do throws(ContextError) {
      second = try await receiveState(body, isolation: isolation)
    } catch {
      // The next merge repairs its objects.
      return answer
    }
    if root.isOvertaken(second.state.token) { root.forgetTokens() }
    return second
  }

  private func receiveState(
    _ body: [JSON.Member], isolation: isolated (any Actor)?
  ) async throws(ContextError) -> (answer: JSON, state: ResultState) {
    let answer: (answer: JSON, state: ResultState)
    do throws(ObjectStoreError) {
      answer = try await store.state(of: .object(body))
    } catch {
      throw .store(error)
    }
    if !answer.state.isStored { await awaitRunningSave(isolation: isolation) }
    return answer
  }

  /// Fetches a request from the store: the elements and their items.
  ///
  /// - Parameter ordering: key paths that are selected in addition.
  func fetchStored<Element: Fetchable>(
    _ request: FetchRequest<Element>, ordering: [String] = [], isolation: isolated (any Actor)?
  ) async throws(ContextError) -> (items: [Item], elements: [Element]) {
    let start = saves
    let prefetch = request.relationshipsToPrefetch
    var asked = request
    let names = request.propertiesToFetch ?? Element.effectiveSelection ?? []
    let extra = ordering.filter { !names.contains($0) }
    if !extra.isEmpty { asked.propertiesToFetch = names + extra }
    let (answer, state) = try await fetchState(body(of: asked), isolation: isolation)
    root.recordToken(state.token)
    await learnDestinations(for: Element.self, isolation: isolation)
    // The store answers again.
    if !state.isStored { await root.readMissedEffects(isolation: isolation) }
    let readTime = ReadTime(saves: start, token: state.token)
    let items = state.items
    try await completeItems(items, as: Element.self, isolation: isolation)
    let read: Readable<Element>
    if let decoded = await decodedInBackground(items, as: Element.self, isolation: isolation) {
      read = readable(decoded)
    } else {
      read = readable(items, of: Element.self, asOf: readTime) {
        item throws(MaterializationError) in
        try Element.materialize(extra.isEmpty ? item : item.without(extra), in: self)
      }
    }
    let elements = try read.orThrow()
    if !prefetch.isEmpty, let type = Element.self as? any ManagedEntity.Type {
      try await keepIncluded(
        answer["included"], prefetch, of: elements, type, readTime, isolation: isolation)
    }
    processChangesOfTree()
    return withoutDeleted(read.unread.isEmpty ? items : read.items(of: items), elements)
  }

  /// Leaves out the objects that were deleted here, or in a parent context.
  private func withoutDeleted<Element>(
    _ items: [Item], _ elements: [Element]
  ) -> (items: [Item], elements: [Element]) {
    guard parent != nil || !deletions.isEmpty || sending != nil || !queuedSaves.isEmpty else {
      return (items, elements)
    }
    let kept = elements.indices.filter { index in
      guard let object = elements[index] as? ManagedObject else { return true }
      return !object.isDeleted && !isDeletedAbove(key(of: object))
    }
    return (kept.map { items[$0] }, kept.map { elements[$0] })
  }

  /// Records the token from which changes are merged into the objects in memory.
  func recordToken(_ token: String) {
    if lastToken == nil { lastToken = token }
  }

  /// True if a save or a merge of this context is later than `token`.
  private func isOvertaken(_ token: String) -> Bool {
    guard let read = Token(token) else { return false }
    return [lastToken, savedToken].contains { known in
      guard let later = known.flatMap({ Token($0) }) else { return false }
      return read.isOlder(than: later)
    }
  }

  /// Forgets the tokens of what was saved and read, which say nothing about the store's later states: its
  /// history has ended, or goes on from an earlier state. Call it on the root.
  func forgetTokens() {
    (lastToken, savedToken) = (nil, nil)
    for context in branch {
      for object in context.registry.values.compactMap(\.object) { object.forgetTokens() }
    }
  }

  /// Records the state from which objects are being made. The next merge begins there if the last one
  /// ended later, or a running one will.
  func recordReading(_ token: Token?) {
    guard let token else { return }
    if let last = lastToken.flatMap({ Token($0) }), token.isOlder(than: last) {
      lastToken = token.description
    }
    guard runningMerges > 0 else { return }
    if let oldest = oldestReading, !token.isOlder(than: oldest) { return }
    oldestReading = token
  }

  /// The body of a fetch, with the ids of prefetched to-many relationships selected.
  func body<Element: Fetchable>(of request: FetchRequest<Element>) -> [JSON.Member] {
    var body = request.body()
    guard !request.relationshipsToPrefetch.isEmpty,
      let type = Element.self as? any ManagedEntity.Type
    else { return body }
    let layout = layout(of: type)
    let toMany = request.relationshipsToPrefetch.filter { layout[$0]?.isToMany == true }
    let names = (request.propertiesToFetch ?? layout.itemNames) + toMany
    body.removeAll { $0.name == "select" }
    body.append(.init(name: "select", value: .array(names.map { .string($0) })))
    body.append(
      .init(
        name: "expand", value: .array(request.relationshipsToPrefetch.map { .string($0) })))
    return body
  }

  // MARK: - Objects by their ids

  /// Reads objects again, a thousand at a time. Leaves out and reports unreadable ones.
  ///
  /// - Parameter extra: to-many relationships to read as well.
  func read(
    _ layout: EntityLayout, ids: [ObjectID], extra: [String] = [],
    isolation: isolated (any Actor)?
  ) async throws(ContextError) -> Readable<ManagedObject> {
    var objects = Readable<ManagedObject>()
    for chunk in ids.chunks(of: 1000) {
      let (items, readTime) = try await items(
        layout, ids: chunk, extra: extra, isolation: isolation)
      try await completeItems(items, as: layout.type, isolation: isolation)
      objects += readable(items, of: layout.type, asOf: readTime) {
        (item) throws(MaterializationError) in try register(item, as: layout.type)
      }
    }
    return objects
  }

  func items(
    _ layout: EntityLayout, ids: [ObjectID], extra: [String], isolation: isolated (any Actor)?
  ) async throws(ContextError) -> (items: [Item], readTime: ReadTime) {
    let start = saves
    let list = JSON.array(ids.map(\.predicateArgument))
    var body: [JSON.Member] = [
      .init(name: "entity", value: .string(layout.entityName)),
      .init(name: "where", value: .string("SELF IN %@")),
      .init(name: "arguments", value: .array([list])),
    ]
    let names = layout.itemNames + extra
    if !names.isEmpty {
      body.append(.init(name: "select", value: .array(names.map { .string($0) })))
    }
    let state = try await fetchState(body, isolation: isolation).state
    root.recordToken(state.token)
    await learnDestinations(for: layout.type, isolation: isolation)
    return (state.items, ReadTime(saves: start, token: state.token))
  }

  /// Reads the properties of subentities, which a fetch through a parent entity does not return.
  func completeItems<Element>(
    _ items: [Item], as type: Element.Type, isolation: isolated (any Actor)?
  ) async throws(ContextError) {
    guard let type = type as? any ManagedEntity.Type else { return }
    try await completeItems(items, as: type, isolation: isolation)
  }

  /// The complete items are those of the last call: create the objects before the next suspension.
  func completeItems(
    _ items: [Item], as type: any ManagedEntity.Type, isolation: isolated (any Actor)?
  ) async throws(ContextError) {
    completedItems = [:]
    guard !type.subentities.isEmpty else { return }
    var partial: [ObjectIdentifier: (layout: EntityLayout, ids: [ObjectID])] = [:]
    for item in items {
      let found = layout(of: concreteType(of: item, type))
      guard found.itemNames.contains(where: { item[$0] == nil }) else { continue }
      partial[ObjectIdentifier(found.type), default: (found, [])].ids.append(item.id)
    }
    var whole: [RegistryKey: Item] = [:]
    for (layout, ids) in partial.values {
      for chunk in ids.chunks(of: 1000) {
        let read = try await self.items(layout, ids: chunk, extra: [], isolation: isolation)
        for item in read.items {
          whole[RegistryKey(root: layout.root, id: .permanent(item.id))] = item
        }
      }
    }
    completedItems = whole
  }

  // MARK: - For controllers

  /// Objects created from now on have values of `token`.
  func beginMaterializing(asOf token: String) {
    currentReading = ReadTime(saves: saves, token: token)
  }

  func endMaterializing() { (currentReading, checkedLayout, completedItems) = (nil, nil, [:]) }

  /// Reads missing properties before a controller creates the objects of `state`. Unreadable ones
  /// are reported when they are created.
  func completeObjects<Element>(
    of state: ResultState, as type: Element.Type, isolation: isolated (any Actor)?
  ) async {
    root.recordToken(state.token)
    await learnDestinations(for: type, isolation: isolation)
    if !state.isStored { await awaitRunningSave(isolation: isolation) }
    let items = state.items
    try? await completeItems(items, as: type, isolation: isolation)
  }

  /// Reads missing properties before a controller creates the objects that `diff`, which leads to
  /// `state`, inserts.
  func completeObjects<Element>(
    of diff: Diff, in state: ResultState, as type: Element.Type, isolation: isolated (any Actor)?
  ) async {
    guard let type = type as? any ManagedEntity.Type else { return }
    await awaitRunningSave(isolation: isolation)
    guard !type.subentities.isEmpty else { return }
    let positions = diff.inserted.map(\.to) + diff.moved.map(\.to) + diff.updated.map(\.to)
    try? await completeItems(
      positions.compactMap { state[$0] }, as: type, isolation: isolation)
  }

  // MARK: - Relationships

  /// Reads the members of a to-many relationship.
  func fetchMembers(
    of owner: ManagedObject, _ name: String, isolation: isolated (any Actor)?
  ) async throws(ContextError) {
    guard let id = owner.objectID.permanentID else {
      throw .notFound(entity: owner.entityName, id: owner.objectID)
    }
    let layout = layout(of: owner)
    let read = try await read(layout, ids: [id], extra: [name], isolation: isolation).orThrow()
    guard !read.isEmpty else { throw .notFound(entity: owner.entityName, id: owner.objectID) }
  }

  /// Creates objects from `included` and lets the objects that refer to them retain them.
  func keepIncluded(
    _ json: JSON?, _ paths: [String], of owners: [Any], _ type: any ManagedEntity.Type,
    _ readTime: ReadTime, isolation: isolated (any Actor)?
  ) async throws(ContextError) {
    let types = entities(along: paths, from: type)
    var kept: [ManagedObject] = []
    guard case .object(let entities)? = json else { return }
    for entity in entities {
      guard let type = types[entity.name], case .object(let objects) = entity.value else {
        continue
      }
      let items = objects.compactMap { Item(json: $0.value) }
      try await completeItems(items, as: type, isolation: isolation)
      kept +=
        readable(items, of: type, asOf: readTime) { (item) throws(MaterializationError) in
          try register(item, as: type)
        }.elements
    }
    let objects = owners.compactMap { $0 as? ManagedObject }
    for path in paths { keep(path.split(separator: ".").map(String.init)[...], of: objects) }
    withExtendedLifetime(kept) {}
  }

  /// The classes at the ends of relationship key paths, by entity name.
  private func entities(
    along paths: [String], from type: any ManagedEntity.Type
  ) -> [String: any ManagedEntity.Type] {
    var types: [String: any ManagedEntity.Type] = [:]
    for path in paths {
      var owner = type
      for name in path.split(separator: ".") {
        guard let next = layout(of: owner)[String(name)]?.destination else { break }
        for known in [next] + next.subentities { types[known.entityName] = known }
        owner = next
      }
    }
    return types
  }

  private func keep(_ path: ArraySlice<String>, of owners: [ManagedObject]) {
    guard let name = path.first else { return }
    var next: [ManagedObject] = []
    for owner in owners {
      guard let property = layout(of: owner)[name], let type = property.destination else {
        continue
      }
      let found = (owner.relatedIDs(of: property) ?? []).compactMap { registeredObject(type, $0) }
      owner.retain(found, as: name)
      next += found
    }
    keep(path.dropFirst(), of: next)
  }
}
