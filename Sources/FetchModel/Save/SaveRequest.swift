// A save after name resolution: indexes and typed values. It can still fail for the store's state:
// other objects, constraints, and concurrent saves.

/// The changes of one transaction, in order.
public struct SaveRequest: Sendable, Hashable {
  /// The changes, in the order of their execution.
  public var changes: [Change]
  /// The policy for conflicts with other saves.
  public var mergePolicy: MergePolicy
  /// True if the request addressed a single object. Then a missing object is
  /// ``SaveError/notFound(_:)`` and a changed one ``SaveError/preconditionFailed(_:)``.
  public var isSingle: Bool
  /// True if the result must contain the object with its default values, if the caller may read it.
  public var showsObject = false
  /// True if that object has its integers as strings.
  public var integersAsStrings = false
  /// The caller, for the fair order of several callers' saves.
  public var caller = CallerID()
  /// The access rules of the caller; nil if none restrict the save.
  public var access: CallerAccess?
  /// True if a batch leaves out the objects that the rules do not let the caller change. Otherwise
  /// one such object refuses the save.
  public var isLenient = false
  /// The maximum number of objects that the save may insert, update and delete (`max-affected`); nil without a
  /// limit.
  public var maxAffected: Int?
  /// The objects of batches that a read transaction has found before the save; nil if the save finds
  /// them.
  package var found: FoundObjects?
  /// Problems of the changes that were found without the store. A store refuses such a save; it
  /// receives the save so that the refusal can also list problems with stored objects.
  public var problems: [ChangeProblem] = []

  /// Makes a save request.
  public init(changes: [Change], mergePolicy: MergePolicy = .error, isSingle: Bool = false) {
    self.changes = changes
    self.mergePolicy = mergePolicy
    self.isSingle = isSingle
  }

  /// The most changes of a save that shares a transaction with other saves.
  public static let maxSharedChanges = 1_000

  /// True if the save may take long: it has many changes, or one that applies to every matching object.
  public var isBatch: Bool {
    changes.count > Self.maxSharedChanges
      || changes.contains { change in
        switch change.operation {
        case .updateAll, .deleteAll: true
        default: false
        }
      }
  }
}

/// The objects that match the conditions of a save's batches at a token.
package struct FoundObjects: Sendable, Hashable {
  package let token: Token
  /// By the index of the change.
  package var ids: [Int: Set<ObjectID>]
  /// The changes whose conditions take too long to be evaluated while other saves wait.
  package var expensive: Set<Int> = []

  package init(token: Token, ids: [Int: Set<ObjectID>]) {
    self.token = token
    self.ids = ids
  }
}

extension SaveRequest {
  /// Returns the plan of the objects that a batch changes.
  package func batchPlan(
    _ predicate: ResolvedPredicate, of entity: Int, in model: Model
  ) -> FetchPlan {
    FetchPlan(
      definition: ResultDefinition(
        entity: entity, predicate: predicate.and(model.membership(of: entity)))
    ).restricted(by: access)
  }

  /// Returns the plans of the batches with conditions, by the index of the change.
  package func batchPlans(in model: Model) -> [Int: FetchPlan] {
    var plans: [Int: FetchPlan] = [:]
    for (index, change) in changes.enumerated() where change.faults == nil {
      switch change.operation {
      case .updateAll(let predicate), .deleteAll(let predicate):
        guard predicate.condition != .constant(true) else { continue }
        plans[index] = batchPlan(predicate, of: change.entity, in: model)
      case .insert, .update, .replace, .delete, .nothing: continue
      }
    }
    return plans
  }
}

/// The way in which a save resolves conflicts with saves made since the client read the objects.
public enum MergePolicy: String, Sendable, Hashable, CaseIterable {
  /// The save is refused.
  case error
  /// Ignores `ifMatch` and `base`.
  case overwrite
  /// Properties whose stored values differ from `base` keep the stored values.
  case storeWins
  /// Properties whose stored values differ from `base` get the save's values.
  case objectWins
}

/// A change of a save.
public struct Change: Sendable, Hashable {
  /// The operation of a change.
  public enum Operation: Sendable, Hashable {
    case insert(temporaryID: String?)
    case update(ObjectReference)
    /// Sets every property, to its default if no value is given. Inserts a missing object.
    case replace(ObjectID)
    case delete(ObjectReference)
    /// Every matching object. More than `limit` matches refuse the save.
    case updateAll(ResolvedPredicate)
    case deleteAll(ResolvedPredicate)
    /// The draft contains no change; the save's problems say why.
    case nothing
  }

  /// The operation, with the object or the predicate that it refers to.
  public var operation: Operation
  /// The index of the entity.
  public var entity: Int
  /// The id that the client chose for an insert.
  public var id: ObjectID?
  /// Each property at most once.
  public var values: [PropertyValue]
  /// The model's defaults of attributes that the caller does not see or may not write, and what is
  /// derived from them. An insertion sets them; a replacement keeps the stored values.
  public var protectedDefaults: [PropertyValue] = []
  /// The condition on the stored object under which the change is made.
  public var precondition: Precondition
  /// The properties with invalid values; nil if the change is valid. Valid values are in `values`.
  public var faults: Set<Property>?
  /// True if the client named the entity. Then the object must be of exactly this entity.
  public var namesEntity = false

  /// Makes a change.
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

/// The condition on the stored object under which a change is made.
public enum Precondition: Sendable, Hashable {
  case none
  /// The object's ETag is one of these, without quotes.
  case etag([String])
  /// The object exists (`If-Match: *`).
  case present
  /// The object does not exist (`If-None-Match: *`).
  case absent
  /// The values that the client had read.
  case base([PropertyValue])
}

/// An object, by its id or by the temporary id of an insert in the same save.
public enum ObjectReference: Sendable, Hashable {
  case id(ObjectID)
  /// The index of the insert among the save's changes.
  case inserted(Int)
}

/// A property and its new value.
public struct PropertyValue: Sendable, Hashable {
  /// A property's index in the entity, with the value.
  public enum Content: Sendable, Hashable {
    /// An attribute's value. Decimals are `.integer`, or `.double` if that is exact, otherwise
    /// `.string`. A value that a client had read and that the type cannot hold is `.json`.
    case attribute(Int, Value)
    /// A to-one relationship's value; nil clears it.
    case toOne(Int, ObjectReference?)
    /// A to-many relationship's edit.
    case toMany(Int, MemberEdit)
  }

  /// The property and its new value.
  public let content: Content

  /// Makes a property value.
  public init(_ content: Content) { self.content = content }

  /// The property that the value is for.
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
