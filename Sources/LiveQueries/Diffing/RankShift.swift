// Computes old ranks from new ones, given the new keys and the changed objects.
//
// Unchanged objects have the same order before and after. An old rank is therefore the number of
// unchanged keys before a position plus the number of old changed keys before it. A lookup costs
// O(log n + log m) for m changed objects.

import FetchModel

/// The old and the new key of one object.
struct Touch: Sendable, Hashable {
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
  let untouchedBefore: Int

  /// - Parameter index: the number of changed keys before it.
  init(_ key: OrderKey, rank: Int, index: Int) {
    self.key = key
    self.rank = rank
    untouchedBefore = rank - index
  }
}

/// The old numbering of a result, expressed by the new one.
struct RankShift {
  let keys: RankedKeys
  /// The changed keys within the known part, sorted.
  let oldTouched: [OrderKey]
  let newTouched: [OrderKey]
  /// Their ranks, in the old and in the new numbering.
  private let oldRanks: [Int]
  private let newRanks: [Int]
  /// For each changed object, the index of its key in `oldTouched` or `newTouched`; nil if it is
  /// not there.
  private let oldIndexes: [Int?]
  private let newIndexes: [Int?]

  /// O(m log n) for m changed objects.
  init(keys: RankedKeys, touches: [Touch]) {
    self.keys = keys
    let (old, oldIndexes) = Self.sorted(touches.map(\.oldKey), keys)
    let (new, newIndexes) = Self.sorted(touches.map(\.newKey), keys)
    newRanks = new.map { keys.keys.lowerBound(of: $0.bytes) }
    oldRanks = old.enumerated().map { index, key in
      keys.keys.lowerBound(of: key.bytes) - new.countBefore(key) + index
    }
    oldTouched = old
    newTouched = new
    self.oldIndexes = oldIndexes
    self.newIndexes = newIndexes
  }

  /// The keys within the known part, sorted, and for each of `touched` its index there.
  private static func sorted(
    _ touched: [OrderKey?], _ keys: RankedKeys
  ) -> (keys: [OrderKey], indexes: [Int?]) {
    var covered: [(key: OrderKey, touch: Int)] = []
    for (touch, key) in touched.enumerated() {
      if let key, keys.covers(key) { covered.append((key, touch)) }
    }
    covered.sort { $0.key < $1.key }
    var indexes = [Int?](repeating: nil, count: touched.count)
    for (index, entry) in covered.enumerated() { indexes[entry.touch] = index }
    return (covered.map(\.key), indexes)
  }

  /// The old and the new place of a changed object; nil where it is unknown or absent.
  func places(ofTouch touch: Int) -> (old: ChangedKey?, new: ChangedKey?) {
    (
      oldIndexes[touch].map { ChangedKey(oldTouched[$0], rank: oldRanks[$0], index: $0) },
      newIndexes[touch].map { ChangedKey(newTouched[$0], rank: newRanks[$0], index: $0) }
    )
  }

  var oldCount: Int { keys.count - newTouched.count + oldTouched.count }
  var newCount: Int { keys.count }

  /// The number of unchanged keys among the first `rank` of the old numbering.
  func untouched(beforeOldRank rank: Int) -> Int { rank - oldRanks.partitionPoint { $0 < rank } }

  /// The number of unchanged keys among the first `rank` of the new numbering.
  func untouched(beforeNewRank rank: Int) -> Int { rank - newRanks.partitionPoint { $0 < rank } }

  /// The number of unchanged keys before `key`.
  func untouched(before key: OrderKey) -> Int {
    keys.keys.lowerBound(of: key.bytes) - newTouched.countBefore(key)
  }

  func oldRank(of key: OrderKey) -> Int { untouched(before: key) + oldTouched.countBefore(key) }

  func newRank(of key: OrderKey) -> Int { keys.keys.lowerBound(of: key.bytes) }

  /// The old ranks of a section's keys.
  func oldRanks(ofSection section: [UInt8]) -> Range<Int> {
    let new = keys.ranks(ofSection: section)
    let newTouched = newTouched.range(ofPrefix: section)
    let oldTouched = oldTouched.range(ofPrefix: section)
    let start = new.lowerBound - newTouched.lowerBound + oldTouched.lowerBound
    return start..<(start + new.count - newTouched.count + oldTouched.count)
  }

  /// The new rank of the unchanged key with this index among the unchanged keys.
  func newRank(ofUntouched index: Int) -> Int {
    index + newRanks.partitionPointByIndex { newRanks[$0] - $0 <= index }
  }

  func oldRank(ofUntouched index: Int) -> Int {
    index + oldRanks.partitionPointByIndex { oldRanks[$0] - $0 <= index }
  }

  /// The key with `rank` in the old numbering, which must be in 0..<oldCount.
  func oldKey(at rank: Int) -> OrderKey {
    let touchedBefore = oldRanks.partitionPoint { $0 < rank }
    if touchedBefore < oldRanks.count, oldRanks[touchedBefore] == rank {
      return oldTouched[touchedBefore]
    }
    return keys.keys[newRank(ofUntouched: rank - touchedBefore)]
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
