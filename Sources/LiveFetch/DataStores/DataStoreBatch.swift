// Changes on their way from a store to a controller. Each object appears at most once, so a slow
// reader needs no more memory than the results themselves.

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
    let id = result.instanceID
    let value = type == .delete ? nil : result
    if let place = places[id] {
      changes[place].result = value
    } else {
      places[id] = changes.count
      changes.append((id, value))
    }
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
    for change in later.changes {
      if let place = places[change.id] {
        changes[place].result = change.result
      } else {
        places[change.id] = changes.count
        changes.append(change)
      }
    }
  }
}

extension DataStoreBatch: Sendable where Result: Sendable {}
