// What the live engine asks of a store. One moment is one read transaction: every answer of it is
// about the same state, and its token names that state.

/// One object of a result, as the store read it.
public struct Row: Sendable, Hashable {
  /// Where it stands in the plan's order.
  public let key: OrderKey
  /// The item as JSON: `{"id":1,"name":"Shanghai"}`.
  public let json: [UInt8]
  /// For each value of the plan's selection, in order, where its JSON stands in `json`.
  public let values: [Range<Int>]

  public init(key: OrderKey, json: [UInt8], values: [Range<Int>]) {
    self.key = key
    self.json = json
    self.values = values
  }
}

/// A relationship by its place in the model.
public struct RelationshipPlace: Sendable, Hashable {
  public let entity: Int
  public let relationship: Int

  public init(entity: Int, relationship: Int) {
    self.entity = entity
    self.relationship = relationship
  }
}

/// What saves touched between two positions of the history.
public struct Touches: Sendable {
  /// By entity index: the objects inserted, updated or deleted.
  public var objects: [Int: Set<ObjectID>]
  /// By to-many relationship: the objects whose related objects came or went, by old and new links.
  public var members: [RelationshipPlace: Set<ObjectID>]
  /// By entity index: of objects that were there before and still are, which properties differ.
  /// Touched objects that are not named here came or went, or the store does not say.
  public var changes: [Int: [ObjectID: PropertyMask]]
  /// The position after which all this was touched; nil where the store needs none to look back.
  public var start: Int64?

  public init(
    objects: [Int: Set<ObjectID>] = [:], members: [RelationshipPlace: Set<ObjectID>] = [:],
    changes: [Int: [ObjectID: PropertyMask]] = [:], start: Int64? = nil
  ) {
    self.objects = objects
    self.members = members
    self.changes = changes
    self.start = start
  }

  public var isEmpty: Bool { objects.isEmpty && members.isEmpty }
}

/// Which state of the store rows are read from.
public enum Moment: Sendable, Hashable {
  /// The state of the read transaction.
  case now
  /// The state at an earlier position of the history.
  case past(Int64)
}

/// Whether a token can be continued from.
public enum TokenStanding: Sendable, Hashable {
  case known, expired
}

/// What somebody who follows a store has still to read of its history.
public enum HistoryDemand: Sendable, Hashable {
  case nothing
  /// Whatever is committed from now on.
  case new
  /// What was touched after a position.
  case after(Int64)
}

/// A store that live queries can follow.
public protocol LiveStore: Sendable {
  var model: Model { get }
  /// How columns compare, so that conditions can be evaluated over ``LiveMoment/values(of:ids:at:)``;
  /// nil where only the store itself can tell.
  var columns: (any ColumnTraits)? { get }
  /// Runs `body` in one read transaction at the newest committed state.
  func read<Result>(
    _ body: (any LiveMoment) throws(StoreError) -> Result
  ) throws(StoreError) -> Result
  /// The same; a question that is being answered when `isOver` comes true ends soon after with
  /// ``StoreError/queryTimeout``.
  func read<Result>(
    unless isOver: @escaping @Sendable () -> Bool,
    _ body: (any LiveMoment) throws(StoreError) -> Result
  ) throws(StoreError) -> Result
  /// Says what `reader` has still to read: a store that forgets its beginnings keeps that, as long as
  /// the reader makes progress.
  func demand(_ demand: HistoryDemand, of reader: ObjectIdentifier)
}

