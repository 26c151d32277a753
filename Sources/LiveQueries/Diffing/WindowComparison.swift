// One window before and after a change, in ranks. Input of `WindowDiff`, `MoveFinder` and the
// digest.

import FetchModel

/// The same window over the old and the new keys.
struct WindowComparison {
  let shift: RankShift
  /// The old ranks that are in the window.
  let oldVisible: Range<Int>
  /// The new ranks that are in the window.
  let newVisible: Range<Int>
  /// The unchanged objects in the window before and after, as indexes among all unchanged objects. An
  /// object has the same index before and after.
  let oldUnchanged: Range<Int>
  /// See ``oldUnchanged``.
  let newUnchanged: Range<Int>
  private let window: Range<Int>
  var numbers: SectionNumbers
  /// The old keys of items that leave their position.
  var leaving: [OrderKey] = []
  /// The new keys of items that arrive at a position.
  var arriving: [OrderKey] = []

  init(keys: RankedKeys, keyChanges: [KeyChange], window: Range<Int>) {
    self.init(RankShift(keys: keys, keyChanges: keyChanges), window: window)
  }

  init(_ shift: RankShift, window: Range<Int>) {
    self.shift = shift
    self.window = window
    oldVisible = window.clamped(to: 0..<shift.oldCount)
    newVisible = window.clamped(to: 0..<shift.newCount)
    oldUnchanged = Self.range(
      shift.unchanged(beforeOldRank: oldVisible.lowerBound),
      shift.unchanged(beforeOldRank: oldVisible.upperBound))
    newUnchanged = Self.range(
      shift.unchanged(beforeNewRank: newVisible.lowerBound),
      shift.unchanged(beforeNewRank: newVisible.upperBound))
    numbers = SectionNumbers(shift: shift, oldVisible: oldVisible, newVisible: newVisible)
  }

  /// An empty range if the end is before the start, as it may be if a store's history contradicts its
  /// rows: that must not end the process.
  private static func range(_ start: Int, _ end: Int) -> Range<Int> { start..<max(start, end) }

  /// The extent of the window before the change.
  var oldExtent: WindowExtent {
    WindowExtent(
      count: oldVisible.count,
      last: oldVisible.isEmpty ? nil : shift.oldKey(at: oldVisible.upperBound - 1),
      hasMore: shift.oldCount > window.upperBound || !shift.keys.isComplete)
  }

  /// The extent of the window after the change.
  var newExtent: WindowExtent {
    WindowExtent(
      count: newVisible.count,
      last: newVisible.isEmpty ? nil : shift.keys.keys[newVisible.upperBound - 1],
      hasMore: shift.newCount > window.upperBound || !shift.keys.isComplete)
  }

  /// Returns the key of the unchanged object with this index among the unchanged ones.
  func unchangedKey(_ index: Int) -> OrderKey {
    shift.keys.keys[shift.newRank(ofUnchanged: index)]
  }

  /// The old and the new key of a changed object; nil if it is outside the window.
  func keys(ofChange change: Int) -> (old: ChangedKey?, new: ChangedKey?) {
    let (old, new) = shift.keys(ofChange: change)
    return (
      old.flatMap { oldVisible.contains($0.rank) ? $0 : nil },
      new.flatMap { newVisible.contains($0.rank) ? $0 : nil }
    )
  }

  mutating func oldPosition(_ changed: ChangedKey) -> Position {
    numbers.oldPosition(of: changed.key, rank: changed.rank)
  }

  mutating func newPosition(_ changed: ChangedKey) -> Position {
    numbers.newPosition(of: changed.key, rank: changed.rank)
  }

  mutating func oldPosition(_ key: OrderKey) -> Position {
    numbers.oldPosition(of: key, rank: shift.oldRank(of: key))
  }

  mutating func newPosition(_ key: OrderKey) -> Position {
    numbers.newPosition(of: key, rank: shift.newRank(of: key))
  }
}
