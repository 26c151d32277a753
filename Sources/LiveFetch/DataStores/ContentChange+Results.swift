// The difference between two contents of a data store's controller.

import FetchModel

extension ContentChange where Object: InstanceIdentifiable {
  typealias Section = FetchedSection<Object>

  /// Compares all results. O(n).
  ///
  /// - Parameters:
  ///   - isFixed: returns true if neither section nor order of a result changed.
  ///   - isUpdated: returns true if a result that kept its position has other values.
  init(
    from old: [Section], to new: [Section], isFixed: (Object.InstanceID) -> Bool,
    isUpdated: (Object.InstanceID) -> Bool
  ) {
    let places = OrderDifference(
      from: Arrangement(old.map { ($0.name, $0.objects.map(\.instanceID)) }),
      to: Arrangement(new.map { ($0.name, $0.objects.map(\.instanceID)) })
    ) { isFixed($0.id) }
    self.init(from: old, to: new, places, isUpdated: isUpdated)
  }

  /// - Parameters:
  ///   - oldPosition: the position in `old` of a position that `places` counts as an old one.
  ///   - newPosition: the position in `new` of a position that `places` counts as a new one.
  init(
    from old: [Section], to new: [Section], _ places: OrderDifference<Object.InstanceID>,
    oldPosition: (Position) -> Position = { $0 }, newPosition: (Position) -> Position = { $0 },
    isUpdated: (Object.InstanceID) -> Bool
  ) {
    func change(_ type: ObjectChangeType, from: Position?, to: Position?) -> ObjectChange<Object> {
      let (from, to) = (from.map(oldPosition), to.map(newPosition))
      // At least one of the two positions exists.
      let (content, place) = if let to { (new, to) } else { (old, from ?? .first) }
      return ObjectChange(
        type, content[place.section].objects[place.item], from: from, to: to)
    }
    self.init(
      deletedSections: places.deletedSections.map { ($0, old[$0].name) },
      insertedSections: places.insertedSections.map { ($0, new[$0].name) },
      objects: places.deleted.map { change(.delete, from: $0.from, to: nil) }
        + places.inserted.map { change(.insert, from: nil, to: $0.to) }
        + places.moved.map { change(.move, from: $0.from, to: $0.to) }
        + places.stayed.filter { isUpdated($0.id) }
        .map { change(.update, from: $0.from, to: $0.to) })
  }
}
