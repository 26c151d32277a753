// Changes on their way from a store to a controller. A slow reader needs memory in proportion to the
// results, however many changes there are.

/// The change of one result.
struct ResultChange<Result: InstanceIdentifiable> {
  /// The neighbours of a result in the store's order; nil at an end.
  struct Place {
    let previous: Result.InstanceID?
    let next: Result.InstanceID?
  }

  let id: Result.InstanceID
  /// Nil for a deleted result.
  var result: Result?
  /// Where the result is now, after the changes before this one. Nil for a result that keeps its
  /// place; a new one is the last then.
  var place: Place?
}

/// The changes since the last read.
struct DataStoreBatch<Result: InstanceIdentifiable> {
  typealias ID = Result.InstanceID
  typealias Change = ResultChange<Result>

  /// Every result in the store's order, if the store enqueued all.
  private(set) var all: [Result]?
  /// The results of `all` that may differ from earlier ones; nil for any.
  private(set) var changed: Set<ID>? = []
  /// Changes after `all`, in order.
  private(set) var changes: [Change] = []
  private var indexes: [ID: Int] = [:]
  /// True if a change has a place, which depends on the changes before it: none is merged then.
  private(set) var isPlaced = false

  var isEmpty: Bool { all == nil && changes.isEmpty }

  /// Without places each result appears at most twice: one that is inserted after its deletion gets a
  /// second change, because its place is the end.
  mutating func add(_ change: Change) {
    isPlaced = isPlaced || change.place != nil
    if !isPlaced, let index = indexes[change.id],
      change.result == nil || changes[index].result != nil
    {
      changes[index].result = change.result
      return
    }
    indexes[change.id] = changes.count
    changes.append(change)
    if !isPlaced, changes.count > indexes.count * 2 { compact() }
  }

  /// Keeps the first deletion and the last change of each result.
  private mutating func compact() {
    var deleted: Set<ID> = []
    var kept: [Change] = []
    for (index, change) in changes.enumerated() {
      let isLast = indexes[change.id] == index
      guard isLast || change.result == nil && deleted.insert(change.id).inserted else { continue }
      if isLast { indexes[change.id] = kept.count }
      kept.append(change)
    }
    changes = kept
  }

  mutating func replace(with all: [Result], changed: Set<ID>?) {
    self.all = all
    if let changed, let known = self.changed {
      self.changed = known.union(changed).union(indexes.keys)
    } else {
      self.changed = nil
    }
    (changes, indexes, isPlaced) = ([], [:], false)
  }

  mutating func append(_ later: Self) {
    if let all = later.all { replace(with: all, changed: later.changed) }
    for change in later.changes { add(change) }
  }

  /// The batch for a reader without results, or with those of another query: results that it does not
  /// contain are removed.
  var first: Self {
    var batch = self
    (batch.all, batch.changed) = (all ?? [], nil)
    return batch
  }
}

extension ResultChange.Place: Sendable {}
extension ResultChange: Sendable where Result: Sendable {}
extension DataStoreBatch: Sendable where Result: Sendable {}
