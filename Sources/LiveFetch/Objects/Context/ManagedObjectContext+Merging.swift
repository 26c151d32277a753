// Merges saves of other contexts and processes into the objects in memory.

import FetchModel

extension ManagedObjectContext {
  /// Merges all saves since the last merge: objects in memory get their new values, and deletions
  /// are reported. Unsaved changes are kept; if another save changed the same property, the next
  /// save reports a conflict. An unreadable object keeps its values and is reported: see
  /// ``unreadableObjects``.
  public func mergeChanges(
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) {
    if let parent { return try await parent.mergeChanges(isolation: isolation) }
    await processAnswers(isolation: isolation)
    guard let start = lastToken else { return }
    beginMerging()
    defer { endMerging() }
    var found = try await remoteChanges(since: start, isolation: isolation)
    // If the history does not reach back to `start`, the next merge begins at the token of the first
    // read below.
    if found.token == nil { forgetTokens() }
    let missed = takeMissedEffects()
    found.changes.merge(missed)
    do throws(ContextError) {
      try await reread(found.changes, isolation: isolation)
    } catch {
      advance(to: start)
      keepMissed(missed, after: error)
      throw error
    }
    if let token = found.token { advance(to: token) }
    unregisterMissing()
    processChangesOfTree()
  }

  /// Reads what earlier saves of this context changed and could not be read after them, if there is any.
  /// After an error, the next fetch or merge tries again.
  func readMissedEffects(isolation: isolated (any Actor)?) async {
    guard missedEffects != nil else { return }
    let missed = takeMissedEffects()
    do throws(ContextError) {
      try await reread(missed, isolation: isolation)
    } catch {
      keepMissed(missed, after: error)
    }
  }

  private func takeMissedEffects() -> StoreChanges {
    defer { missedEffects = nil }
    return missedEffects ?? StoreChanges()
  }

  /// Keeps changes that could not be read, unless the store refuses to show them.
  private func keepMissed(_ changes: StoreChanges, after error: ContextError) {
    guard !changes.isEmpty, !error.isDefinitive else { return }
    if missedEffects == nil { missedEffects = changes } else { missedEffects?.merge(changes) }
  }

  private func beginMerging() { runningMerges += 1 }

  private func endMerging() {
    runningMerges -= 1
    if runningMerges == 0 { oldestReading = nil }
  }

  /// Ends a merge at `token`. The next one begins earlier if objects were made from an older state
  /// meanwhile.
  private func advance(to token: String) {
    lastToken = token
    if let oldest = oldestReading, let end = Token(token), oldest.isOlder(than: end) {
      lastToken = oldest.description
    }
  }

  /// Reads again the objects in memory that a controller's diff removed from its result: they were
  /// deleted, or have other values. Sends a request for each thousand of them, and none if no object is
  /// in memory.
  func rereadRemoved<Element: Fetchable>(
    _ diff: Diff, of _: Element.Type, isolation: isolated (any Actor)?
  ) async {
    guard !diff.deleted.isEmpty, let type = Element.self as? any ManagedEntity.Type else { return }
    var changes = StoreChanges()
    changes.ids[type.entityName] = Set(diff.deleted.map(\.id))
    await root.awaitRunningSave(isolation: isolation)
    try? await root.reread(changes, isolation: isolation)
  }

  /// Reads an object again.
  ///
  /// - Parameters:
  ///   - object: an object of this context.
  ///   - mergeChanges: true keeps unsaved values, which will overwrite the stored ones; false
  ///     discards them.
  ///   - isolation: the context's own.
  /// - Throws: ``ContextError/notFound(entity:id:)`` if it was deleted.
  public func refresh(
    _ object: ManagedObject, mergeChanges: Bool,
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) {
    guard object.managedObjectContext === self else { throw .detached }
    guard !object.isInserted else { return }
    let layout = layout(of: object)
    if isNewAbove(key(of: object)) {
      refreshFromAbove(object)
    } else if let id = object.objectID.permanentID {
      try await reread(object, id, layout, isolation: isolation)
    }
    if mergeChanges {
      for name in object.edits.keys { object.bases[name] = object.row[name] ?? .null }
    } else {
      revert(object)
      object.discardUnqueuedEdits()
      updates.remove(object)
      pending.updatedObjects.remove(object)
    }
    pending.refreshedObjects.insert(object)
    processChangesOfTree()
  }

