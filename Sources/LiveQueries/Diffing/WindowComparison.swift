// A window before and after, in ranks: what WindowDiff, MoveFinder and the digest look up.

import FetchModel

/// The same window over the old and the new keys.
struct WindowComparison {
  let shift: RankShift
  /// The ranks in the window, each in its own numbering.
  let oldVisible: Range<Int>
  let newVisible: Range<Int>
  /// The untouched objects in it, by their indexes among the untouched: the same in both.
  let oldUntouched: Range<Int>
  let newUntouched: Range<Int>
  private let window: Range<Int>
  var numbers: SectionNumbers
  /// The old keys of what leaves its place, the new keys of what comes to one.
  var leaving: [OrderKey] = []
  var arriving: [OrderKey] = []

  init(keys: RankedKeys, touches: [Touch], window: Range<Int>) {
    shift = RankShift(keys: keys, touches: touches)
    self.window = window
    oldVisible = window.clamped(to: 0..<shift.oldCount)
    newVisible = window.clamped(to: 0..<shift.newCount)
    oldUntouched =
      shift.untouched(
        beforeOldRank: oldVisible.lowerBound)..<shift.untouched(
        beforeOldRank: oldVisible.upperBound)
    newUntouched =
      shift.untouched(
        beforeNewRank: newVisible.lowerBound)..<shift.untouched(
        beforeNewRank: newVisible.upperBound)
    numbers = SectionNumbers(shift: shift, oldVisible: oldVisible, newVisible: newVisible)
  }

  var oldExtent: WindowExtent {
    WindowExtent(
      count: oldVisible.count,
      last: oldVisible.isEmpty ? nil : shift.oldKey(at: oldVisible.upperBound - 1),
      hasMore: shift.oldCount > window.upperBound || !shift.keys.isComplete)
  }

  var newExtent: WindowExtent {
    WindowExtent(
      count: newVisible.count,
      last: newVisible.isEmpty ? nil : shift.keys.keys[newVisible.upperBound - 1],
      hasMore: shift.newCount > window.upperBound || !shift.keys.isComplete)
  }

  func untouchedKey(_ index: Int) -> OrderKey {
    shift.keys.keys[shift.newRank(ofUntouched: index)]
  }

  /// Where the object of a touch was and is, as far as the window shows it.
  func places(ofTouch touch: Int) -> (old: TouchedKey?, new: TouchedKey?) {
    let (old, new) = shift.places(ofTouch: touch)
    return (
      old.flatMap { oldVisible.contains($0.rank) ? $0 : nil },
      new.flatMap { newVisible.contains($0.rank) ? $0 : nil }
    )
  }

  mutating func oldPosition(_ place: TouchedKey) -> Position {
    numbers.oldPosition(of: place.key, rank: place.rank)
  }

  mutating func newPosition(_ place: TouchedKey) -> Position {
    numbers.newPosition(of: place.key, rank: place.rank)
  }

  mutating func oldPosition(_ key: OrderKey) -> Position {
    numbers.oldPosition(of: key, rank: shift.oldRank(of: key))
  }

  mutating func newPosition(_ key: OrderKey) -> Position {
    numbers.newPosition(of: key, rank: shift.newRank(of: key))
  }
}
