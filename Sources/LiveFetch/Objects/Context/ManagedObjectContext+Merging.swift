// What others saved → the objects in memory.

extension ManagedObjectContext {
  /// Takes over what was saved since by anyone: objects in memory show their new values, and those
  /// that were deleted are told. Unsaved changes stay; where they meet another save's, the next save
  /// finds a conflict.
  ///
  /// - Throws: ``ContextError``.
  public func mergeChanges(
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) {
    if let parent { return try await parent.mergeChanges(isolation: isolation) }
    guard let start = moment else { return }
    let touched = try await touched(since: start, isolation: isolation)
    try await reread(touched.touched, isolation: isolation)
    moment = touched.moment
    processPendingChanges()
  }

  /// Reads an object anew.
  ///
  /// - Parameters:
  ///   - object: one of this context.
  ///   - mergeChanges: whether unsaved values stay, and are saved over what the store has now; false
  ///     throws them away.
  ///   - isolation: the context's own.
  /// - Throws: ``ContextError/notFound(entity:id:)`` where it is gone.
  public func refresh(
    _ object: ManagedObject, mergeChanges: Bool,
    isolation: isolated (any Actor)? = #isolation
  ) async throws(ContextError) {
    guard object.managedObjectContext === self else { throw .detached }
    guard let id = object.objectID.permanentID, !object.isInserted else { return }
    let layout = layout(of: object)
    let loaded = layout.properties.filter { $0.isToMany && object.row[$0.name] != nil }
    let read = try await read(
      layout, ids: [id], extra: loaded.map(\.name), isolation: isolation)
    guard !read.isEmpty else { throw .notFound(entity: layout.entityName, id: object.objectID) }
    if mergeChanges {
      for name in object.edits.keys { object.bases[name] = object.row[name] ?? .null }
    } else {
      object.discardEdits()
      updates.removeAll { $0 === object }
      pending.updatedObjects.remove(object)
    }
    pending.refreshedObjects.insert(object)
    processPendingChanges()
  }

  /// After a save: takes over what the store made of it. What cannot be read now is taken over with
  /// the next save or merge, as the moment stays.
  func takeOverSave(
    _ draft: SaveDraft, _ receipt: SaveReceipt, isolation: isolated (any Actor)?
  ) async {
    var own = Touched()
    for origin in draft.origins {
      switch origin {
      case .insertion(let sent), .update(let sent): own.insert(sent.object)
      case .deletion(let object): own.insert(object)
      case .value(let change):
        own.entities.insert(change.entity)
        if let id = change.objectID.permanentID { own.ids[change.entity, default: []].insert(id) }
      }
    }
    do throws(ContextError) {
      guard let start = moment else {
        moment = receipt.token
        return try await reread(own, isolation: isolation)
      }
      let told = try? await touched(since: start, isolation: isolation)
      // History tells what differs in the end; what was sent and came to nothing is read as well.
      if let told { own.merge(told.touched) }
      try await reread(own, isolation: isolation)
      moment = told?.moment ?? receipt.token
    } catch {
      return
    }
  }

  // MARK: - What was touched

  struct Touched {
    var ids: [String: Set<ObjectID>] = [:]
    /// The entities of all of them, and of what is known without ids.
    var entities: Set<String> = []
    /// History does not reach back: everything may have changed.
    var isEverything = false

    mutating func merge(_ other: Touched) {
      ids.merge(other.ids) { $0.union($1) }
      entities.formUnion(other.entities)
      isEverything = isEverything || other.isEverything
    }

    mutating func insert(_ object: ManagedObject) {
      entities.insert(object.entityName)
      guard let id = object.objectID.permanentID else { return }
      ids[object.entityName, default: []].insert(id)
    }
  }

  private func touched(
    since start: String, isolation: isolated (any Actor)?
  ) async throws(ContextError) -> (touched: Touched, moment: String?) {
    var touched = Touched()
    var moment = start
    do throws(ObjectStoreError) {
      while true {
        let answer = try await store.changes(since: moment)
        guard case .array(let saves)? = answer["saves"], let to = answer["to"]?.string else {
          throw .notUnderstood("no history")
        }
        for save in saves { touched.add(save) }
        let isEnd = to == moment || saves.count < 1000
        moment = to
        if isEnd { return (touched, moment) }
      }
    } catch .tokenExpired {
      touched.isEverything = true
      return (touched, nil)
    } catch {
      throw .store(error)
    }
  }

  /// Reads the objects in memory anew that `touched` names, and those whose members it may have
  /// changed. What is not found is gone.
  private func reread(
    _ touched: Touched, isolation: isolated (any Actor)?
  ) async throws(ContextError) {
    for (layout, objects) in objects(concernedBy: touched) {
      let ids = objects.compactMap(\.objectID.permanentID).sorted()
      let loaded = layout.properties.filter { property in
        property.isToMany && objects.contains { $0.row[property.name] != nil }
      }
      let found = Set(
        try await read(layout, ids: ids, extra: loaded.map(\.name), isolation: isolation))
      for object in objects where !found.contains(object) { objectIsGone(object) }
    }
  }

  /// The objects in memory that `touched` names, and those whose members it may have changed.
  private func objects(
    concernedBy touched: Touched
  ) -> [(layout: EntityLayout, objects: [ManagedObject])] {
    var byClass: [ObjectIdentifier: [ManagedObject]] = [:]
    for object in registeredObjects where object.objectID.permanentID != nil {
      guard object.stage == .stored || object.stage == .deleted else { continue }
      byClass[ObjectIdentifier(type(of: object)), default: []].append(object)
    }
    return byClass.values.map { objects in
      let layout = layout(of: objects[0])
      let ids = familyNames(of: layout.type).reduce(into: Set<ObjectID>()) { ids, name in
        ids.formUnion(touched.ids[name] ?? [])
      }
      let stale = layout.properties.filter { property in
        guard property.isToMany, let destination = property.destination else { return false }
        return !familyNames(of: destination).isDisjoint(with: touched.entities)
      }
      let found = objects.filter { object in
        touched.isEverything || object.objectID.permanentID.map(ids.contains) == true
          || stale.contains { object.row[$0.name] != nil }
      }
      return (layout, found)
    }
  }

  /// An object that the store has no more. One with unsaved changes stays, so that a save of them
  /// tells of the conflict.
  private func objectIsGone(_ object: ManagedObject) {
    guard object.managedObjectContext === self, !object.hasEdits else { return }
    if object.stage == .stored { pending.deletedObjects.insert(object) }
    forgetEverywhere(object)
  }
}

extension ManagedObjectContext.Touched {
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
