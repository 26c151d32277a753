// Distributes stored values in a tree of contexts. Every context that contains an object shows
// them, overlaid by the unsaved changes of its ancestors and its own.

import FetchModel

extension ManagedObjectContext {
  /// The root context, which saves to the store.
  var root: ManagedObjectContext {
    var context = self
    while let parent = context.parent { context = parent }
    return context
  }

  /// This context and its descendants, parents first.
  var branch: [ManagedObjectContext] {
    [self] + children.compactMap(\.context).flatMap(\.branch)
  }

  /// The number of saves made in the tree.
  var saves: Int {
    get { root.savesOfTree }
    set { root.savesOfTree = newValue }
  }

  /// Sends pending changes in every context of the tree.
  func processChangesOfTree() {
    for context in root.branch { context.processPendingChanges() }
  }

  // MARK: - Changes in the store

  /// Merges stored values of an object into this context and its descendants.
  ///
  /// - Parameter readTime: when the values were read. Values older than the last save or read of a
  ///   property are ignored.
  func update(_ values: ItemValues, of key: RegistryKey, asOf readTime: ReadTime) {
    var values = values
    if let object = registry[key]?.object {
      if object.merge(values, asOf: readTime) { pending.refreshedObjects.insert(object) }
      values = object.overlaying(object.held(values))
    }
    for child in children { child.context?.update(values, of: key, asOf: readTime) }
  }

  /// Stored values overlaid by the unsaved changes of the parent contexts.
  func shown(_ values: ItemValues, of key: RegistryKey) -> ItemValues {
    guard let parent else { return values }
    let values = parent.shown(values, of: key)
    guard let object = parent.registry[key]?.object else { return values }
    return object.overlaying(object.held(values))
  }

  /// Handles a deletion in the store. A context with unsaved changes of the object keeps it, as do
  /// its descendants, so that saving them reports a conflict. An object that was read or saved after
  /// `readTime` has the id of the deleted one and stays.
  func handleDeletion(_ key: RegistryKey, asOf readTime: ReadTime? = nil) {
    if let object = registry[key]?.object {
      if let readTime, readTime.isOlder(than: object.latestReadTime) { return }
      guard !object.hasEdits else {
        object.missing = readTime ?? ReadTime(saves: saves)
        return
      }
      if object.stage == .stored { pending.deletedObjects.insert(object) }
      unregister(object, as: .gone)
    }
    for child in children { child.context?.handleDeletion(key, asOf: readTime) }
  }

  // MARK: - Parent contexts

  /// True if a parent context inserted the object and has not saved it.
  func isNewAbove(_ key: RegistryKey) -> Bool {
    guard let parent else { return false }
    return parent.registry[key]?.object?.stage == .inserted || parent.isNewAbove(key)
  }

  /// The id of an object in the store; nil if neither this context nor a parent has saved it.
  func storedID(of object: ManagedObject) -> ObjectID? {
    guard !object.isInserted, !isNewAbove(key(of: object)) else { return nil }
    return object.objectID.permanentID
  }

  /// True if a parent context will delete the object.
  func isDeletedAbove(_ key: RegistryKey) -> Bool {
    guard let parent else { return false }
    return parent.registry[key]?.object?.stage == .deleted || parent.isDeletedAbove(key)
  }

  /// The object of this context for a new one of a parent context; nil if there is none.
  @discardableResult
  func registerFromParent(
    _ type: any ManagedEntity.Type, _ id: ManagedObjectID
  ) -> ManagedObject? {
    if let own = registeredObject(type, id) { return own }
    let key = RegistryKey(root: layout(of: type).root, id: id)
    guard isNewAbove(key), let above = parent?.nearest(key) else { return nil }
    let layout = layout(of: above)
    let object: ManagedObject = layout.type.init()
    object.objectID = id
    object.stage = .stored
    object.row = above.everything(of: layout)
    object.rowReadTime = ReadTime(saves: saves)
    register(object, layout)
    object.awakeFromFetch()
    return object
  }

