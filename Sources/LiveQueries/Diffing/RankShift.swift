// Old ranks from new ones: the new keys and what was touched enter; how many keys stood before a
// place leaves, in the new numbering, in the old one and among the untouched alone.
//
// Untouched objects stand in the same order before and after, so an old rank is the number of
// untouched ones before a place plus the number of old touched keys before it. O(log n + log m) a
// look-up for m touched; nothing is asked of the rest.

import FetchModel

/// What became of one object between two moments.
struct Touch: Sendable, Hashable {
  let id: ObjectID
  /// Its place before; nil if it was not in the result.
  let oldKey: OrderKey?
  /// Its place now; nil if it is not in the result.
  let newKey: OrderKey?
  /// Whether a value that clients see differs.
  let valuesChanged: Bool
}

/// A touched object's key in one numbering.
struct TouchedKey {
  let key: OrderKey
  let rank: Int
  /// How many untouched keys stand before it.
  let untouchedBefore: Int

  /// - Parameter index: how many touched keys stand before it.
  init(_ key: OrderKey, rank: Int, index: Int) {
    self.key = key
    self.rank = rank
    untouchedBefore = rank - index
  }
}

/// The old numbering of a result, seen from the new one.
struct RankShift {
  let keys: RankedKeys
  /// The touched keys that the part known holds or held, in order.
  let oldTouched: [OrderKey]
  let newTouched: [OrderKey]
  /// Their ranks, each in its own numbering.
  private let oldRanks: [Int]
  private let newRanks: [Int]
  /// By touch: where its key stands among those above; nil where it does not.
  private let oldIndexes: [Int?]
  private let newIndexes: [Int?]

  /// O(m log n) for m touches.
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

  /// The keys that the part known covers, in order, and for each of `touched` its index there.
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

  /// Where the object of a touch stood and stands, as far as that is known.
  func places(ofTouch touch: Int) -> (old: TouchedKey?, new: TouchedKey?) {
    (
      oldIndexes[touch].map { TouchedKey(oldTouched[$0], rank: oldRanks[$0], index: $0) },
      newIndexes[touch].map { TouchedKey(newTouched[$0], rank: newRanks[$0], index: $0) }
    )
  }

  var oldCount: Int { keys.count - newTouched.count + oldTouched.count }
  var newCount: Int { keys.count }

  /// How many untouched keys are among the first `rank` of the old numbering.
  func untouched(beforeOldRank rank: Int) -> Int { rank - oldRanks.partitionPoint { $0 < rank } }

  /// How many untouched keys are among the first `rank` of the new numbering.
  func untouched(beforeNewRank rank: Int) -> Int { rank - newRanks.partitionPoint { $0 < rank } }

  /// How many untouched keys stand before `key`.
  func untouched(before key: OrderKey) -> Int {
    keys.keys.lowerBound(of: key.bytes) - newTouched.countBefore(key)
  }

  func oldRank(of key: OrderKey) -> Int { untouched(before: key) + oldTouched.countBefore(key) }

  func newRank(of key: OrderKey) -> Int { keys.keys.lowerBound(of: key.bytes) }

  /// The ranks that a section's keys had.
  func oldRanks(ofSection section: [UInt8]) -> Range<Int> {
    let new = keys.ranks(ofSection: section)
    let newTouched = newTouched.range(ofPrefix: section)
    let oldTouched = oldTouched.range(ofPrefix: section)
    let start = new.lowerBound - newTouched.lowerBound + oldTouched.lowerBound
    return start..<(start + new.count - newTouched.count + oldTouched.count)
  }

  /// The ranks, in the new numbering, of the untouched keys with these indexes among themselves.
  func newRank(ofUntouched index: Int) -> Int {
    index + newRanks.partitionPointByIndex { newRanks[$0] - $0 <= index }
  }

  func oldRank(ofUntouched index: Int) -> Int {
    index + oldRanks.partitionPointByIndex { oldRanks[$0] - $0 <= index }
  }

  /// The key that had `rank` in the old numbering, which must be in 0..<oldCount.
  func oldKey(at rank: Int) -> OrderKey {
    let touchedBefore = oldRanks.partitionPoint { $0 < rank }
    if touchedBefore < oldRanks.count, oldRanks[touchedBefore] == rank {
      return oldTouched[touchedBefore]
    }
    return keys.keys[newRank(ofUntouched: rank - touchedBefore)]
  }
}

extension Array {
  /// How many elements stand before the first that does not meet `isBefore`.
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
  /// How many of these sorted keys stand before `key`.
  func countBefore(_ key: OrderKey) -> Int { partitionPoint { $0 < key } }

  /// The indexes of those that begin with `prefix`.
  func range(ofPrefix prefix: [UInt8]) -> Range<Int> {
    let start = partitionPoint { $0.bytes.precedes(prefix) }
    let end = partitionPoint { $0.bytes.precedes(prefix) || $0.bytes.starts(with: prefix) }
    return start..<end
  }
}
