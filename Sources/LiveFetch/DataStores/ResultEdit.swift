// The ordered results and a few changes enter: `change` for each, then `apply`. The new order, the new
// sections and their difference leave. The unchanged results are neither compared with their earlier
// values nor hashed.

import FetchModel

/// The changes of a few results in an ordered list.
struct ResultEdit<Result: InstanceIdentifiable> {
  typealias ID = Result.InstanceID
  typealias Placed = PlacedResult<Result>
  typealias Section = FetchedSection<Result>

  /// The number of changes up to which this is faster than comparing all results.
  static var maxChanges: Int { 32 }

  private struct Change {
    /// The result before the change; nil if it was inserted or filtered out.
    var old: Placed?
    /// The result after the change; nil if it was deleted or is filtered out.
    let new: Placed?
    /// The numbers of unchanged results before the old and the new place; set by ``apply()``.
    var oldRank = 0
    var newRank = 0
  }

  private let arrangement: ResultArrangement<Result>
  /// Every arranged result, before or after ``apply()``.
  private(set) var ordered: [Placed]
  private var changes: [ID: Change] = [:]
  /// The indexes of changed results in the old and in the new order, ascending; set by ``apply()``.
  private var oldIndexes: [Int] = []
  private var newIndexes: [Int] = []
  /// The ids of the results at ``oldIndexes``.
  private var oldIDs: [ID] = []
  /// False if ``apply()`` found that the closures of the arrangement contradict each other.
  private(set) var isConsistent = true

  init(_ arrangement: ResultArrangement<Result>, _ ordered: [Placed]) {
    self.arrangement = arrangement
    self.ordered = ordered
  }

  /// Adds the change of one result, before ``apply()``.
  ///
  /// - Parameters:
  ///   - before: the earlier entry; nil for an inserted result.
  ///   - new: the new place; nil for a result that is deleted or filtered out.
  mutating func change(_ id: ID, _ before: StoredResults<Result>.Entry?, to new: Placed?) {
    let old = before.flatMap { $0.isShown ? arrangement.placeUnfiltered($0) : nil }
    if old != nil || new != nil { changes[id] = Change(old: old, new: new) }
  }

  /// True if neither the section nor the place of the result changed. After ``apply()``.
  func isFixed(_ id: ID) -> Bool {
    guard let change = changes[id] else { return true }
    guard let old = change.old, let new = change.new else { return false }
    return change.oldRank == change.newRank && arrangement.isSamePlace(old, new)
  }

  // MARK: - Order

  /// Moves the changed results. O(log n) comparisons for each of them.
  mutating func apply() {
    removeOld()
    let places = changes.compactMap { id, change in change.new.map { (id: id, new: $0) } }
    for (id, new) in places.sorted(by: { arrangement.precedes($0.new, $1.new) }) {
      let index = firstIndex { arrangement.precedes(new, $0) }
      isConsistent = isConsistent && index > newIndexes.last ?? -1
      changes[id]?.newRank = index - newIndexes.count
      ordered.insert(new, at: index)
      newIndexes.append(index)
    }
  }

  private mutating func removeOld() {
    let places = changes.compactMap { id, change in
      change.old.flatMap(index(ofOld:)).map { (id: id, index: $0) }
    }.sorted { $0.index < $1.index }
    for (rank, place) in places.enumerated() {
      // The section's name may have changed with the values of an object.
      changes[place.id]?.old = ordered[place.index]
      changes[place.id]?.oldRank = place.index - rank
    }
    (oldIndexes, oldIDs) = (places.map(\.index), places.map(\.id))
    for index in oldIndexes.reversed() { ordered.remove(at: index) }
  }

  /// The index of a result in the old order. O(n) if the result is an object whose values changed
  /// after it was arranged.
  private func index(ofOld old: Placed) -> Int? {
    let index = firstIndex { !arrangement.precedes($0, old) }
    if index < ordered.count, ordered[index].id == old.id { return index }
    return ordered.firstIndex { $0.id == old.id }
  }