  private func reread(
    _ object: ManagedObject, _ id: ObjectID, _ layout: EntityLayout,
    isolation: isolated (any Actor)?
  ) async throws(ContextError) {
    let loaded = layout.properties.filter { $0.isToMany && object.row[$0.name] != nil }
    let read = try await read(
      layout, ids: [id], extra: loaded.map(\.name), isolation: isolation
    ).orThrow()
    guard !read.isEmpty else { throw .notFound(entity: layout.entityName, id: object.objectID) }
  }

  /// Reads what a save changed beyond the values sent. If the history or an object cannot be read, the
  /// context's token does not advance: the next save or merge reads it, and the next fetch reads the
  /// objects of this save. A context without a token starts at the save's token, even if the read fails.
  func readEffects(
    _ draft: ContextSave, _ receipt: SaveReceipt, isolation: isolated (any Actor)?
  ) async {
    var own = StoreChanges()
    for origin in draft.origins {
      own.insert(origin.entity, origin.objectID)
    }
    beginMerging()
    defer { endMerging() }
    let start = lastToken
    lastToken = start ?? receipt.token
    do throws(ContextError) {
      var token: String? = receipt.token
      if let start {
        do throws(ContextError) {
          let found = try await remoteChanges(since: start, isolation: isolation)
          // The history contains net differences only; sent values that had no effect are read too.
          own.merge(found.changes)
          token = found.token ?? token
        } catch {
          // Of a store without a history, or one that this caller may not read, only this save is known.
          // The next merge reads another one.
          if !error.isDefinitive { token = nil }
        }
      }
      try await reread(own, isolation: isolation)
      if let token { advance(to: token) }
    } catch {
      keepMissed(own, after: error)
    }
  }

  // MARK: - Changes of the store

  /// The objects that saves changed.
  struct StoreChanges {
    /// The ids of changed objects, by the names of entities.
    var ids: [String: Set<ObjectID>] = [:]
    /// The entities whose to-many relationships must be read again, and those of which no ids are known.
    var entities: Set<String> = []
    /// True if the token has expired, so that everything may have changed.
    var isEverything = false

    var isEmpty: Bool { ids.isEmpty && entities.isEmpty && !isEverything }

    mutating func merge(_ other: StoreChanges) {
      for (entity, more) in other.ids { ids[entity, default: []].formUnion(more) }
      entities.formUnion(other.entities)
      isEverything = isEverything || other.isEverything
    }

    mutating func insert(_ entity: String, _ id: ManagedObjectID) {
      entities.insert(entity)
      if let id = id.permanentID { ids[entity, default: []].insert(id) }
    }
  }

  /// Reads the history after `start`.
  ///
  /// - Returns: the changes and the token at their end, which is nil if the token has expired.
  private func remoteChanges(
    since start: String, isolation: isolated (any Actor)?
  ) async throws(ContextError) -> (changes: StoreChanges, token: String?) {
    var changes = StoreChanges()
    var token = start
    do throws(ObjectStoreError) {
      while true {
        let answer = try await store.changes(since: token)
        guard case .array(let saves)? = answer["saves"], let to = answer["to"]?.string else {
          throw .notUnderstood("no history")
        }
        for save in saves { changes.add(save) }
        // A store sends fewer saves than there are if they are large.
        let isEnd = to == token || saves.isEmpty
        token = to
        if isEnd { return (changes, token) }
      }
    } catch {
      guard error.isTokenExpired else { throw .store(error) }
      changes.isEverything = true
      return (changes, nil)
    }
  }

