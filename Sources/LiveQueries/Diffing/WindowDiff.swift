// The diff algorithm. From the new keys, the changed objects and a window, it computes the
// positional difference of the window's old and new content with the fewest moves. O(m log n) for m
// changed objects and objects that cross the window's edges; other objects are not examined.

import FetchModel

/// The difference between the old and the new content of one window, in positions.
struct WindowDiff {
  struct SectionChange {
    let index: Int
    let section: [UInt8]
  }

  /// The old or new position of one object, or both.
  struct Item {
    let id: ObjectID
    var from: Position?
    var to: Position?
  }

  /// Ascending by index; `deletedSections` in the old numbering, `insertedSections` in the new one.
  var deletedSections: [SectionChange] = []
  var insertedSections: [SectionChange] = []
  /// Ascending by `from`.
  var deleted: [Item] = []
  /// Ascending by `to`, as `moved` and `updated` are.
  var inserted: [Item] = []
  var moved: [Item] = []
  var updated: [Item] = []
  let old: WindowExtent
  let new: WindowExtent

  /// True if the diff names no section and no item.
  var isEmpty: Bool {
    deleted.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty
      && deletedSections.isEmpty && insertedSections.isEmpty
  }

  /// - Parameters:
  ///   - keys: the new keys of the result, known at least up to both ends of the window.
  ///   - keyChanges: every object whose row may differ, once each.
  ///   - window: ranks, from the offset to the offset plus the limit.
  init(keys: RankedKeys, keyChanges: [KeyChange], window: Range<Int>) {
    var comparison = WindowComparison(keys: keys, keyChanges: keyChanges, window: window)
    self.init(&comparison, keyChanges: keyChanges)
  }

  init(_ comparison: inout WindowComparison, keyChanges: [KeyChange]) {
    old = comparison.oldExtent
    new = comparison.newExtent
    addUnchangedAtEdges(&comparison)
    addChanged(keyChanges, &comparison)
    findSections(&comparison)
    deleted.sort { $0.from ?? .first < $1.from ?? .first }
    inserted.sort(by: Self.byTo)
    moved.sort(by: Self.byTo)
    updated.sort(by: Self.byTo)
  }

  private static func byTo(_ left: Item, _ right: Item) -> Bool {
    left.to ?? .first < right.to ?? .first
  }

  /// Adds unchanged objects that are in the window only before or only after.
  private mutating func addUnchangedAtEdges(_ comparison: inout WindowComparison) {
    let (old, new) = (comparison.oldUnchanged, comparison.newUnchanged)
    for index in old.subtracting(new) {
      let key = comparison.unchangedKey(index)
      deleted.append(Item(id: key.id, from: comparison.oldPosition(key)))
      comparison.leaving.append(key)
    }
    for index in new.subtracting(old) {
      let key = comparison.unchangedKey(index)
      inserted.append(Item(id: key.id, to: comparison.newPosition(key)))
      comparison.arriving.append(key)
    }
  }

  private mutating func addChanged(_ keyChanges: [KeyChange], _ comparison: inout WindowComparison)
  {
    let changedKeys = keyChanges.indices.map { comparison.keys(ofChange: $0) }
    let moves = MoveFinder(keys: changedKeys, comparison: comparison).moved
    for (index, key) in changedKeys.enumerated() {
      switch (key.old, key.new) {
      case (let old?, nil):
        deleted.append(Item(id: keyChanges[index].id, from: comparison.oldPosition(old)))
        comparison.leaving.append(old.key)
      case (nil, let new?):
        inserted.append(Item(id: keyChanges[index].id, to: comparison.newPosition(new)))
        comparison.arriving.append(new.key)
      case (let old?, let new?):
        add(keyChanges[index], from: old, to: new, isMoved: moves.contains(index), in: &comparison)
      case (nil, nil): break
      }
    }
  }

  private mutating func add(
    _ change: KeyChange, from old: ChangedKey, to new: ChangedKey, isMoved: Bool,
    in comparison: inout WindowComparison
  ) {
    guard isMoved || change.valuesChanged else { return }
    let item = Item(
      id: change.id, from: comparison.oldPosition(old), to: comparison.newPosition(new))
    if isMoved {
      moved.append(item)
      comparison.leaving.append(old.key)
      comparison.arriving.append(new.key)
    } else {
      updated.append(item)
    }
  }

  /// A section that is inserted or deleted has an item that arrives or leaves.
  private mutating func findSections(_ comparison: inout WindowComparison) {
    guard comparison.shift.keys.isSectioned else { return }
    for section in Set(comparison.leaving.map { Array($0.section) }) {
      let numbers = comparison.numbers.section(section)
      guard numbers.newItems.isEmpty else { continue }
      deletedSections.append(SectionChange(index: numbers.oldIndex, section: section))
    }
    for section in Set(comparison.arriving.map { Array($0.section) }) {
      let numbers = comparison.numbers.section(section)
      guard numbers.oldItems.isEmpty else { continue }
      insertedSections.append(SectionChange(index: numbers.newIndex, section: section))
    }
    deletedSections.sort { $0.index < $1.index }
    insertedSections.sort { $0.index < $1.index }
  }
}

/// The properties of a snapshot that describe its window as a whole.
struct WindowExtent: Hashable {
  /// The number of items.
  let count: Int
  /// The last item's key.
  let last: OrderKey?
  /// True if the result continues after the window.
  let hasMore: Bool
}

extension Range<Int> {
  /// The numbers of this range that are not in `other`, ascending.
  func subtracting(_ other: Range<Int>) -> [Int] {
    guard overlaps(other) else { return Array(self) }
    return Array(lowerBound..<Swift.max(lowerBound, other.lowerBound))
      + Array(Swift.min(upperBound, other.upperBound)..<upperBound)
  }
}
