// Changes on their way from a store to a controller. Each object appears at most twice, so a slow
// reader needs memory in proportion to the results, however many changes there are.

/// The changes since the last read.
struct DataStoreBatch<Result: InstanceIdentifiable> {
  typealias ID = Result.InstanceID

  /// Every result in the store's order, if the store enqueued all.
  private(set) var all: [Result]?
  /// The results of `all` that may differ from earlier ones; nil for any.
  private(set) var changed: Set<ID>? = []
  /// Changes after `all`, in order. The value is nil for a deleted result.
  private(set) var changes: [(id: ID, result: Result?)] = []
  private var places: [ID: Int] = [:]

  var isEmpty: Bool { all == nil && changes.isEmpty }

  mutating func add(_ result: Result, _ type: DataStoreChangeType) {
    add(result.instanceID, type == .delete ? nil : result)
  }

  /// A result that is inserted after its deletion gets a second change: its place is the end.
  mutating func add(_ id: ID, _ result: Result?) {
    if let place = places[id], result == nil || changes[place].result != nil {
      changes[place].result = result
      return
    }
    places[id] = changes.count
    changes.append((id, result))
    if changes.count > places.count * 2 { compact() }
  }

  /// Keeps the first deletion and the last change of each result.
  private mutating func compact() {
    var deleted: Set<ID> = []
    var kept: [(id: ID, result: Result?)] = []
    for (index, change) in changes.enumerated() {
      let isLast = places[change.id] == index
      guard isLast || change.result == nil && deleted.insert(change.id).inserted else { continue }
      if isLast { places[change.id] = kept.count }
      kept.append(change)
    }
    changes = kept
  }

  mutating func replace(with all: [Result], changed: Set<ID>?) {
    self.all = all
    if let changed, let known = self.changed {
      self.changed = known.union(changed).union(places.keys)
    } else {
      self.changed = nil
    }
    (changes, places) = ([], [:])
  }

  mutating func append(_ later: Self) {
    if let all = later.all { replace(with: all, changed: later.changed) }
    for change in later.changes { add(change.id, change.result) }
  }
}

extension DataStoreBatch: Sendable where Result: Sendable {}
