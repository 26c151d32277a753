// Applies a diff, in the steps of the manual's page Protocol, to a client's representation of each
// object: bytes, values, or elements created from them.

extension Diff {
  /// An object whose representation must be created again.
  package enum Arrival<Element> {
    case inserted(Inserted)
    /// With its previous representation.
    case moved(Changed, Element)
    case updated(Changed, Element)
  }

  /// The elements after this diff, by section. O(changes × elements of a section).
  ///
  /// - Parameters:
  ///   - old: one element per object, in the old order.
  ///   - isObject: returns true if an element represents the object with an id.
  ///   - element: creates the element of an inserted, moved or updated object.
  package func rearranged<Element>(
    _ old: [[Element]], isObject: (Element, ObjectID) -> Bool,
    element: (Arrival<Element>) -> Element
  ) throws(DiffApplicationError) -> [[Element]] {
    var sections = old
    var arriving: [(to: Position, arrival: Arrival<Element>)] = inserted.map {
      ($0.to, .inserted($0))
    }
    for leaving in leaving {
      guard let kept = sections.element(at: leaving.from) else { throw .outOfBounds }
      guard isObject(kept, leaving.id) else { throw .otherObject(leaving.id) }
      sections[leaving.from.section].remove(at: leaving.from.item)
      if let move = leaving.move { arriving.append((move.to, .moved(move, kept))) }
    }
    try changeSections(of: &sections, mayBeDeleted: \.isEmpty) { _ in [] }
    for (to, arrival) in arriving.sorted(by: { $0.to < $1.to }) {
      guard sections.indices.contains(to.section),
        (0...sections[to.section].count).contains(to.item)
      else { throw .outOfBounds }
      sections[to.section].insert(element(arrival), at: to.item)
    }
    for update in updated {
      guard let kept = sections.element(at: update.to) else { throw .outOfBounds }
      guard isObject(kept, update.id) else { throw .otherObject(update.id) }
      sections[update.to.section][update.to.item] = element(.updated(update, kept))
    }
    return sections
  }

  /// The sections after this diff.
  package func rearranged(_ old: [SectionInfo]) throws(DiffApplicationError) -> [SectionInfo] {
    var sections = old
    try changeSections(of: &sections, mayBeDeleted: { _ in true }, inserted: \.section)
    return sections
  }

  /// Deleted and moved objects, from the last position to the first.
  private var leaving: [(from: Position, id: ObjectID, move: Changed?)] {
    let all =
      deleted.map { (from: $0.from, id: $0.id, move: Changed?.none) }
      + moved.map { (from: $0.from, id: $0.id, move: Changed?.some($0)) }
    return all.sorted { $0.from > $1.from }
  }

  private func changeSections<Section>(
    of sections: inout [Section], mayBeDeleted: (Section) -> Bool,
    inserted: (InsertedSection) -> Section
  ) throws(DiffApplicationError) {
    for section in deletedSections.sorted(by: { $0.index > $1.index }) {
      guard sections.indices.contains(section.index), mayBeDeleted(sections[section.index]) else {
        throw .outOfBounds
      }
      sections.remove(at: section.index)
    }
    for section in insertedSections.sorted(by: { $0.index < $1.index }) {
      guard (0...sections.count).contains(section.index) else { throw .outOfBounds }
      sections.insert(inserted(section), at: section.index)
    }
  }
}

extension Array {
  fileprivate func element<Kept>(at position: Position) -> Kept? where Element == [Kept] {
    guard indices.contains(position.section),
      self[position.section].indices.contains(position.item)
    else { return nil }
    return self[position.section][position.item]
  }
}
