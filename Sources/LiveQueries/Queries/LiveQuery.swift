// One distinct fetch, kept as its ordered keys: change sets enter, row changes leave, and the keys,
// the total and the change log advance.
//
// All state refers to one position of the history. With waiters, the query advances with every
// snapshot that may change its result; without, it is inactive until the next request.

import FetchModel

/// Identifies a live query.
struct QueryKey: Hashable {
  /// Computed once, because a condition may have thousands of constants.
  private let hashCode: Int
  let definition: ResultDefinition
  let selection: [SelectedValue]
  let expansion: [PropertyPath]
  let integersAsStrings: Bool
  /// The only object of interest; nil for a whole result.
  let only: ObjectID?
  /// True if rows only indicate whether dictionaries may differ.
  let hasDictionaries: Bool

  init(_ plan: FetchPlan, only: ObjectID?) {
    integersAsStrings = plan.integersAsStrings
    self.only = only
    hasDictionaries = plan.groupedQuery != nil
    if let groupedQuery = plan.groupedQuery {
      definition = plan.definition
      (selection, expansion) = groupedQuery.observed
    } else if plan.shape == .count && only == nil {
      definition = ResultDefinition(
        entity: plan.definition.entity, predicate: plan.definition.predicate,
        access: plan.definition.access)
      (selection, expansion) = ([], [])
    } else {
      definition = plan.definition
      selection = plan.selection
      expansion = plan.shape == .ids ? [] : plan.expansion
    }
    var hasher = Hasher()
    hasher.combine(definition)
    hasher.combine(selection)
    hasher.combine(expansion)
    hasher.combine(integersAsStrings)
    hasher.combine(only)
    hasher.combine(hasDictionaries)
    hashCode = hasher.finalize()
  }

  func hash(into hasher: inout Hasher) { hasher.combine(hashCode) }
}

/// The row changes since a position.
struct FoundChanges {
  let changes: [RowChange]
  /// True if no object is left out; false if objects that no view shows are.
  var isWhole = true
}

/// A fetch that is kept up to date.
final class LiveQuery {
  let key: QueryKey
  let model: Model
  /// The plan by which rows are read: no window, whole items.
  let plan: FetchPlan
  let cursor: CursorCoder
  /// Its entries in the query index.
  var routing: QueryRouting
  /// The position that all state refers to.
  var position: HistoryPosition
  /// The engine's steps past states that clients may know; nil for a query outside of the engine.
  var passed: PassedPositions?
  /// True while clients wait, so that the query advances with every snapshot.
  var isActive = false
  var waiterCount = 0 {
    didSet { if waiterCount == 0 { callers = [] } }
  }
  /// The callers of its waiters; some of them may have left.
  var callers: Set<String> = []
  var views: [ViewKey: LiveView] = [:]
  var ranges: [OrderKey?: KeyRange] = [:]
  /// The number of matching objects, if a view shows it.
  var total: Int?
  var log: RowChangeLog
  /// True while it is in ``LiveQueries/queries``.
  var isKept = false
  /// The maximum number of bytes of the keys that one read returns.
  private let maxKeyBytes: Int
  /// The memory that the fetch itself needs, about.
  private let planSize: Int
  /// Its part of ``LiveQueries/byteCount``.
  var countedBytes = 0

  init(
    key: QueryKey, model: Model, columns: (any ColumnTraits)? = nil, position: HistoryPosition,
    maxKeyBytes: Int = .max
  ) {
    self.key = key
    self.maxKeyBytes = maxKeyBytes
    self.model = model
    self.position = position
    plan = FetchPlan(
      definition: key.definition, selection: key.selection, expansion: key.expansion,
      integersAsStrings: key.integersAsStrings)
    cursor = CursorCoder(of: key.definition, in: model)
    routing = QueryRouting(of: plan, only: key.only, model: model, columns: columns)
    log = RowChangeLog(start: position)
    planSize = 768 + key.definition.predicate.condition.memorySize
  }

  /// Advances all state to the context's snapshot.
  ///
  /// - Parameter known: the ids whose rows may differ; nil to query the store for them.
  /// - Returns: the change of each object; empty if the result and its related objects are the same.
  func advance(
    _ context: CatchUpContext, affected known: Set<ObjectID>? = nil
  ) throws(StoreError) -> [RowChange] {
    let base = position
    let found = try rowChanges(after: base, known: known, context)
    position = context.token.position
    guard let found else {
      if try context.changes(after: base, in: model).changeSet.hasStatesBetween {
        log.append([], from: base, to: position)
      }
      return []
    }
    record(found, after: base)
    let changes = found.changes
    guard !changes.isEmpty else { return [] }
    // A copy of the keys, because sharing them with the dictionary would copy it.
    for key in Array(ranges.keys) { ranges[key]?.apply(changes) }
    total = total.map { $0 + changes.reduce(0) { $0 + $1.countChange } }
    for view in views.values {
      view.bodies = [:]
      if view.waiters.isEmpty { view.digest = nil }
    }
    return changes
  }

  /// Appends the changes to the log, or restarts it if they are incomplete.
  private func record(_ found: FoundChanges, after base: HistoryPosition) {
    if found.isWhole { return log.append(found.changes, from: base, to: position) }
    dropChanges()
  }

  /// Drops the changes that it keeps for clients that return.
  func dropChanges() {
    log = RowChangeLog(start: position)
    for view in views.values { view.bodies = [:] }
  }

  /// With more changed objects, dictionaries are recomputed without comparing rows.
  private static let maxRowsCompared = 1_000

