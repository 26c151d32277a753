// Objects in memory and what is to become of them: fetches make objects here, changes collect here,
// a save takes them to the store. For one isolation domain, like the controllers.

/// A place for objects: each stands in it once, and what is changed in it is saved as one.
///
/// ```swift
/// let context = ManagedObjectContext(store: try LocalStore(path: "world.sqlite"))
/// let city: City = context.insertObject()
/// city.name = "Poseidonis"
/// try await context.save()
/// ```
///
/// A context, its objects, and the controllers and observers that use it belong to one isolation
/// domain: the actor that made it. Its asynchronous methods run there.
public final class ManagedObjectContext {
  public let store: any ObjectStore
  /// Where ``save(isolation:)`` takes the changes; nil: to the store.
  public let parent: ManagedObjectContext?
  /// What a save does where somebody else saved the same properties in between.
  ///
  /// `error` refuses it and names both versions, `storeWins` keeps the store's values of those
  /// properties, `objectWins` writes the object's, `overwrite` does not look.
  public var mergePolicy = MergePolicy.error

  var children: [WeakContext] = []
  var layouts: [ObjectIdentifier: EntityLayout] = [:]
  var registry: [RegistryKey: WeakObject] = [:]
  /// By entity, the class of the objects of the tree; kept by the context at the top.
  var classes: [String: any ManagedEntity.Type] = [:]
  /// Where the store's relationships lead; kept by the context at the top, nil as long as it is not
  /// known.
  var destinations: RelationshipDestinations?
  /// Why classes do not fit them, or that they do.
  var misfits: [ObjectIdentifier: String?] = [:]
  /// At how many objects the registry is next cleared of those that are gone.
  var registryLimit = 1024
  /// Changed objects, in the order in which they were first changed.
  var insertions: [ManagedObject] = []
  var updates: [ManagedObject] = []
  var deletions: [ManagedObject] = []
  /// Changes of values that are no managed objects.
  var valueChanges: [ValueChange] = []
  /// The ids that inserts got in earlier saves.
  var givenIDs = GivenIDs()
  /// The moment of the store that everything told is at least as new as; nil: not known.
  var moment: String?
  /// How many saves were made, counted by the context at the top: see ``saves``.
  var savesOfTree = 0
  /// How new what is being made into objects is.
  var currentReading: Reading?
  /// Items of subentities, whole, while a parent's items are made into objects.
  var wholeItems: [RegistryKey: Item] = [:]
  var pending = ObjectsDidChange()
  var observers = ContextObservers()
  var saveQueue = SaveQueue()
  /// The save that was sent and whose ids are not known yet.
  var sending: SentChanges?
  var settlers: [CheckedContinuation<Void, Never>] = []

  /// A context whose changes go to `store`.
  public init(store: any ObjectStore) {
    self.store = store
    parent = nil
  }

  /// A context whose changes go to another one, which saves them with its own or throws them away.
  ///
  /// It sees the parent's unsaved values in the objects that both know. Both belong to the same
  /// isolation domain.
  public init(parent: ManagedObjectContext) {
    store = parent.store
    self.parent = parent
    mergePolicy = parent.mergePolicy
    parent.children.removeAll { $0.context == nil }
    parent.children.append(WeakContext(context: self))
  }

  deinit {
    // Objects that materialized each other would keep each other.
    for entry in registry.values { entry.object?.related = [:] }
  }

  // MARK: - Changes

  /// Whether a save would do something.
  public var hasChanges: Bool {
    !insertions.isEmpty || !updates.isEmpty || !deletions.isEmpty || !valueChanges.isEmpty
  }

  public var insertedObjects: Set<ManagedObject> { Set(insertions) }
  public var updatedObjects: Set<ManagedObject> { Set(updates) }
  public var deletedObjects: Set<ManagedObject> { Set(deletions) }
  /// The objects in memory.
  public var registeredObjects: Set<ManagedObject> { Set(registry.values.compactMap(\.object)) }

  /// A new object with the values that its class declares. The store does not know it before the
  /// save: controllers do not show it until then, fetches of this context do.
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

  /// Inserts an object that belongs to no context yet.
  public func insert(_ object: some ManagedObjectType) {
    guard object.stage == .detached else { return }
    let layout = layout(of: object)
    object.edits = layout.initialValues.merging(object.edits) { $1 }
    object.stage = .inserted
    register(object, layout)
    insertions.append(object)
    pending.insertedObjects.insert(object)
    object.awakeFromInsert()
  }

