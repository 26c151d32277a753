// The store's interface for the live engine. All results within one read transaction belong to the
// same state, which its token identifies.

/// An object of a result, as read from the store.
public struct Row: Sendable, Hashable {
  /// The object's position in the plan's order.
  public let key: OrderKey
  /// The item as JSON: `{"id":1,"name":"Shanghai"}`.
  public let json: [UInt8]
  /// The range in `json` of each value of the plan's selection, in order.
  public let values: [Range<Int>]

  /// Makes a row.
  public init(key: OrderKey, json: [UInt8], values: [Range<Int>]) {
    self.key = key
    self.json = json
    self.values = values
  }
}

/// A relationship, by its indexes in the model.
public struct EntityRelationship: Sendable, Hashable {
  /// The index of the entity in ``Model/entities``.
  public let entity: Int
  /// The index of the relationship in the entity.
  public let relationship: Int

  /// Makes an entity relationship.
  public init(entity: Int, relationship: Int) {
    self.entity = entity
    self.relationship = relationship
  }
}

/// The changes of the saves between two positions of the history.
public struct ChangeSet: Sendable {
  /// The objects inserted, updated or deleted, by entity index.
  public var objects: [Int: Set<ObjectID>]
  /// The objects whose related objects changed, by old and new links, for each to-many
  /// relationship.
  public var members: [EntityRelationship: Set<ObjectID>]
  /// The properties whose values differ, of objects that existed before and still exist, by entity
  /// index. A changed object that is not listed was inserted or deleted, or the store does not know
  /// which properties differ.
  public var changes: [Int: [ObjectID: PropertyMask]]
  /// The position after which these changes were made; nil if the store needs none to read past
  /// values.
  public var start: HistoryPosition?
  /// True if there may be states between the two, because several transactions made the changes. A
  /// client may have received such a state, in which a value differs from its values in both.
  public var hasStatesBetween = false

  /// Makes a change set.
  public init(
    objects: [Int: Set<ObjectID>] = [:], members: [EntityRelationship: Set<ObjectID>] = [:],
    changes: [Int: [ObjectID: PropertyMask]] = [:], start: HistoryPosition? = nil
  ) {
    self.objects = objects
    self.members = members
    self.changes = changes
    self.start = start
  }

  /// True without any changed object.
  public var isEmpty: Bool { objects.isEmpty && members.isEmpty }
}

/// The state of the store from which rows are read.
public enum ReadPosition: Sendable, Hashable {
  /// The state of the read transaction.
  case now
  /// The state at an earlier position of the history.
  case past(HistoryPosition)
}

/// The validity of a token.
public enum TokenValidity: Sendable, Hashable {
  /// The history has every change after the token's position.
  case known
  /// The token is of another history, or the history after its position is pruned or incomplete.
  case expired
}

/// The part of the history that pruning must keep for a reader.
public enum RetentionDemand: Sendable, Hashable {
  /// None of it.
  case nothing
  /// The changes committed from now on.
  case new
  /// The changes after a position.
  case after(HistoryPosition)
}

