// Two states → the change between them, where the store sends none: after a changed request or an expired
// token. It satisfies the promises of the API's diffs.

import FetchModel

extension ContentChange<ObjectID> {
  /// The change from one state to another. Items with equal values move only if the order changed or
  /// values that were not fetched moved them.
  ///
  /// - Parameter changed: items whose values differ although the states do not contain them.
  init(from old: ResultState, to new: ResultState, changed: Set<ObjectID> = []) {
    func isSame(_ place: OrderDifference<ObjectID>.Place) -> Bool {
      guard !changed.contains(place.id), let before = old[place.from], let now = new[place.to]
      else {
        return false
      }
      // One of the items may consist of its id only.
      return before == now || before.names.count == 1 || now.names.count == 1
    }
    let places = OrderDifference(from: old.arrangement, to: new.arrangement, isFixed: isSame)
    self.init(
      deletedSections: places.deletedSections.map { ($0, old.sections[$0].info.name) },
      insertedSections: places.insertedSections.map { ($0, new.sections[$0].info.name) },
      objects: places.deleted.map { ObjectChange(.delete, $0.id, from: $0.from, to: nil) }
        + places.inserted.map { ObjectChange(.insert, $0.id, from: nil, to: $0.to) }
        + places.moved.map { ObjectChange(.move, $0.id, from: $0.from, to: $0.to) }
        + places.stayed.filter { !isSame($0) }
        .map { ObjectChange(.update, $0.id, from: $0.from, to: $0.to) })
  }
}

extension ContentChange<ObjectID> {
  /// The insertions, deletions and moves with positions counted over all sections; nil if two changes
  /// have one position. O(sections + changes).
  func difference(from old: ResultState, to new: ResultState) -> CollectionDifference<ObjectID>? {
    let (oldStarts, newStarts) = (old.sectionStarts, new.sectionStarts)
    var changes: [CollectionDifference<ObjectID>.Change] = []
    for object in objects where object.type != .update {
      let from = object.oldPosition.map { oldStarts[$0.section] + $0.item }
      let to = object.newPosition.map { newStarts[$0.section] + $0.item }
      if let from { changes.append(.remove(offset: from, element: object.id, associatedWith: to)) }
      if let to { changes.append(.insert(offset: to, element: object.id, associatedWith: from)) }
    }
    return CollectionDifference(changes)
  }
}

extension ResultState {
  /// The number of items before each section.
  fileprivate var sectionStarts: [Int] {
    var next = 0
    return sections.map { section in
      defer { next += section.items.count }
      return next
    }
  }

  fileprivate var arrangement: Arrangement<[UInt8], ObjectID> {
    Arrangement(sections.map { ($0.info.value, $0.items.map(\.id)) })
  }
}