  /// The change of each object after `start`, up to the context's snapshot; nil if nothing relevant
  /// changed, empty if all changes were reverted.
  func rowChanges(
    after start: HistoryPosition, known: Set<ObjectID>? = nil, _ context: CatchUpContext
  ) throws(StoreError) -> FoundChanges? {
    let ids = try affectedIDs(after: start, known: known, context)
    guard !ids.isEmpty else { return nil }
    return try rowChanges(of: ids, after: start, context)
  }

  /// The objects whose rows may differ from those at `start`; `known` if that is not nil.
  func affectedIDs(
    after start: HistoryPosition, known: Set<ObjectID>? = nil, _ context: CatchUpContext
  ) throws(StoreError) -> Set<ObjectID> {
    let changed = try context.changes(after: start, in: model)
    guard routing.readSet.isAffected(by: changed, only: key.only) else { return [] }
    let known = known ?? context.affectedIDs(of: key, after: start)
    var ids =
      if let known { known } else {
        try context.transaction.affectedIDs(of: plan, by: changed.changeSet)
      }
    if let only = key.only { ids.formIntersection([only]) }
    return ids
  }

  /// The changes of the objects `affected` after `start`. If they are many, objects that no view shows
  /// and that move nothing are left out.
  func rowChanges(
    of affected: Set<ObjectID>, after start: HistoryPosition, _ context: CatchUpContext
  ) throws(StoreError) -> FoundChanges {
    if key.hasDictionaries, affected.count > Self.maxRowsCompared {
      return FoundChanges(changes: [.unknown])
    }
    let ids = try withoutInvisible(affected, after: start, context)
    let new = try context.transaction.rows(of: plan, ids: ids, at: .now)
    let old = try oldRows(ids, at: start, context)
    let changes = ids.compactMap { id -> RowChange? in
      let change = RowChange(id: id, old: old[id], new: new[id])
      // An object that was inserted and deleted since a client's token is deleted for that client. One
      // that is not in the result says nothing to those that wait.
      if change.old == nil && change.new == nil {
        return key.only == nil || start == position ? nil : change
      }
      return change.isSameRow && key.expansion.isEmpty ? nil : change
    }
    return FoundChanges(changes: changes, isWhole: ids.count == affected.count)
  }

  /// The rows at `start`, from the log if `start` is the query's position.
  private func oldRows(
    _ ids: Set<ObjectID>, at start: HistoryPosition, _ context: CatchUpContext
  ) throws(StoreError) -> [ObjectID: Row] {
    guard start == position, !key.hasDictionaries else {
      return try context.transaction.rows(of: plan, ids: ids, at: .past(start))
    }
    let unknown = ids.filter { log.latestRow(of: $0) == nil }
    var rows: [ObjectID: Row] = [:]
    if !unknown.isEmpty {
      rows = try context.transaction.rows(of: plan, ids: unknown, at: .past(start))
    }
    for id in ids {
      if let row = log.latestRow(of: id) ?? nil { rows[id] = row }
    }
    return rows
  }

  /// The view of `key`; reads what it needs from the store if it is new.
  func view(
    _ key: ViewKey, _ context: CatchUpContext, now: ContinuousClock.Instant
  ) throws(StoreError) -> LiveView {
    if let view = views[key] {
      try ranges[key.after]?.cover(
        key.window.upperBound, [], of: self.key.definition, context.transaction)
      return view
    }
    if key.withTotal, total == nil {
      total = try context.transaction.total(of: self.key.definition)
    }
    if key.shape == .objects || key.shape == .ids { try makeRange(key, context) }
    let view = LiveView(key: key, now: now)
    views[key] = view
    return view
  }

  /// Takes over a view, and the keys that it needs, of another query of the same fetch that is up to
  /// date with the same snapshot. Reads nothing.
  func adopt(_ key: ViewKey, of other: LiveQuery) {
    guard other !== self else { return }
    total = total ?? other.total
    if let range = other.ranges[key.after], !isCovered(key) || ranges[key.after] == nil {
      ranges[key.after] = range
    }
    if views[key] == nil { views[key] = other.views[key] }
  }

  private func makeRange(_ key: ViewKey, _ context: CatchUpContext) throws(StoreError) {
    let end = key.window.upperBound
    if ranges[key.after] == nil {
      ranges[key.after] = try KeyRange(
        of: self.key.definition, after: key.after, need: end, maxBytes: maxKeyBytes,
        context.transaction)
    } else {
      try ranges[key.after]?.cover(end, [], of: self.key.definition, context.transaction)
    }
  }

  /// True if the keys suffice for `view`.
  func isCovered(_ view: ViewKey) -> Bool {
    ranges[view.after]?.isCovered(to: view.window.upperBound) ?? true
  }

  /// The memory that the query needs, about. O(views).
  var byteCount: Int {
    let keys = ranges.values.reduce(0) { $0 + $1.keys.byteCount }
    let views = views.values.reduce(0) { $0 + $1.byteCount }
    return planSize + keys + views + log.byteCount
  }

  /// When a request has used the query last.
  var lastUse: ContinuousClock.Instant? { views.values.map(\.lastUse).max() }

  /// Drops views that were not used since `time`, and the keys that only they needed.
  func dropViews(unusedSince time: ContinuousClock.Instant) {
    views = views.filter { !$0.value.waiters.isEmpty || $0.value.lastUse > time }
    let starts = Set(views.keys.filter { $0.shape == .objects || $0.shape == .ids }.map(\.after))
    ranges = ranges.filter { starts.contains($0.key) }
    if !views.keys.contains(where: \.withTotal) { total = nil }
  }
}