/// A store that live queries can follow.
public protocol LiveStore: Sendable {
  /// The entities of the store.
  var model: Model { get }
  /// The comparison rules of the columns, for evaluating conditions over
  /// ``ReadTransaction/values(of:ids:at:)``; nil if only the store itself can evaluate them.
  var columns: (any ColumnTraits)? { get }
  /// The newest token of a save, a report or a read of this process. Needs no query.
  var newestToken: Token { get }
  /// Runs `body` in a read transaction on the newest committed state.
  func read<Result>(
    _ body: (any ReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result
  /// Runs `body` in a read transaction on the newest committed state. Once `isCancelled` returns true, the
  /// running query throws ``StoreError/queryTimeout``.
  func read<Result>(
    cancelledWhen isCancelled: @escaping @Sendable () -> Bool,
    _ body: (any ReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result
  /// Sets the part of the history that `reader` still needs, in place of its earlier demand. A store that
  /// prunes its history keeps that part as long as the reader makes progress.
  func demand(_ demand: RetentionDemand, of reader: ObjectIdentifier)
}

/// An open read transaction.
public protocol ReadTransaction {
  /// The token of this state.
  var token: Token { get }
  /// The maximum number of bytes of a response's JSON.
  var maxResponseBytes: Int { get }
  /// Runs `body` with a total time budget for its queries: the shorter of `limit` and the store's
  /// own limit (nil: only the store's own). The budget replaces any outer one. After it, queries
  /// throw ``StoreError/queryTimeout``.
  func withTimeLimit<Result>(
    _ limit: Duration?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result
  /// Returns whether the history reaches back to `token` without a gap.
  func validity(of token: Token) throws(StoreError) -> TokenValidity
  /// Returns the error that clients get for `error`, with which a query of this transaction failed:
  /// ``StoreError/schemaChanged(entity:)`` if a table differs from the model, otherwise `error`.
  func mapError(_ error: StoreError) -> StoreError
  /// Returns the changes after `position`, up to this state. O(changed rows).
  func changes(after position: HistoryPosition) throws(StoreError) -> ChangeSet
  /// Returns the ids of `plan`'s entity whose row may differ because of `changeSet`: changed objects,
  /// and objects that reach a changed object over a key path of the plan.
  func affectedIDs(of plan: FetchPlan, by changeSet: ChangeSet) throws(StoreError) -> Set<ObjectID>
  /// Returns the keys of a result in order, at most `limit`, strictly after `after`.
  ///
  /// - Throws: ``StoreError/overloaded`` if they need more than `maxBytes`.
  func keys(
    of definition: ResultDefinition, after: OrderKey?, limit: Int?, maxBytes: Int
  ) throws(StoreError) -> [OrderKey]
  /// Returns the number of objects in the whole result, whatever its window.
  func total(of definition: ResultDefinition) throws(StoreError) -> Int
  /// Returns those of `ids` that are in the result at `position`, with their values at that position.
  func rows(
    of plan: FetchPlan, ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: Row]
  /// Returns the values at the ends of to-one `paths`, all from one entity, for those of `ids` that
  /// exist at `position`. An element is nil if its value cannot be represented exactly. Returns nil
  /// if the store cannot provide values, so that every fetch has to be queried.
  func values(
    of paths: [PropertyPath], ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: [StoredValue?]]?
  /// Returns the dictionaries of `plan.groupedQuery` at `position`. Equal values give equal bytes, in
  /// whatever order the store reads its rows.
  func dictionaries(of plan: FetchPlan, at position: ReadPosition) throws(StoreError)
    -> GroupedResult
  /// Returns the objects that `plan.expansion` reaches at `position` from the root objects `ids`, as
  /// JSON, by entity. A diff does not send again what was reached at the client's position; a store
  /// that cannot read past values returns nothing for it.
  func expandedObjects(
    of plan: FetchPlan, roots ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ExpandedObject]
}

extension LiveStore {
  /// The default for a store whose comparison rules are unknown.
  public var columns: (any ColumnTraits)? { nil }

  /// The default for a store without cancellation.
  public func read<Result>(
    cancelledWhen isCancelled: @escaping @Sendable () -> Bool,
    _ body: (any ReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result { try read(body) }

  /// The default for a store that never prunes its history.
  public func demand(_ demand: RetentionDemand, of reader: ObjectIdentifier) {}
}

extension ReadTransaction {
  /// Returns the keys of a result in order, at most `limit`, strictly after `after`.
  package func keys(
    of definition: ResultDefinition, after: OrderKey?, limit: Int?
  ) throws(StoreError) -> [OrderKey] {
    try keys(of: definition, after: after, limit: limit, maxBytes: .max)
  }

  /// The default for a store without a limit.
  public var maxResponseBytes: Int { .max }

  /// The default for a store whose schema cannot change while it is open.
  public func mapError(_ error: StoreError) -> StoreError { error }

  /// The default for a store without time limits.
  public func withTimeLimit<Result>(
    _ limit: Duration?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result { try body() }

  /// The default for a store that cannot provide values.
  public func values(
    of paths: [PropertyPath], ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: [StoredValue?]]? { nil }
}

/// A related object in `included`.
public struct ExpandedObject: Sendable, Hashable {
  /// The index of the object's entity in ``Model/entities``.
  public let entity: Int
  /// The object's id.
  public let id: ObjectID
  /// The object as JSON: `{"id":1,"name":"China"}`.
  public let json: [UInt8]

  /// Makes an expanded object.
  public init(entity: Int, id: ObjectID, json: [UInt8]) {
    self.entity = entity
    self.id = id
    self.json = json
  }
}
