// Objects in memory and their unsaved changes. Fetches create objects, a save writes all changes.
// Belongs to one isolation domain.

import FetchModel

/// A set of objects: each is registered once, and their changes are saved together.
///
/// ```swift
/// let context = ManagedObjectContext(store: try LocalStore(path: "world.sqlite"))
/// let city: City = context.insertObject()
/// city.name = "Poseidonis"
/// try await context.save()
/// ```
///
/// A context, its objects, and the controllers and observers that use it belong to one isolation
/// domain: the actor that created it. Its asynchronous methods run there.
public final class ManagedObjectContext {
  /// The store from which the context fetches and into which its root saves.
  public let store: any ObjectStore
  /// The context into which ``save(isolation:)`` writes; nil for the store.
  public let parent: ManagedObjectContext?
  /// Resolves conflicts with saves made since the objects were read.
  ///
  /// `error` refuses the save and reports both versions, `storeWins` keeps the stored values of
  /// conflicting properties, `objectWins` writes the object's, `overwrite` does not detect
  /// conflicts. With `storeWins` the changes of an object that was deleted in the store are dropped, and it
  /// is deleted here too; the other policies refuse them. Only a root context's counts.
  public var mergePolicy = MergePolicy.error

  var children: [WeakContext] = []
  private(set) lazy var reference = WeakContext(self)
  var layouts: [ObjectIdentifier: EntityLayout] = [:]
  var registry: [RegistryKey: WeakObject] = [:]
  /// The classes of the tree's objects by entity; used in the root context only.
  var classes: [String: any ManagedEntity.Type] = [:]
  /// The destinations of the store's relationships; used in the root context only, nil until known.
  var destinations: RelationshipDestinations?
  /// For each checked class, why it does not fit the store's model; nil if it fits.
  var destinationProblems: [ObjectIdentifier: String?] = [:]
  /// The registry size at which released objects are removed next.
  var registryLimit = 1024
  /// Changed objects, in the order of their first change.
  var insertions: InsertionOrderedSet<ManagedObject> = []
  var updates: InsertionOrderedSet<ManagedObject> = []
  var deletions: InsertionOrderedSet<ManagedObject> = []
  /// The objects that refer to a new object, by its id, until it is saved; it may contain objects that
  /// no longer do.
  var referrers: [ManagedObjectID: Set<ManagedObject>] = [:]
  /// The permanent ids that new objects obtained, until they are saved.
  var obtainedIDs: Set<ManagedObjectID> = []
  /// The objects in memory whose stored values include members of to-many relationships, by class. A
  /// save of another client may have changed those members.
  var ownersOfLists: [ObjectIdentifier: [ObjectIdentifier: WeakObject]] = [:]
  /// Changes of values that are not managed objects.
  var valueChanges: [ValueChange] = []
  /// The permanent ids of earlier inserts.
  var givenIDs = PermanentIDMap()
  /// The token from which changes are merged; nil if unknown.
  var lastToken: String?
  /// The token of the last save; nil if there is none.
  var savedToken: String?
  /// The number of merges in progress.
  var runningMerges = 0
  /// The oldest state from which objects were made during the merges in progress.
  var oldestReading: Token?
  /// What saves changed and could not be read after them.
  var missedEffects: StoreChanges?
  /// The number of saves, counted in the root context: see ``saves``.
  var savesOfTree = 0
  /// The types of values that are decoded by the default ``Fetchable/materialize(_:in:)``.
  var decodedTypes: Set<ObjectIdentifier> = []
  /// The `Decodable` types that have a ``Fetchable/materialize(_:in:)`` of their own.
  var ownTypes: Set<ObjectIdentifier> = []
  /// When the values that are being turned into objects were read.
  var currentReading: ReadTime?
  /// The class of the last object that was made, which has no problem.
  var checkedLayout: EntityLayout?
  /// Complete items of subentities, while a parent entity's items are turned into objects.
  var completedItems: [RegistryKey: Item] = [:]
  /// Why objects could not be read, until a fetch reads them.
  var unreadable: [UnreadableKey: MaterializationError] = [:]
  var pending = ObjectsDidChange() { didSet { pendingDidChange() } }
  /// Calls ``processPendingChanges()`` on the observers' actor later; nil without such observers.
  var schedulePendingChanges: (() -> Void)?
  var isSendingScheduled = false
  let observers = ContextObservers()
  var saveQueue = SaveQueue()
  /// The save in progress whose ids are not known yet.
  var sending: SentChanges?
  /// The saves that wait in the store's queue, oldest first; used in the root context only.
  var queuedSaves: [QueuedChanges] = []
  /// Answered saves of the queue whose effects were not read yet.
  var settledSaves: [(draft: ContextSave, receipt: SaveReceipt)] = []
  /// The last save whose answer was lost: submitting it again uses the same key.
  var unansweredSave = UnansweredSave()
  /// Its changes.
  var unansweredDraft: ContextSave?
  /// The same for batches, which do not end an unanswered save.
  var unansweredBatch = UnansweredSave()
  /// The entities of objects that were read and that no class declares, by the root of their hierarchy;
  /// used in the root context only.
  var unlistedEntities: [ObjectIdentifier: Set<String>] = [:]
  var saveWaiters: [CheckedContinuation<Void, Never>] = []

