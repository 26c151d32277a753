// The results of a query by id, in the store's order.

/// All results that a query delivered so far.
struct StoredResults<Result: InstanceIdentifiable> {
  typealias ID = Result.InstanceID

  struct Entry {
    var result: Result
    /// Its index in the store's order.
    var sequence: Int
    /// True if the controller's arrangement includes it.
    var isShown = false
  }

  /// The entries of changed results before the change; nil for inserted ones.
  typealias Previous = [ID: Entry?]

  private(set) var entries: [ID: Entry] = [:]
  private var nextSequence = 0

  /// Every result in the store's order. O(n log n).
  var ordered: [Result] {
    entries.values.sorted { $0.sequence < $1.sequence }.map(\.result)
  }

  /// Applies a batch. O(changes), unless the batch replaces all results.
  ///
  /// - Returns: the previous entries of inserted, deleted and possibly changed results, and whether
  ///   results changed places. Results that are appended or deleted leave the others in place.
  mutating func apply(
    _ batch: DataStoreBatch<Result>
  ) -> (previous: Previous, isReordered: Bool) {
    var (previous, isReordered): (Previous, Bool) = ([:], false)
    if let all = batch.all {
      (previous, isReordered) = replace(with: all, onlyChanged: batch.changed)
    }
    for (id, result) in batch.changes {
      let old = entries[id]
      guard let result else {
        if let old { previous.note(old, of: id) }
        entries[id] = nil
        continue
      }
      if let old, isKnownSame(old.result, result) { continue }
      previous.note(old, of: id)
      entries[id] = Entry(result: result, sequence: old?.sequence ?? nextSequence)
      if old == nil { nextSequence += 1 }
    }
    return (previous, isReordered)
  }

  private mutating func replace(
    with all: [Result], onlyChanged limit: Set<ID>?
  ) -> (previous: Previous, isReordered: Bool) {
    var (previous, isReordered): (Previous, Bool) = ([:], false)
    var new: [ID: Entry] = [:]
    new.reserveCapacity(all.count)
    var last = -1
    for result in all {
      let id = result.instanceID
      let old = entries[id]
      let sequence = old?.sequence ?? nextSequence
      if old == nil { nextSequence += 1 }
      isReordered = isReordered || sequence <= last
      last = sequence
      new[id] = Entry(result: result, sequence: sequence, isShown: old?.isShown ?? false)
      if let old, !(limit?.contains(id) ?? true) || isKnownSame(old.result, result) { continue }
      previous.note(old, of: id)
    }
    for (id, old) in entries where new[id] == nil { previous.note(old, of: id) }
    entries = new
    if isReordered { number(all) }
    return (previous, isReordered)
  }

  private mutating func number(_ all: [Result]) {
    for (sequence, result) in all.enumerated() { entries[result.instanceID]?.sequence = sequence }
    nextSequence = all.count
  }

  /// Places every result by `arrangement`, in no particular order. O(n).
  mutating func placeAll(by arrangement: ResultArrangement<Result>) -> [PlacedResult<Result>] {
    var placed: [PlacedResult<Result>] = []
    placed.reserveCapacity(entries.count)
    for index in entries.indices {
      let place = arrangement.place(entries.values[index])
      entries.values[index].isShown = place != nil
      if let place { placed.append(place) }
    }
    return placed
  }

  /// Places one result by `arrangement`; nil if there is none or it is filtered out. O(1).
  mutating func place(
    _ id: ID, by arrangement: ResultArrangement<Result>
  ) -> PlacedResult<Result>? {
    guard let index = entries.index(forKey: id) else { return nil }
    let place = arrangement.place(entries.values[index])
    entries.values[index].isShown = place != nil
    return place
  }
}

extension Dictionary {
  /// Keeps the first entry of each id.
  fileprivate mutating func note<Entry>(_ old: Entry?, of id: Key) where Value == Entry? {
    if self[id] == nil { updateValue(old, forKey: id) }
  }
}