  /// The object of this context, or of the nearest parent that contains it.
  private func nearest(_ key: RegistryKey) -> ManagedObject? {
    registry[key]?.object ?? parent?.nearest(key)
  }

  /// Reads an object again that is not stored yet.
  func refreshFromAbove(_ object: ManagedObject) {
    guard let above = parent?.nearest(key(of: object)) else { return }
    object.merge(above.everything(of: layout(of: above)))
  }

  // MARK: - Discarded changes

  /// Discards the changes of child contexts to an object whose changes this context discards.
  func revert(_ object: ManagedObject) {
    let names = Array(object.edits.keys) + Array(object.memberEdits.keys)
    guard !names.isEmpty else { return }
    let key = key(of: object)
    for child in children { child.context?.revert(names, of: key, to: object.row) }
  }

  private func revert(_ names: [String], of key: RegistryKey, to row: ItemValues) {
    var row = row
    if let object = registry[key]?.object {
      if object.revert(names, to: row) { pending.refreshedObjects.insert(object) }
      row = object.overlaying(row)
    }
    for child in children { child.context?.revert(names, of: key, to: row) }
  }

  /// Removes, in child contexts, a new object of this one that will not be stored.
  func removeFromDescendants(_ object: ManagedObject, as stage: ManagedObject.Stage) {
    let key = key(of: object)
    for child in children { child.context?.removeFromTree(key, as: stage) }
  }

  private func removeFromTree(_ key: RegistryKey, as stage: ManagedObject.Stage) {
    for child in children { child.context?.removeFromTree(key, as: stage) }
    guard let object = registry[key]?.object else { return }
    if hasChanges { unlink(object) }
    unregister(object, as: stage)
    if stage == .detached { object.becomeUnsaved() }
    pending.updatedObjects.remove(object)
    pending.refreshedObjects.remove(object)
    pending.deletedObjects.insert(object)
  }
}

extension ManagedObject {
  /// The given values, replaced by those that `row` has.
  fileprivate func held(_ received: ItemValues) -> ItemValues {
    received.merging(row.filter { received[$0.key] != nil })
  }

  /// `received` overlaid by this object's unsaved changes, as child contexts see it.
  func overlaying(_ received: ItemValues) -> ItemValues {
    guard hasEdits else { return received }
    var shown = received
    for name in received.names {
      if let edit = edits[name] { shown[name] = edit }
      guard memberEdits[name] != nil, let ids = memberIDs(of: name) else { continue }
      shown[name] = .array(ids.map(\.json))
    }
    return shown
  }

  /// All current values of a new object.
  func everything(of layout: EntityLayout) -> ItemValues {
    var values = row.merging(edits)
    for property in layout.properties {
      if property.isToMany {
        values[property.name] = .array((memberIDs(of: property.name) ?? []).map(\.json))
      } else if values[property.name] == nil {
        values[property.name] = .null
      }
    }
    return values
  }

  /// Resets these values to those of `row`, or marks them as not in memory.
  ///
  /// - Returns: true if a visible value differs.
  fileprivate func revert(_ names: [String], to row: ItemValues) -> Bool {
    for name in names where row[name] == nil {
      self.row[name] = nil
      related[name] = nil
    }
    // An edit of this object may have replaced the discarded value.
    for name in names where bases[name] != nil { bases[name] = row[name] }
    return merge(row.filter { names.contains($0.key) })
  }

  /// Turns the values of a removed object into unsaved ones, so that it can be inserted again.
  fileprivate func becomeUnsaved() {
    for (name, json) in row where edits[name] == nil {
      if case .array(let elements) = json,
        entityType.map({ EntityLayout($0)[name]?.isToMany == true }) == true
      {
        let ids = elements.compactMap(ManagedObjectID.init(json:))
        if memberEdits[name] == nil, !ids.isEmpty {
          memberEdits[name] = MemberEdits(all: InsertionOrderedSet(ids))
        }
      } else {
        edits[name] = json
      }
    }
    (row, bases) = (ItemValues([]), [:])
  }
}
