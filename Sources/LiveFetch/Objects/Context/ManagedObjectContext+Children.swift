// Saves of a child context into its parent, and permanent ids before a save.

import FetchModel

extension ManagedObjectContext {
  /// Transfers the changes of this context to `parent`, which writes them when it is saved.
  func push(into parent: ManagedObjectContext) {
    var summary = DidSave(context: self)
    // Deleting an object that is new in the parent takes it out of this context's deletions.
    summary.insertedObjects = insertedObjects
    summary.updatedObjects = updatedObjects
    summary.deletedObjects = deletedObjects
    for object in insertions { parent.adoptInsertion(object, layout(of: object)) }
    for object in updates { parent.adoptEdits(of: object, layout(of: object)) }
    for object in deletions {
      let twin = parent.registeredTwin(of: object) ?? parent.twin(of: object, layout(of: object))
      parent.delete(twin)
    }
    parent.valueChanges += valueChanges
    valueChanges = []
    saves += 1
    settleInParent()
    parent.processPendingChanges()
    for object in summary.insertedObjects.union(summary.updatedObjects) { object.didSave() }
    observers.notify(summary)
  }

  /// Clears the changes that the parent received.
  private func settleInParent() {
    for object in insertions.elements + updates.elements {
      object.row.merge(object.edits)
      let isNew = object.stage == .inserted
      for property in layout(of: object).properties where property.isToMany {
        guard isNew || object.memberEdits[property.name] != nil else { continue }
        let ids = object.memberIDs(of: property.name)
        object.memberEdits[property.name] = nil
        object.row[property.name] = ids.map { .array($0.map(\.json)) }
      }
      object.edits = [:]
      object.bases = [:]
      object.stage = .stored
    }
    for object in deletions { unregister(object, as: .gone) }
    insertions = []
    updates = []
    deletions = []
  }

  private func adoptInsertion(_ object: ManagedObject, _ layout: EntityLayout) {
    let twin = registerTwin(of: object, layout, .inserted) { twin in
      (twin.edits, twin.memberEdits) = (object.edits, object.memberEdits)
    }
    insertions.insert(twin)
    pending.insertedObjects.insert(twin)
  }

  /// Takes over a child's edits with the values that they replaced, which another client's save may have
  /// changed in the meantime.
  private func adoptEdits(of object: ManagedObject, _ layout: EntityLayout) {
    let twin = registeredTwin(of: object) ?? twin(of: object, layout)
    for (name, json) in object.edits {
      let isFirst = twin.bases[name] == nil
      twin.set(json, of: name)
      if isFirst, twin.bases[name] != nil, let base = object.bases[name] {
        twin.bases[name] = base
      }
    }
    for (name, edits) in object.memberEdits {
      let ids = edits.all?.elements ?? edits.added.elements + edits.removed.elements
      twin.editMembers(of: name, ids) { $0.merge(edits) }
    }
  }

  /// An object of this context for one that only a child knows.
  private func twin(of object: ManagedObject, _ layout: EntityLayout) -> ManagedObject {
    registerTwin(of: object, layout, .stored) { twin in
      twin.row = object.row
      (twin.rowReadTime, twin.readTimes) = (object.rowReadTime, object.readTimes)
    }
  }

  /// - Parameter fill: sets the values, before the objects to which they refer are recorded.
  private func registerTwin(
    of object: ManagedObject, _ layout: EntityLayout, _ stage: ManagedObject.Stage,
    _ fill: (ManagedObject) -> Void
  ) -> ManagedObject {
    let twin: ManagedObject = layout.type.init()
    (twin.objectID, twin.stage) = (object.objectID, stage)
    fill(twin)
    register(twin, self.layout(of: layout.type))
    return twin
  }

  // MARK: - Permanent ids

  /// Assigns permanent ids to new objects before they are saved, so that other code can refer to
  /// them. The ids are chosen by this process, see ``ManagedObjectType/makePermanentID()``; the
  /// save is refused if another writer has taken one.
  ///
  /// After a save every object has a permanent id anyway.
  public func obtainPermanentIDs(for objects: some Sequence<ManagedObject>) {
    var ids: [String: ObjectID] = [:]
    for object in objects where object.isInserted || isNewAbove(key(of: object)) {
      guard case .temporary(let name) = object.objectID,
        root.sending?.containsInsertion(of: object.objectID) != true,
        root.registry[key(of: object)]?.object?.queued == nil,
        let type = type(of: object) as? any ManagedObjectType.Type
      else { continue }
      ids[name] = type.makePermanentID()
    }
    root.givenIDs.merge(ids)
    for context in root.branch {
      context.obtainedIDs.formUnion(ids.values.map(ManagedObjectID.permanent))
    }
    resolveEverywhere(ids)
  }

  /// The permanent id of an insert; nil until it is saved. At least the last 10,000 inserts are
  /// known.
  public func permanentID(for id: ManagedObjectID) -> ObjectID? {
    switch id {
    case .permanent(let id): id
    case .temporary(let name): root.givenIDs[name]
    }
  }
}