  /// Creates a context that saves to `store`.
  public init(store: any ObjectStore) {
    self.store = store
    parent = nil
  }

  /// Creates a context that saves into another one, which saves or discards the changes with its
  /// own.
  ///
  /// Its objects show the parent's unsaved values. Both contexts belong to the same isolation
  /// domain.
  public init(parent: ManagedObjectContext) {
    store = parent.store
    self.parent = parent
    obtainedIDs = parent.obtainedIDs
    parent.children.removeAll { $0.context == nil }
    parent.children.append(reference)
  }

  // MARK: - Changes

  /// True if there are unsaved changes.
  public var hasChanges: Bool {
    !insertions.isEmpty || !updates.isEmpty || !deletions.isEmpty || !valueChanges.isEmpty
  }

  /// Unsaved new objects.
  public var insertedObjects: Set<ManagedObject> { Set(insertions) }
  /// Stored objects with unsaved changes.
  public var updatedObjects: Set<ManagedObject> { Set(updates) }
  /// Objects that the next save deletes.
  public var deletedObjects: Set<ManagedObject> { Set(deletions) }
  /// The objects in memory.
  public var registeredObjects: Set<ManagedObject> { Set(registry.values.compactMap(\.object)) }

  /// Inserts a new object with the default values of its class. It is stored by the next save;
  /// until then, fetches of this context include it, and controllers only if they include unsaved
  /// changes.
  ///
  /// ```swift
  /// let city: City = context.insertObject()
  /// ```
  public func insertObject<Object: ManagedObjectType>(
    _ type: Object.Type = Object.self
  ) -> Object {
    let object = Object()
    insert(object)
    return object
  }

  /// Inserts an object that belongs to no context.
  public func insert(_ object: some ManagedObjectType) {
    guard object.stage == .detached else { return }
    let layout = layout(of: object)
    object.edits = EntityLayout.initialValues(of: object).merging(object.edits) { $1 }
    object.stage = .inserted
    register(object, layout)
    insertions.insert(object)
    pending.insertedObjects.insert(object)
    object.awakeFromInsert()
  }

  /// Deletes an object with the next save. The store applies its delete rules; objects in memory
  /// that are deleted by cascade are reported after the save. An object that was already deleted in
  /// the store is not an error. A new object whose save is in progress is deleted with the
  /// following save.
  public func delete(_ object: ManagedObject) {
    guard object.managedObjectContext === self else { return }
    switch object.stage {
    case .inserted where sending?.insertion(of: object) == nil && object.queued == nil:
      object.prepareForDeletion()
      drop(object, as: .gone)
    case .inserted, .stored:
      object.prepareForDeletion()
      object.stage = .deleted
      insertions.remove(object)
      updates.remove(object)
      deletions.insert(object)
    case .detached, .deleted, .gone: return
    }
    pending.insertedObjects.remove(object)
    pending.updatedObjects.remove(object)
    pending.deletedObjects.insert(object)
  }

  /// Removes a new object that will not be stored.
  func drop(_ object: ManagedObject, as stage: ManagedObject.Stage) {
    if stage == .gone { unlink(object) }
    removeFromDescendants(object, as: stage)
    pending.insertedObjects.remove(object)
    pending.updatedObjects.remove(object)
    pending.deletedObjects.insert(object)
    unregister(object, as: stage)
  }