  /// Deletes an object with the next save. What becomes of those it is related to, the store decides
  /// by its rules; objects in memory that go with it are told as deleted after the save. What the
  /// store has no more by then counts as deleted. A new object whose save is under way is deleted with
  /// the save after it.
  public func delete(_ object: ManagedObject) {
    guard object.managedObjectContext === self else { return }
    switch object.stage {
    case .inserted where sending?.insertion(of: object) == nil:
      object.prepareForDeletion()
      drop(object, as: .gone)
    case .inserted, .stored:
      object.prepareForDeletion()
      object.stage = .deleted
      insertions.removeAll { $0 === object }
      updates.removeAll { $0 === object }
      deletions.append(object)
    case .detached, .deleted, .gone: return
    }
    pending.insertedObjects.remove(object)
    pending.updatedObjects.remove(object)
    pending.deletedObjects.insert(object)
  }

  /// Forgets a new object that no store will know.
  func drop(_ object: ManagedObject, as stage: ManagedObject.Stage) {
    if stage == .gone { unlink(object) }
    vanishBelow(object, as: stage)
    pending.insertedObjects.remove(object)
    pending.updatedObjects.remove(object)
    pending.deletedObjects.insert(object)
    forget(object, as: stage)
  }

  /// Takes an object that no store will know out of the relationships of others.
  func unlink(_ object: ManagedObject) {
    let id = object.objectID
    for other in registeredObjects {
      let layout = layout(of: other)
      func leads(_ name: String) -> Bool {
        layout[name]?.destination.map { registeredObject($0, id) === object } ?? false
      }
      for (name, json) in other.edits where ManagedObjectID(json: json) == id && leads(name) {
        other.set(other.row[name] ?? .null, of: name)
      }
      for (name, edits) in other.memberEdits where edits.holds(id) && leads(name) {
        other.editMembers(of: name) { $0.forget(id) }
      }
    }
  }

  /// Throws every unsaved change away. New objects belong to no context any more, here and in the
  /// contexts below, also those that a child saved into this one; children show the other objects as
  /// they are again.
  ///
  /// What was sent to the store and is not answered yet is no unsaved change: new objects of such a save
  /// stay if it is made, with the values that were sent, and go if it is refused.
  public func rollback() {
    let changed = insertions + updates + deletions
    let kept = changed.filter { sending?.insertion(of: $0) != nil }
    for object in changed {
      if let sent = sending?.rollBack(object) {
        object.showAgain(sent)
      } else if object.stage == .inserted {
        drop(object, as: .detached)
        continue
      } else {
        takeBack(object)
        object.discardEdits()
        object.stage = .stored
      }
      pending.deletedObjects.remove(object)
      pending.updatedObjects.remove(object)
      pending.refreshedObjects.insert(object)
    }
    insertions = kept
    updates = []
    deletions = []
    dropValueChanges()
    for object in changed where object.missing != nil { objectIsGone(key(of: object)) }
    for context in branch { context.processPendingChanges() }
  }

  /// Forgets every object and every change. The objects belong to no context any more and keep the
  /// values that they had. Contexts below are left without the changes, as after ``rollback()``.
  public func reset() {
    for object in updates + deletions { takeBack(object) }
    for object in insertions { vanishBelow(object, as: .detached) }
    for object in registeredObjects { forget(object, as: .detached) }
    registry = [:]
    classes = [:]
    insertions = []
    updates = []
    deletions = []
    dropValueChanges()
    pending = ObjectsDidChange()
    moment = nil
    for context in branch { context.processPendingChanges() }
  }

  private func dropValueChanges() {
    valueChanges = []
    sending?.valueCount = 0
  }

  /// An object's value was assigned.
  func objectDidChange(_ object: ManagedObject) {
    guard object.stage == .stored || object.stage == .inserted else { return }
    pending.updatedObjects.insert(object)
    guard object.stage == .stored else { return }
    if !object.hasEdits {
      updates.removeAll { $0 === object }
    } else if !updates.contains(where: { $0 === object }) {
      updates.append(object)
    }
  }
}

struct WeakContext { weak var context: ManagedObjectContext? }
