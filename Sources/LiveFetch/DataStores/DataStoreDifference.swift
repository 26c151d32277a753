// The difference between two contents of a data store's controller.

import FetchModel

/// A section of results.
public struct DataStoreSection<Result: InstanceIdentifiable> {
  /// The section's name.
  public let name: String
  /// The results in order.
  public let results: [Result]
}

extension DataStoreSection: Sendable where Result: Sendable {}

/// The change of one result.
public struct DataStoreResultChange<Result: InstanceIdentifiable> {
  /// The kind of change.
  public let type: ObjectChangeType
  /// The new value; for a deleted result the old one.
  public let result: Result
  /// The position in the old content.
  public let oldPosition: Position?
  /// The position in the new content.
  public let newPosition: Position?
}

extension DataStoreResultChange: Sendable where Result: Sendable {}

/// All differences between two contents, in the order and with the promises of ``ContentChange``.
/// Both use the same algorithm.
public struct DataStoreDifference<Result: InstanceIdentifiable> {
  /// The changes of sections.
  public let sections: [SectionChange]
  /// The changes of results.
  public let changes: [DataStoreResultChange<Result>]

  /// True if the contents are equal.
  public var isEmpty: Bool { sections.isEmpty && changes.isEmpty }

  /// Compares all results. O(n).
  ///
  /// - Parameters:
  ///   - isFixed: returns true if neither section nor order of a result changed.
  ///   - isUpdated: returns true if a result that kept its position has other values.
  init(
    from old: [DataStoreSection<Result>], to new: [DataStoreSection<Result>],
    isFixed: (Result.InstanceID) -> Bool, isUpdated: (Result.InstanceID) -> Bool
  ) {
    let places = OrderDifference(
      from: Arrangement(old.map { ($0.name, $0.results.map(\.instanceID)) }),
      to: Arrangement(new.map { ($0.name, $0.results.map(\.instanceID)) })
    ) { isFixed($0.id) }
    self.init(from: old, to: new, places, isUpdated: isUpdated)
  }

  /// - Parameters:
  ///   - oldPosition: the position in `old` of a position that `places` counts as an old one.
  ///   - newPosition: the position in `new` of a position that `places` counts as a new one.
  init(
    from old: [DataStoreSection<Result>], to new: [DataStoreSection<Result>],
    _ places: OrderDifference<Result.InstanceID>, oldPosition: (Position) -> Position = { $0 },
    newPosition: (Position) -> Position = { $0 }, isUpdated: (Result.InstanceID) -> Bool
  ) {
    sections =
      places.deletedSections.reversed().map {
        SectionChange(type: .delete, name: old[$0].name, index: $0)
      }
      + places.insertedSections.map {
        SectionChange(type: .insert, name: new[$0].name, index: $0)
      }
    let deletes = places.deleted.sorted { $0.from > $1.from }
    let inserts = places.inserted.sorted { $0.to < $1.to }
    let moves = places.moved.sorted { $0.to < $1.to }
    let updates = places.stayed.filter { isUpdated($0.id) }.sorted { $0.to < $1.to }
    func change(
      _ type: ObjectChangeType, from: Position?, to: Position?
    ) -> DataStoreResultChange<Result> {
      Self.change(type, old, new, from: from.map(oldPosition), to: to.map(newPosition))
    }
    changes =
      deletes.map { change(.delete, from: $0.from, to: nil) }
      + inserts.map { change(.insert, from: nil, to: $0.to) }
      + moves.map { change(.move, from: $0.from, to: $0.to) }
      + updates.map { change(.update, from: $0.from, to: $0.to) }
  }

  private static func change(
    _ type: ObjectChangeType, _ old: [DataStoreSection<Result>],
    _ new: [DataStoreSection<Result>], from: Position?, to: Position?
  ) -> DataStoreResultChange<Result> {
    // At least one of the two positions exists.
    let (content, place) = if let to { (new, to) } else { (old, from ?? .first) }
    return DataStoreResultChange(
      type: type, result: content[place.section].results[place.item], oldPosition: from,
      newPosition: to)
  }
}

extension DataStoreDifference: Sendable where Result: Sendable {}