/// One open read transaction.
public protocol LiveMoment {
  /// The newest position of this state.
  var token: Token { get }
  /// Runs `body`, all of whose questions together may take as long as `limit`, from now on, and no
  /// longer than the store's own limit (nil: that alone); then they end with
  /// ``StoreError/queryTimeout``. Whatever else limits the moment is of no account meanwhile.
  func within<Result>(
    _ limit: Duration?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result
  /// Whether history reaches back to `token` without a hole.
  func standing(of token: Token) throws(StoreError) -> TokenStanding
  /// What it means that one of these questions failed with `error`: a table that is not what the
  /// model says is ``StoreError/schemaChanged(entity:)``.
  func meaning(of error: StoreError) -> StoreError
  /// What was touched after `position`, up to this state.
  func touches(after position: Int64) throws(StoreError) -> Touches
  /// The ids of `plan`'s entity whose row may differ because of `touches`: those touched
  /// themselves and those that reach a touched object over a key path of the plan.
  func roots(of plan: FetchPlan, touchedBy touches: Touches) throws(StoreError) -> Set<ObjectID>
  /// The keys of a result in order, at most `limit`, strictly behind `after`.
  func keys(
    of definition: ResultDefinition, after: OrderKey?, limit: Int?
  ) throws(StoreError) -> [OrderKey]
  /// How many objects the result has without a window.
  func total(of definition: ResultDefinition) throws(StoreError) -> Int
  /// Those of `ids` that are in the result at `moment`, with their values then.
  func rows(
    of plan: FetchPlan, ids: Set<ObjectID>, at moment: Moment
  ) throws(StoreError) -> [ObjectID: Row]
  /// What stands at the ends of to-one `paths`, all from one entity, for those of `ids` that exist
  /// at `moment`; nil inside where a value cannot be told exactly. nil where the store cannot tell
  /// values at all, so that every fetch has to be asked.
  func values(
    of paths: [PropertyPath], ids: Set<ObjectID>, at moment: Moment
  ) throws(StoreError) -> [ObjectID: [StoredValue?]]?
  /// The dictionaries that `plan.tabulation` makes, as they were at `moment`: the same bytes for the
  /// same values, whatever the order in which the store comes upon its rows.
  func dictionaries(of plan: FetchPlan, at moment: Moment) throws(StoreError) -> TabulatedResult
  /// By entity, whole objects as JSON: those that `plan.expansion` reaches from `ids` (roots).
  func expandedObjects(
    of plan: FetchPlan, roots ids: Set<ObjectID>
  ) throws(StoreError) -> [ExpandedObject]
  /// The same, as it was at `moment`: what a diff need not send again.
  func expandedObjects(
    of plan: FetchPlan, roots ids: Set<ObjectID>, at moment: Moment
  ) throws(StoreError) -> [ExpandedObject]
}

extension LiveStore {
  public var columns: (any ColumnTraits)? { nil }

  /// A store that breaks nothing off.
  public func read<Result>(
    unless isOver: @escaping @Sendable () -> Bool,
    _ body: (any LiveMoment) throws(StoreError) -> Result
  ) throws(StoreError) -> Result { try read(body) }

  /// A store that forgets nothing.
  public func demand(_ demand: HistoryDemand, of reader: ObjectIdentifier) {}
}

extension LiveMoment {
  public func meaning(of error: StoreError) -> StoreError { error }

  /// A store without limits.
  public func within<Result>(
    _ limit: Duration?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result { try body() }

  public func values(
    of paths: [PropertyPath], ids: Set<ObjectID>, at moment: Moment
  ) throws(StoreError) -> [ObjectID: [StoredValue?]]? { nil }

  /// A store that cannot tell the past of related objects sends more of them than it had to.
  public func expandedObjects(
    of plan: FetchPlan, roots ids: Set<ObjectID>, at moment: Moment
  ) throws(StoreError) -> [ExpandedObject] {
    moment == .now ? try expandedObjects(of: plan, roots: ids) : []
  }
}

/// A related object sent along in `included`.
public struct ExpandedObject: Sendable, Hashable {
  public let entity: Int
  public let id: ObjectID
  public let json: [UInt8]

  public init(entity: Int, id: ObjectID, json: [UInt8]) {
    self.entity = entity
    self.id = id
    self.json = json
  }
}
