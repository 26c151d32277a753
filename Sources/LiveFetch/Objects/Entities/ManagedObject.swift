// One object in memory: what the store last told of it, and what was changed since.

/// An object of an entity, unique in its context: two fetches that find the same object give the same
/// instance, and what a diff of the store brings changes it in place.
///
/// Subclasses declare their properties, see ``ManagedObjectType``. An instance is always whole: every
/// declared attribute has a value of its type. What is not in memory is another object that it
/// refers to, and that shows in the types: relationships are ``Fault`` and ``Members``, which are
/// fetched when they are asked for.
///
/// An object belongs to the isolation domain of its context. The context keeps it as long as it has
/// changes, and else whoever holds it does.
open class ManagedObject: Hashable, CustomStringConvertible {
  /// Where an object stands between its context and the store.
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

  /// Permanent once the object was saved.
  public internal(set) var objectID: ManagedObjectID
  /// nil for an object that was deleted, rolled back, or never inserted.
  public internal(set) weak var managedObjectContext: ManagedObjectContext?

  var stage = Stage.detached
  /// What the store, or the parent context, last told.
  var row: [String: JSON] = [:]
  /// Values that were assigned since and are not saved.
  var edits: [String: JSON] = [:]
  /// Unsaved changes of to-many relationships.
  var memberEdits: [String: MemberEdits] = [:]
  /// What stood in the store when a property was first assigned to: what a save compares with.
  var bases: [String: JSON] = [:]
  /// Assigned values that cannot be stored; a save refuses them.
  var unstorable: [String: UnreadableValue] = [:]
  /// Values as they were assigned or last read: so that the same instance is read again.
  var values: [String: Any] = [:]
  /// Related objects that were materialized through this one.
  var related: [String: [ManagedObject]] = [:]
  /// How new `row` is.
  var rowReading = Reading(saves: 0)
  /// How new values of `row` are that were told by themselves.
  var readings: [String: Reading] = [:]
  /// When the store was found to have the object no more; it is kept for its unsaved changes alone.
  var missing: Reading?

  /// An object in no context. ``ManagedObjectContext/insertObject(_:)`` makes one that can be saved.
  public required init() { objectID = .temporary(TemporaryNames.next()) }

  // MARK: - Where it stands

  /// Whether it was inserted and not saved yet.
  public var isInserted: Bool { stage == .inserted }
  /// Whether it was deleted, in its context or in the store.
  public var isDeleted: Bool { stage == .deleted || stage == .gone }
  /// Whether the store has it and it has changes that are not saved.
  public var isUpdated: Bool { stage == .stored && hasEdits }
  /// Whether a save would do something with it.
  public var hasChanges: Bool { stage == .inserted || stage == .deleted || isUpdated }

  var hasEdits: Bool { !edits.isEmpty || !memberEdits.isEmpty || !unstorable.isEmpty }

  /// The entity's name in the store's model.
  public var entityName: String { entityType?.entityName ?? "\(type(of: self))" }

  var entityType: (any ManagedEntity.Type)? { type(of: self) as? any ManagedEntity.Type }

  // MARK: - For subclasses

  /// Called once for a new object, before it is given to who asked for it.
  open func awakeFromInsert() {}
  /// Called when the object came into memory from the store.
  open func awakeFromFetch() {}
  /// Called before each save that would write the object; may assign to it.
  open func willSave() {}
  /// Called after each save that wrote the object.
  open func didSave() {}
  /// Called when the object is deleted in its context.
  open func prepareForDeletion() {}

  /// Own rules for a new object, asked before it is saved.
  ///
  /// - Throws: ``ValidationFailure``, ``ValidationFailures``, or any error, whose description is then
  ///   the reason.
  open func validateForInsert() throws {}
  /// Own rules for a changed object, asked before it is saved. Throws as ``validateForInsert()``.
  open func validateForUpdate() throws {}
  /// Own rules for an object that is to be deleted. Throws as ``validateForInsert()``.
  open func validateForDelete() throws {}

  // MARK: - Identity

  public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  open var description: String { "\(entityName) \(objectID)" }
}

/// Names for objects that no store knows yet, once each in this process.
enum TemporaryNames {
  static func next() -> String {
    let number = UInt64.random(in: .min ... .max)
    return "t" + String(number, radix: 36)
  }
}
