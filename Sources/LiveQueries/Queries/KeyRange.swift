// The keys of one result after a cursor, as many as its windows need. Row changes enter; if
// removals leave too few keys, more are read from the store.

import FetchModel

/// The keys after one cursor, shared by every window that begins there.
struct KeyRange {
  private(set) var keys: RankedKeys
  /// The number of keys that the windows need.
  private var need: Int
  /// The maximum number of bytes of one read.
  private let maxBytes: Int

  /// Reads the first keys after `start`.
  init(
    of definition: ResultDefinition, after start: OrderKey?, need: Int, maxBytes: Int,
    _ transaction: any ReadTransaction
  ) throws(StoreError) {
    self.need = need
    self.maxBytes = maxBytes
    let limit = Self.target(need)
    let sorted = try transaction.keys(
      of: definition, after: start, limit: limit == .max ? nil : limit, maxBytes: maxBytes)
    keys = RankedKeys(
      sorted: sorted, isSectioned: definition.section != nil,
      isComplete: sorted.count < limit, after: start)
  }

  /// The number of keys to read: those needed, and a reserve.
  private static func target(_ need: Int) -> Int {
    need >= .max / 4 ? .max : need + max(16, need / 4)
  }

  /// Applies row changes to the keys.
  mutating func apply(_ changes: [RowChange]) {
    let moved = changes.filter { $0.old?.key != $0.new?.key }
    keys.update(
      removing: moved.compactMap { $0.old?.key }, inserting: moved.compactMap { $0.new?.key })
    let target = Self.target(need)
    if target < .max / 4, keys.count > 2 * target { keys.trim(to: target) }
  }

  /// Reads keys until windows up to `end`, and whether the result continues after them, are known
  /// both now and before `keyChanges`.
  mutating func cover(
    _ end: Int, _ keyChanges: [KeyChange], of definition: ResultDefinition,
    _ transaction: any ReadTransaction
  ) throws(StoreError) {
    need = max(need, end)
    // Each round examines every change, so the number of keys read doubles.
    var extra = max(16, need / 4)
    while !keys.isComplete {
      let oldCount =
        keys.count - keyChanges.lazy.compactMap(\.newKey).filter(keys.covers).count
        + keyChanges.lazy.compactMap(\.oldKey).filter(keys.covers).count
      let missing = end - min(oldCount, keys.count) + 1
      if missing <= 0 { return }
      try extend(by: missing, extra, of: definition, transaction)
      extra = max(extra, keys.count)
    }
  }

  /// True if windows up to `end`, and whether the result continues after them, are known.
  func isCovered(to end: Int) -> Bool { keys.isComplete || keys.count > end }

  private mutating func extend(
    by missing: Int, _ extra: Int, of definition: ResultDefinition,
    _ transaction: any ReadTransaction
  ) throws(StoreError) {
    let limit = missing >= .max / 4 ? nil : missing + extra
    let more = try transaction.keys(
      of: definition, after: keys.bound, limit: limit, maxBytes: maxBytes)
    keys.append(contentsOf: more, isComplete: limit.map { more.count < $0 } ?? true)
  }
}
