// One object in memory: its stored values and its unsaved changes.

import FetchModel
import Foundation
import Observation

/// An object of an entity, unique in its context: two fetches that find the same object return the
/// same instance, and the store's diffs change it in place.
///
/// Subclasses declare their properties, see ``ManagedObjectType``. An instance is always complete:
/// every declared attribute has a value of its type. Only related objects may be missing from
/// memory; relationships are therefore ``Fault`` and ``ToManyProxy``, which are fetched on request.
///
/// Objects are `Observable` and, by their instance, `Identifiable`: a view that reads a property is
/// redrawn when the object changes.
///
/// An object belongs to the isolation domain of its context. The context retains it while it has
/// changes; otherwise its users do.
open class ManagedObject: Hashable, CustomStringConvertible {
  /// The state of an object between its context and the store.
  enum Stage {
    /// In no context.
    case detached
    /// Not saved yet.
    case inserted
    case stored
    /// Deleted in its context, not yet in the store.
    case deleted
    /// Deleted in the store.
    case gone
  }

  /// Permanent once the object is saved.
  public internal(set) var objectID: ManagedObjectID {
    get {
      if let knownID { return knownID }
      let id = ManagedObjectID.temporary(TemporaryNames.next())
      knownID = id
      return id
    }
    set { knownID = newValue }
  }
  /// Nil until it is read, because fetched objects need no temporary id.
  private var knownID: ManagedObjectID?
  /// nil for an object that was deleted, rolled back, or never inserted, and after the context was released:
  /// an object does not retain it.
  public internal(set) var managedObjectContext: ManagedObjectContext? {
    get { contextReference?.context }
    set { contextReference = newValue?.reference }
  }
  private var contextReference: WeakContext?

  var stage = Stage.detached { didSet { notifyReaders() } }
  /// The last values from the store or the parent context.
  var row = ItemValues([]) {
    didSet {
      storedMembers = [:]
      registerAsOwner()
      notifyReaders()
    }
  }
  /// The members in `row` of to-many relationships that were read since `row` changed.
  var storedMembers: [String: InsertionOrderedSet<ManagedObjectID>] = [:]
  /// True if the context has it among the objects with stored members.
  var ownsList = false
  /// Unsaved values.
  var edits: [String: JSON] = [:] { didSet { notifyReaders() } }
  /// Unsaved changes of to-many relationships.
  var memberEdits: [String: MemberEdits] = [:] { didSet { notifyReaders() } }
  /// The stored value of each property when it was first set, for conflict detection.
  var bases: [String: JSON] = [:]
  /// Values that cannot be stored; a save refuses them.
  var unstorable: [String: UnreadableValue] = [:] { didSet { notifyReaders() } }
  /// Decoded values, so that repeated reads return the same instance.
  var values: [String: Any] = [:]
  /// Related objects that were materialized through this one, except those that retain it.
  var related: [String: Set<ManagedObject>] = [:]
  /// True if an object retained this one.
  var isRetained = false
  /// When `row` was read.
  var rowReadTime = ReadTime(saves: 0)
  /// When single values of `row` were read, if later.
  var readTimes: [String: ReadTime] = [:]
  /// The changes that wait in the store's queue; nil if there are none.
  var queued: QueuedEdits?
  /// When the store no longer had the object; it is kept for its unsaved changes only.
  var missing: ReadTime?
  /// Notifies the observers of properties; nil before the first read.
  var registrar: ObservationRegistrar?

  /// Creates an object in no context. ``ManagedObjectContext/insertObject(_:)`` creates one that
  /// can be saved.
  public required init() {}

  deinit {
    guard !related.isEmpty else { return }
    ReleasedObjects.release(&related)
  }

  // MARK: - State

  /// True if it was inserted and not saved yet.
  public var isInserted: Bool { stage == .inserted }
  /// True if it was deleted in its context or in the store.
  public var isDeleted: Bool { stage == .deleted || stage == .gone }
  /// True if it is stored and has unsaved changes.
  public var isUpdated: Bool { stage == .stored && hasUnsavedEdits }
  /// True if a save would write or delete it.
  public var hasChanges: Bool {
    switch stage {
    case .inserted: queued == nil || hasUnsavedEdits
    case .deleted: queued?.isDeletion != true
    case .stored: hasUnsavedEdits
    case .detached, .gone: false
    }
  }

  var hasEdits: Bool { !edits.isEmpty || !memberEdits.isEmpty || !unstorable.isEmpty }

  /// The entity's name in the store's model.
  public var entityName: String { entityType?.entityName ?? "\(type(of: self))" }

  var entityType: (any ManagedEntity.Type)? { type(of: self) as? any ManagedEntity.Type }

  // MARK: - For subclasses

  /// Called once for a new object, before it is returned.
  open func awakeFromInsert() {}
  /// Called when the object was read from the store.
  open func awakeFromFetch() {}
  /// Called before each save that writes the object; may set properties.
  open func willSave() {}
  /// Called after each save that wrote the object.
  open func didSave() {}
  /// Called when the object is deleted in its context.
  open func prepareForDeletion() {}

  /// Validates a new object before a save.
  ///
  /// - Throws: ``ValidationFailure``, ``ValidationFailures``, or any error, whose description
  ///   becomes the reason.
  open func validateForInsert() throws {}
  /// Validates a changed object before a save. Throws as ``validateForInsert()``.
  open func validateForUpdate() throws {}
  /// Validates an object before its deletion is saved. Throws as ``validateForInsert()``.
  open func validateForDelete() throws {}

  // MARK: - Identity

  public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  open var description: String { "\(entityName) \(objectID)" }
}

/// Generates temporary ids, unique in this process.
enum TemporaryNames {
  static func next() -> String {
    let number = UInt64.random(in: .min ... .max)
    return "t" + String(number, radix: 36)
  }
}

/// Releases the objects that others retained one after the other: a long chain of objects that retain
/// each other would exceed the stack. One for each thread, as objects may be released on any.
private final class ReleasedObjects {
  private var objects: [ManagedObject] = []

  static func release(_ related: inout [String: Set<ManagedObject>]) {
    let thread = Thread.current.threadDictionary
    let key = "LiveFetch.ReleasedObjects"
    if let open = thread[key] as? ReleasedObjects {
      open.objects += related.values.joined()
      return
    }
    let open = ReleasedObjects()
    thread[key] = open
    open.objects += related.values.joined()
    related = [:]
    while !open.objects.isEmpty {
      let object = open.objects.removeLast()
      withExtendedLifetime(object) {}
    }
    thread.removeObject(forKey: key)
  }
}
