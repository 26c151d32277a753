// A save after it was looked up in the model: indexes and typed values only. What it may still meet
// is the store's state: other objects, constraints, and what others saved in between.

/// One transaction's changes, in their order.
public struct SaveRequest: Sendable, Hashable {
  public var changes: [Change]
  public var mergePolicy: MergePolicy
  /// Whether it came over a route of one object: then a missing object is
  /// ``SaveError/notFound(_:)`` and a changed one ``SaveError/preconditionFailed(_:)``.
  public var isSingle: Bool
  /// Whether the result is to show the one object with its usual values.
  public var showsObject = false
  /// Whose turn the save takes where several callers' saves wait.
  public var caller = Caller()
  /// What is wrong with the changes in themselves. A store refuses such a save; it gets to see it so
  /// that the refusal can list what is wrong with the store's objects as well.
  public var problems: [ChangeProblem] = []

  public init(changes: [Change], mergePolicy: MergePolicy = .error, isSingle: Bool = false) {
    self.changes = changes
    self.mergePolicy = mergePolicy
    self.isSingle = isSingle
  }

  /// Whether a change is of every object that matches, which may take long.
  public var isBatch: Bool {
    changes.contains { change in
      switch change.operation {
      case .updateAll, .deleteAll: true
      default: false
      }
    }
  }
}

/// What happens where somebody else saved in between.
public enum MergePolicy: String, Sendable, Hashable, CaseIterable {
  /// The save is refused.
  case error
  /// `ifMatch` and `base` are not looked at.
  case overwrite
  /// Properties that differ from `base` in the store keep the store's values.
  case storeWins
  /// Properties that differ from `base` in the store get the save's values.
  case objectWins
}

/// One change of a save.
public struct Change: Sendable, Hashable {
  public enum Operation: Sendable, Hashable {
    case insert(temporaryID: String?)
    case update(ObjectReference)
    /// Gives every property a value, its default where none is given; inserts a missing object.
    case replace(ObjectID)
    case delete(ObjectReference)
    /// Every object that matches; more than `limit` refuse the save.
    case updateAll(ResolvedPredicate, limit: Int?)
    case deleteAll(ResolvedPredicate, limit: Int?)
    /// What was written means no change; told among the save's problems.
    case nothing
  }

  public var operation: Operation
  public var entity: Int
  /// The id that an insert's client chose.
  public var id: ObjectID?
  /// Each property at most once.
  public var values: [PropertyValue]
  public var precondition: Precondition
  /// The properties whose values are wrong in themselves; nil where the change can be made. The
  /// others are among `values`.
  public var faults: Set<Property>?
  /// Whether the client said which entity the object is of: then it has to be of exactly this one.
  public var namesEntity = false

  public init(
    _ operation: Operation, entity: Int, id: ObjectID? = nil, values: [PropertyValue] = [],
    precondition: Precondition = .none
  ) {
    self.operation = operation
    self.entity = entity
    self.id = id
    self.values = values
    self.precondition = precondition
  }
}

/// What the store has to hold for a change to be made.
public enum Precondition: Sendable, Hashable {
  case none
  /// The object's ETag is one of these, without quotes.
  case etag([String])
  /// The object exists (`If-Match: *`).
  case present
  /// The object does not exist (`If-None-Match: *`).
  case absent
  /// The values that the client had seen.
  case base([PropertyValue])
}

/// An object by its id, or by the temporary id of an insert in the same save.
public enum ObjectReference: Sendable, Hashable {
  case id(ObjectID)
  /// The index of the insert among the save's changes.
  case inserted(Int)
}

/// A property and its new value.
public struct PropertyValue: Sendable, Hashable {
  public enum Content: Sendable, Hashable {
    /// An attribute's. Decimals are `.integer`, or `.double` where that is exact, else `.string`.
    case attribute(Int, Value)
    /// A to-one relationship's; nil is no object.
    case toOne(Int, ObjectReference?)
    /// A to-many relationship's.
    case toMany(Int, MemberEdit)
  }

  public let content: Content

  public init(_ content: Content) { self.content = content }

  /// The property that gets the value.
  public var property: Property {
    switch content {
    case .attribute(let index, _): .attribute(index)
    case .toOne(let index, _), .toMany(let index, _): .relationship(index)
    }
  }
}

/// A change of a to-many relationship.
public enum MemberEdit: Sendable, Hashable {
  /// Exactly these objects.
  case all([ObjectReference])
  case edit(add: [ObjectReference], remove: [ObjectReference])
}