  /// Reads again the changed objects in memory, in every context of the tree, and the objects whose
  /// members may have changed. An object that is not found was deleted. Reports unreadable ones.
  private func reread(
    _ changes: StoreChanges, isolation: isolated (any Actor)?
  ) async throws(ContextError) {
    for affected in affectedObjects(by: changes) {
      let layout = affected.layout
      for chunk in affected.ids.sorted().chunks(of: 1000) {
        let (items, readTime) = try await items(
          layout, ids: chunk, extra: affected.loaded, isolation: isolation)
        _ = readable(items, of: layout.type, asOf: readTime) { item throws(MaterializationError) in
          try check(item.propertyValues, layout, item)
          let key = RegistryKey(root: layout.root, id: .permanent(item.id))
          update(item.propertyValues, of: key, asOf: readTime)
        }
        for id in Set(chunk).subtracting(items.map(\.id)) {
          handleDeletion(RegistryKey(root: layout.root, id: .permanent(id)), asOf: readTime)
        }
      }
    }
  }

  /// Removes objects that were deleted in the store and have no unsaved changes.
  private func unregisterMissing() {
    for context in branch {
      for object in context.registry.values.compactMap(\.object)
      where object.missing != nil && !object.hasEdits {
        handleDeletion(context.key(of: object))
      }
    }
  }

  /// Objects of one class that must be read again.
  private struct AffectedObjects {
    let layout: EntityLayout
    let ids: Set<ObjectID>
    /// To-many relationships whose members are loaded.
    let loaded: [String]
  }

  /// The objects in memory that changed, and those whose members may have changed. O(these), unless
  /// everything may have changed.
  private func affectedObjects(by changes: StoreChanges) -> [AffectedObjects] {
    var byClass: [ObjectIdentifier: [ManagedObject]] = [:]
    for context in branch {
      for object in context.objects(affectedBy: changes, familyNames) {
        guard object.objectID.permanentID != nil,
          object.stage == .stored || object.stage == .deleted,
          context.parent == nil || !context.isNewAbove(context.key(of: object))
        else { continue }
        byClass[ObjectIdentifier(type(of: object)), default: []].append(object)
      }
    }
    return byClass.values.map { found in
      let layout = layout(of: found[0])
      let loaded = layout.properties.filter { property in
        property.isToMany && found.contains { $0.row[property.name] != nil }
      }
      return AffectedObjects(
        layout: layout, ids: Set(found.compactMap(\.objectID.permanentID)),
        loaded: loaded.map(\.name))
    }
  }

  /// Returns the objects of this context that changed or whose members may have changed.
  ///
  /// - Parameter familyNames: the names of a class's entity and of those that share its ids.
  private func objects(
    affectedBy changes: StoreChanges, _ familyNames: (any ManagedEntity.Type) -> Set<String>
  ) -> Set<ManagedObject> {
    guard !changes.isEverything else { return registeredObjects }
    var found: Set<ManagedObject> = []
    for layout in layouts.values {
      for id in familyNames(layout.type).flatMap({ changes.ids[$0] ?? [] }) {
        let key = RegistryKey(root: layout.root, id: .permanent(id))
        if let object = registry[key]?.object { found.insert(object) }
      }
      let stale = layout.properties.filter { property in
        guard property.isToMany, let destination = property.destination else { return false }
        return !familyNames(destination).isDisjoint(with: changes.entities)
      }
      guard !stale.isEmpty else { continue }
      for owner in (ownersOfLists[ObjectIdentifier(layout.type)] ?? [:]).values.compactMap(\.object)
      where stale.contains(where: { owner.row[$0.name] != nil }) {
        found.insert(owner)
      }
    }
    return found
  }
}

extension ManagedObjectContext.StoreChanges {
  /// Adds one save of the history.
  fileprivate mutating func add(_ save: JSON) {
    for kind in ["inserted", "updated", "deleted"] {
      guard case .object(let lists)? = save[kind] else { continue }
      for list in lists {
        entities.insert(list.name)
        guard case .array(let elements) = list.value else { continue }
        for element in elements {
          guard let id = ObjectID(json: element["id"] ?? element) else { continue }
          ids[list.name, default: []].insert(id)
        }
      }
    }
  }
}
