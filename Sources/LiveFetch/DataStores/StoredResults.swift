// The results of a query by id, in the store's order.

/// All results that a query delivered so far.
struct StoredResults<Result: InstanceIdentifiable> {
  typealias ID = Result.InstanceID

  struct Entry {
    var result: Result
    /// Ascending in the store's order, with gaps for results that come between others.
    var sequence: Int
    /// True if the controller's arrangement includes it.
    var isShown = false
  }

  /// The entries of changed results before the change; nil for inserted ones.
  typealias Previous = [ID: Entry?]

  /// The distance between two results that were numbered one after the other. It is halved 32 times
  /// before all results are numbered again.
  private static var gap: Int { 1 << 32 }

  private(set) var entries: [ID: Entry] = [:]
  private var nextSequence = 0

  /// Every result in the store's order. O(n log n).
  var ordered: [Result] {
    entries.values.sorted { $0.sequence < $1.sequence }.map(\.result)
  }

  /// True if the values of a result differ from those before a change, as far as is known.
  func isUpdated(_ id: ID, since previous: Previous) -> Bool {
    guard let before = previous[id] else { return false }
    guard let before, let now = entries[id] else { return true }
    return !isKnownSame(before.result, now.result)
  }

  /// Applies a batch. O(changes), unless the batch replaces all results.
  ///
  /// - Returns: the previous entries of inserted, deleted, moved and possibly changed results, and
  ///   whether other results were numbered again. Results that are inserted, moved or deleted leave
  ///   the others in place.
  mutating func apply(
    _ batch: DataStoreBatch<Result>
  ) -> (previous: Previous, isReordered: Bool) {
    var (previous, isReordered): (Previous, Bool) = ([:], false)
    if let all = batch.all {
      (previous, isReordered) = replace(with: all, onlyChanged: batch.changed)
    }
    for change in batch.changes {
      let old = entries[change.id]
      guard let result = change.result else {
        if let old { previous.record(old, of: change.id) }
        entries[change.id] = nil
        continue
      }
      if let old, change.place == nil, isKnownSame(old.result, result) { continue }
      previous.record(old, of: change.id)
      var sequence = change.place == nil ? old?.sequence : nil
      if sequence == nil, let place = change.place {
        sequence = number(at: place)
        if sequence == nil {
          numberAll()
          isReordered = true
          sequence = number(at: place)
        }
      }
      entries[change.id] = Entry(result: result, sequence: sequence ?? nextNumber())
    }
    return (previous, isReordered)
  }

  private mutating func replace(
    with all: [Result], onlyChanged limit: Set<ID>?
  ) -> (previous: Previous, isReordered: Bool) {
    var (previous, isReordered): (Previous, Bool) = ([:], false)
    var new: [ID: Entry] = [:]
    new.reserveCapacity(all.count)
    var last = Int.min
    for result in all {
      let id = result.instanceID
      let old = entries[id]
      let sequence = old?.sequence ?? nextNumber()
      isReordered = isReordered || sequence <= last
      last = sequence
      new[id] = Entry(result: result, sequence: sequence, isShown: old?.isShown ?? false)
      if let old, !(limit?.contains(id) ?? true) || isKnownSame(old.result, result) { continue }
      previous.record(old, of: id)
    }
    for (id, old) in entries where new[id] == nil { previous.record(old, of: id) }
    entries = new
    if isReordered { number(all.lazy.map(\.instanceID)) }
    return (previous, isReordered)
  }

  // MARK: - Numbers

  private mutating func nextNumber() -> Int {
    defer { nextSequence += Self.gap }
    return nextSequence
  }

  /// The number of a result between its neighbours; nil if there is none left.
  private mutating func number(at place: ResultChange<Result>.Place) -> Int? {
    let low = place.previous.flatMap { entries[$0]?.sequence }
    let high = place.next.flatMap { entries[$0]?.sequence }
    switch (low, high) {
    case (_, nil): return nextNumber()
    case (nil, let high?): return high - Self.gap
    case (let low?, let high?): return high - low > 1 ? low + (high - low) / 2 : nil
    }
  }

  private mutating func numberAll() {
    number(entries.sorted { $0.value.sequence < $1.value.sequence }.map(\.key))
  }

  private mutating func number(_ ids: some Collection<ID>) {
    for (index, id) in ids.enumerated() { entries[id]?.sequence = index * Self.gap }
    nextSequence = ids.count * Self.gap
  }

  // MARK: - Arranging

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
  fileprivate mutating func record<Entry>(_ old: Entry?, of id: Key) where Value == Entry? {
    if self[id] == nil { updateValue(old, forKey: id) }
  }
}
