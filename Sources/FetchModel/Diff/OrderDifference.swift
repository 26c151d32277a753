// Computes the difference between two arrangements of objects in sections, with the guarantees of
// the page Protocol: sections are only deleted and inserted, an object is listed at most once, a
// fixed object does not move, and the fewest possible others move.

/// Objects in sections, both by identifier.
package struct Arrangement<SectionID: Hashable, ItemID: Hashable> {
  package typealias Section = (id: SectionID, items: [ItemID])

  package let sections: [Section]

  /// - Parameter sections: distinct sections whose items are distinct over all sections.
  package init(_ sections: [Section]) { self.sections = sections }

  fileprivate var positions: [ItemID: Position] {
    var positions: [ItemID: Position] = [:]
    positions.reserveCapacity(sections.reduce(0) { $0 + $1.items.count })
    for (section, content) in sections.enumerated() {
      for (item, id) in content.items.enumerated() {
        positions[id] = Position(section: section, item: item)
      }
    }
    return positions
  }
}

/// The difference between two arrangements, in the old and the new numbering.
package struct OrderDifference<ItemID: Hashable> {
  package typealias Place = (from: Position, to: Position, id: ItemID)

  /// Ascending.
  package private(set) var deletedSections: [Int] = []
  /// Ascending.
  package private(set) var insertedSections: [Int] = []
  package private(set) var deleted: [(from: Position, id: ItemID)] = []
  package private(set) var inserted: [(to: Position, id: ItemID)] = []
  package private(set) var moved: [Place] = []
  /// Objects that kept their place among those that stayed.
  package private(set) var stayed: [Place] = []

  /// - Parameter isFixed: returns true if an object's section and order values are unchanged. If
  ///   fixed objects contradict one another, as few of them as possible move.
  package init<SectionID: Hashable>(
    from old: Arrangement<SectionID, ItemID>, to new: Arrangement<SectionID, ItemID>,
    isFixed: (Place) -> Bool
  ) {
    let (oldPositions, newNumbers) = (old.positions, matchSections(of: old, with: new))
    for (section, content) in new.sections.enumerated() {
      var staying: [Place] = []
      for (item, id) in content.items.enumerated() {
        let to = Position(section: section, item: item)
        guard let from = oldPositions[id] else {
          inserted.append((to, id))
          continue
        }
        if newNumbers[from.section] == section {
          staying.append((from, to, id))
        } else {
          moved.append((from, to, id))
        }
      }
      appendMoves(among: staying, isFixed)
    }
    appendDeletes(from: old, keeping: new.positions)
  }

  private mutating func appendDeletes<SectionID: Hashable>(
    from old: Arrangement<SectionID, ItemID>, keeping positions: [ItemID: Position]
  ) {
    for (section, content) in old.sections.enumerated() {
      for (item, id) in content.items.enumerated() where positions[id] == nil {
        deleted.append((Position(section: section, item: item), id))
      }
    }
  }

  /// Finds deleted and inserted sections. Returns the new index of every other section by its old
  /// index. Sections never move: a section whose order changed is deleted and inserted.
  private mutating func matchSections<SectionID: Hashable>(
    of old: Arrangement<SectionID, ItemID>, with new: Arrangement<SectionID, ItemID>
  ) -> [Int: Int] {
    let numbers = Dictionary(
      new.sections.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    let common = old.sections.enumerated().compactMap { index, section in
      numbers[section.id].map { (old: index, new: $0) }
    }
    let kept = longestIncreasingSubsequence(of: common.map(\.new)).map { common[$0] }
    let newNumbers = Dictionary(uniqueKeysWithValues: kept.map { ($0.old, $0.new) })
    let arrived = Set(newNumbers.values)
    deletedSections = old.sections.indices.filter { newNumbers[$0] == nil }
    insertedSections = new.sections.indices.filter { !arrived.contains($0) }
    return newNumbers
  }

  /// Finds the moving objects among the objects of one section, in their new order. Fixed objects
  /// stay; between two fixed ones, a longest increasing subsequence of old positions stays among
  /// the objects that were there before.
  private mutating func appendMoves(among places: [Place], _ isFixed: (Place) -> Bool) {
    let fixed = places.indices.filter { isFixed(places[$0]) }
    let anchors = longestIncreasingSubsequence(of: fixed.map { places[$0].from.item })
      .map { fixed[$0] }
    var keeps = Set(anchors)
    var (low, start) = (-1, 0)
    for anchor in anchors + [places.count] {
      let high = anchor < places.count ? places[anchor].from.item : Int.max
      let gap = (start..<anchor).filter { (low..<high).contains(places[$0].from.item) }
      let staying = longestIncreasingSubsequence(of: gap.map { places[$0].from.item })
      keeps.formUnion(staying.map { gap[$0] })
      (low, start) = (high, anchor + 1)
    }
    for (index, place) in places.enumerated() {
      if keeps.contains(index) { stayed.append(place) } else { moved.append(place) }
    }
  }
}