  /// Removes an object that will not be stored from the relationships of others. O(n) for n
  /// objects that refer to it; for n changed objects if it was inserted with a permanent id.
  func unlink(_ object: ManagedObject) {
    let id = object.objectID
    let isRecorded = id.isTemporary || obtainedIDs.remove(id) != nil
    let others =
      isRecorded ? referrers.removeValue(forKey: id) ?? [] : insertedObjects.union(updates)
    for other in others where other.managedObjectContext === self {
      let layout = layout(of: other)
      func leads(_ name: String) -> Bool {
        layout[name]?.destination.map { registeredObject($0, id) === object } ?? false
      }
      for (name, json) in other.edits where ManagedObjectID(json: json) == id && leads(name) {
        other.set(other.row[name] ?? .null, of: name)
      }
      for (name, edits) in other.memberEdits where edits.holds(id) && leads(name) {
        other.editMembers(of: name, [id]) { $0.dropEdit(of: id) }
      }
    }
  }

  /// Records that a value of an object refers to another one, if that is new.
  func registerReference(to id: ManagedObjectID, from object: ManagedObject) {
    guard id.isTemporary || obtainedIDs.contains(id) else { return }
    referrers[id, default: []].insert(object)
  }

  /// Discards all unsaved changes. New objects leave the context and its child contexts, including
  /// those that a child saved into this one; child contexts show the stored values again.
  ///
  /// Changes that were sent and not answered yet are not discarded: their new objects stay with the
  /// sent values if the save succeeds, and leave if it is refused. Nor are those that wait in the queue
  /// of an ``OfflineStore``.
  public func rollback() {
    let changed = insertions.elements + updates.elements + deletions.elements
    let kept = changed.filter { sending?.insertion(of: $0) != nil }
    for object in changed {
      if let sent = sending?.rollBack(object) {
        object.restore(sent)
      } else if object.queued != nil {
        revert(object)
        object.discardUnqueuedEdits()
      } else if object.stage == .inserted {
        drop(object, as: .detached)
        continue
      } else {
        revert(object)
        object.discardEdits()
        object.stage = .stored
      }
      pending.deletedObjects.remove(object)
      pending.updatedObjects.remove(object)
      pending.refreshedObjects.insert(object)
    }
    insertions = InsertionOrderedSet(kept)
    updates = []
    deletions = []
    dropValueChanges()
    unansweredDraft = nil
    for object in changed where object.missing != nil { handleDeletion(key(of: object)) }
    for context in branch { context.processPendingChanges() }
  }

  /// Removes all objects and changes. The objects belong to no context any more and keep their
  /// values. Child contexts lose the changes, as after ``rollback()``.
  public func reset() {
    for object in updates.elements + deletions.elements { revert(object) }
    for object in insertions.elements + queuedObjects where object.isInserted {
      removeFromDescendants(object, as: .detached)
    }
    for object in registeredObjects { unregister(object, as: .detached) }
    queuedSaves = []
    registry = [:]
    ownersOfLists = [:]
    classes = [:]
    referrers = [:]
    obtainedIDs = []
    unreadable = [:]
    insertions = []
    updates = []
    deletions = []
    dropValueChanges()
    pending = ObjectsDidChange()
    (lastToken, savedToken) = (nil, nil)
    missedEffects = nil
    unansweredDraft = nil
    for context in branch { context.processPendingChanges() }
  }

  private func dropValueChanges() {
    valueChanges = []
    sending?.valueCount = 0
  }

  /// Records that a property of an object was set.
  func objectDidChange(_ object: ManagedObject) {
    guard object.stage == .stored || object.stage == .inserted else { return }
    pending.updatedObjects.insert(object)
    guard object.stage == .stored || object.queued != nil else { return }
    if object.hasUnsavedEdits {
      updates.insert(object)
    } else {
      updates.remove(object)
    }
  }
}

/// A weak reference to a context, which its objects share.
final class WeakContext {
  private(set) weak var context: ManagedObjectContext?

  init(_ context: ManagedObjectContext) { self.context = context }
}