  /// The first index at which `isAfter` is true. O(log n).
  private func firstIndex(where isAfter: (Placed) -> Bool) -> Int {
    var (low, high) = (0, ordered.count)
    while low < high {
      let middle = low + (high - low) / 2
      if isAfter(ordered[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  // MARK: - Sections

  /// The sections after the change; nil if the results of a section are not contiguous, because
  /// the closures of the arrangement contradict each other. Only changed sections are rebuilt.
  func sections(from old: [Section]) -> [Section]? {
    guard arrangement.sectionName != nil else {
      return [Section(named: nil, ordered.map(\.result))]
    }
    let kept = Dictionary(old.map { ($0.name, $0) }) { first, _ in first }
    var counts: [String: Int] = [:]
    for change in changes.values {
      if let old = change.old { counts[old.section, default: 0] -= 1 }
      if let new = change.new { counts[new.section, default: 0] += 1 }
    }
    let changed = Set(changes.values.flatMap { [$0.old?.section, $0.new?.section] })
    var sections: [Section] = []
    var start = 0
    while start < ordered.count {
      let name = ordered[start].section
      let end = start + (kept[name]?.objects.count ?? 0) + (counts[name] ?? 0)
      guard end > start, end <= ordered.count, ordered[end - 1].section == name else { return nil }
      let same = changed.contains(name) ? nil : kept[name]
      sections.append(same ?? Section(named: name, ordered[start..<end].map(\.result)))
      start = end
    }
    return sections
  }

  // MARK: - Difference

  /// The difference, computed from the changed results and one unchanged neighbour of each. The
  /// neighbours do not move, and therefore show between which unchanged results a changed one is.
  func difference(
    from old: [Section], to new: [Section], isUpdated: (ID) -> Bool
  ) -> ContentChange<Result> {
    let ranks = Set(Self.precedingRanks(oldIndexes) + Self.precedingRanks(newIndexes)).sorted()
    let neighbours = ranks.map { rank in
      let (oldIndex, newIndex) = (Self.index(rank, oldIndexes), Self.index(rank, newIndexes))
      return (oldIndex, newIndex, id: ordered[newIndex].id)
    }
    let oldPlaces = SparseSections(
      old, neighbours.map { ($0.0, $0.id) } + zip(oldIndexes, oldIDs).map { ($0, $1) })
    let newPlaces = SparseSections(
      new, neighbours.map { ($0.1, $0.id) } + newIndexes.map { ($0, ordered[$0].id) })
    let places = OrderDifference(
      from: oldPlaces.arrangement, to: newPlaces.arrangement, isFixed: { isFixed($0.id) })
    return ContentChange(
      from: old, to: new, places, oldPosition: oldPlaces.position(of:),
      newPosition: newPlaces.position(of:), isUpdated: isUpdated)
  }

  /// The ranks, among the unchanged results, of the nearest unchanged result before each of
  /// `changed`.
  private static func precedingRanks(_ changed: [Int]) -> [Int] {
    changed.enumerated().map { $1 - $0 - 1 }.filter { $0 >= 0 }
  }

  /// The index of the unchanged result with this rank among the unchanged ones. The changed results are
  /// at `changed`, ascending.
  private static func index(_ rank: Int, _ changed: [Int]) -> Int {
    var index = rank
    for other in changed where other <= index { index += 1 }
    return index
  }
}

/// Some results of sections, with their positions among all results.
private struct SparseSections<Result: InstanceIdentifiable> {
  let arrangement: Arrangement<String, Result.InstanceID>
  private let positions: [[Position]]

  /// - Parameter results: the index over all sections and the id of each result.
  init(_ sections: [FetchedSection<Result>], _ results: [(index: Int, id: Result.InstanceID)]) {
    var ids: [[Result.InstanceID]] = sections.map { _ in [] }
    var positions: [[Position]] = sections.map { _ in [] }
    var (section, start) = (0, 0)
    for (index, id) in results.sorted(by: { $0.index < $1.index }) {
      while section < sections.count, index >= start + sections[section].objects.count {
        start += sections[section].objects.count
        section += 1
      }
      guard section < sections.count else { break }
      ids[section].append(id)
      positions[section].append(Position(section: section, item: index - start))
    }
    arrangement = Arrangement(zip(sections, ids).map { ($0.name, $1) })
    self.positions = positions
  }

  func position(of sparse: Position) -> Position { positions[sparse.section][sparse.item] }
}
