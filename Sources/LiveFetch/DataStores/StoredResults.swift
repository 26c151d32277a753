// The results of a query by id, in the store's order.

/// All results that a query delivered so far.
struct StoredResults<Result: InstanceIdentifiable> {
  typealias ID = Result.InstanceID

  struct Entry {
    var result: Result
    /// Its index in the store's order.
    var sequence: Int
  }

  private(set) var entries: [ID: Entry] = [:]
  private var nextSequence = 0

  /// Every result in the store's order. O(n log n).
  var ordered: [Result] {
    entries.values.sorted { $0.sequence < $1.sequence }.map(\.result)
  }

  /// Applies a batch.
  ///
  /// - Returns: the ids of inserted, deleted and possibly changed results, and whether the order of
  ///   all results was replaced.
  mutating func apply(_ batch: DataStoreBatch<Result>) -> (changed: Set<ID>, isReordered: Bool) {
    var changed: Set<ID> = []
    if let all = batch.all { changed = replace(with: all, onlyChanged: batch.changed) }
    for (id, result) in batch.changes {
      if let result {
        set(result, id, &changed)
      } else if entries.removeValue(forKey: id) != nil {
        changed.insert(id)
      }
    }
    return (changed, batch.all != nil)
  }

  private mutating func set(_ result: Result, _ id: ID, _ changed: inout Set<ID>) {
    if let old = entries[id] {
      guard !isKnownSame(old.result, result) else { return }
      entries[id]?.result = result
    } else {
      entries[id] = Entry(result: result, sequence: nextSequence)
      nextSequence += 1
    }
    changed.insert(id)
  }

  private mutating func replace(with all: [Result], onlyChanged limit: Set<ID>?) -> Set<ID> {
    var changed: Set<ID> = []
    var new: [ID: Entry] = [:]
    new.reserveCapacity(all.count)
    for (sequence, result) in all.enumerated() {
      let id = result.instanceID
      new[id] = Entry(result: result, sequence: sequence)
      guard let old = entries[id] else {
        changed.insert(id)
        continue
      }
      if limit?.contains(id) ?? true, !isKnownSame(old.result, result) { changed.insert(id) }
    }
    for id in entries.keys where new[id] == nil { changed.insert(id) }
    (entries, nextSequence) = (new, all.count)
    return changed
  }
}
