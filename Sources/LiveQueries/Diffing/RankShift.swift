// Computes old ranks from new ones, given the new keys and the changed objects.
//
// Unchanged objects have the same order before and after. An old rank is therefore the number of
// unchanged keys before a position plus the number of old changed keys before it. A lookup costs
// O(log n + log m) for m changed objects.

import FetchModel

/// The old and the new key of one object.
struct KeyChange: Sendable, Hashable {
  let id: ObjectID
  /// nil if it was not in the result.
  let oldKey: OrderKey?
  /// nil if it is not in the result.
  let newKey: OrderKey?
  /// True if a value that clients see differs.
  let valuesChanged: Bool
}

/// A changed object's key in the old or the new numbering.
struct ChangedKey {
  let key: OrderKey
  let rank: Int
  /// The number of unchanged keys before it.
  let unchangedBefore: Int

  /// - Parameter index: the number of changed keys before it.
  init(_ key: OrderKey, rank: Int, index: Int) {
    self.key = key
    self.rank = rank
    unchangedBefore = rank - index
  }
}

/// The old numbering of a result, expressed by the new one.
struct RankShift {
  let keys: RankedKeys
  /// The changed keys within the known part, sorted.
  let oldChanged: [OrderKey]
  let newChanged: [OrderKey]
  /// Their ranks, in the old and in the new numbering.
  private let oldRanks: [Int]
  private let newRanks: [Int]
  /// For each changed object, the index of its key in `oldChanged` or `newChanged`; nil if it is
  /// not there.
  private let oldIndexes: [Int?]
  private let newIndexes: [Int?]
  /// True if the history names an object that the result lacks. The other values mean nothing then.
  let isContradicted: Bool

  /// O(m log n) for m changed objects.
  init(keys: RankedKeys, keyChanges: [KeyChange]) {
    self.keys = keys
    let (old, oldIndexes) = Self.sorted(keyChanges.map(\.oldKey), keys)
    let (new, newIndexes) = Self.sorted(keyChanges.map(\.newKey), keys)
    newRanks = new.map { keys.keys.lowerBound(of: $0.bytes) }
    oldRanks = old.enumerated().map { index, key in
      keys.keys.lowerBound(of: key.bytes) - new.countBefore(key) + index
    }
    oldChanged = old
    newChanged = new
    isContradicted = zip(new, newRanks).contains { key, rank in
      rank >= keys.count || keys.keys[rank] != key
    }
    self.oldIndexes = oldIndexes
    self.newIndexes = newIndexes
  }

  /// The keys within the known part, sorted, and for each of `changed` its index there.
  private static func sorted(
    _ changed: [OrderKey?], _ keys: RankedKeys
  ) -> (keys: [OrderKey], indexes: [Int?]) {
    var covered: [(key: OrderKey, change: Int)] = []
    for (change, key) in changed.enumerated() {
      if let key, keys.covers(key) { covered.append((key, change)) }
    }
    covered.sort { $0.key < $1.key }
    var indexes = [Int?](repeating: nil, count: changed.count)
    for (index, entry) in covered.enumerated() { indexes[entry.change] = index }
    return (covered.map(\.key), indexes)
  }

  /// The old and the new key of a changed object; nil if it is unknown or absent.
  func keys(ofChange change: Int) -> (old: ChangedKey?, new: ChangedKey?) {
    (
      oldIndexes[change].map { ChangedKey(oldChanged[$0], rank: oldRanks[$0], index: $0) },
      newIndexes[change].map { ChangedKey(newChanged[$0], rank: newRanks[$0], index: $0) }
    )
  }

  /// Not negative, even if a store's history contradicts its rows.
  var oldCount: Int { max(0, keys.count - newChanged.count + oldChanged.count) }
  var newCount: Int { keys.count }

  /// The number of unchanged keys among the first `rank` of the old numbering.
  func unchanged(beforeOldRank rank: Int) -> Int { rank - oldRanks.partitionPoint { $0 < rank } }

  /// The number of unchanged keys among the first `rank` of the new numbering.
  func unchanged(beforeNewRank rank: Int) -> Int { rank - newRanks.partitionPoint { $0 < rank } }

  /// The number of unchanged keys before `key`.
  func unchanged(before key: OrderKey) -> Int {
    keys.keys.lowerBound(of: key.bytes) - newChanged.countBefore(key)
  }

  func oldRank(of key: OrderKey) -> Int { unchanged(before: key) + oldChanged.countBefore(key) }

  func newRank(of key: OrderKey) -> Int { keys.keys.lowerBound(of: key.bytes) }

  /// The old ranks of a section's keys.
  func oldRanks(ofSection section: [UInt8]) -> Range<Int> {
    let new = keys.ranks(ofSection: section)
    let newChanged = newChanged.range(ofPrefix: section)
    let oldChanged = oldChanged.range(ofPrefix: section)
    let start = new.lowerBound - newChanged.lowerBound + oldChanged.lowerBound
    return start..<(start + max(0, new.count - newChanged.count + oldChanged.count))
  }

  /// The new rank of the unchanged key with this index among the unchanged keys.
  func newRank(ofUnchanged index: Int) -> Int {
    index + newRanks.partitionPointByIndex { newRanks[$0] - $0 <= index }
  }

  /// The key with `rank` in the old numbering, which must be in 0..<oldCount.
  func oldKey(at rank: Int) -> OrderKey {
    let changedBefore = oldRanks.partitionPoint { $0 < rank }
    if changedBefore < oldRanks.count, oldRanks[changedBefore] == rank {
      return oldChanged[changedBefore]
    }
    return keys.keys[newRank(ofUnchanged: rank - changedBefore)]
  }
}

extension Array {
  /// The number of elements before the first one for which `isBefore` is false.
  func partitionPoint(_ isBefore: (Element) -> Bool) -> Int {
    partitionPointByIndex { isBefore(self[$0]) }
  }

  func partitionPointByIndex(_ isBefore: (Int) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(middle) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension [OrderKey] {
  /// The number of these sorted keys that are less than `key`.
  func countBefore(_ key: OrderKey) -> Int { partitionPoint { $0 < key } }

  /// The indexes of the keys that begin with `prefix`.
  func range(ofPrefix prefix: [UInt8]) -> Range<Int> {
    let start = partitionPoint { $0.bytes.precedes(prefix) }
    let end = partitionPoint { $0.bytes.precedes(prefix) || $0.bytes.starts(with: prefix) }
    return start..<end
  }
}
