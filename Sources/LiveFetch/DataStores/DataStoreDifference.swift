// The difference between two contents of a data store's controller.

/// A section of results.
public struct DataStoreSection<Result: InstanceIdentifiable> {
  public let name: String
  public let results: [Result]
}

extension DataStoreSection: Sendable where Result: Sendable {}

/// The change of one result.
public struct DataStoreResultChange<Result: InstanceIdentifiable> {
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
  public let sections: [SectionChange]
  public let changes: [DataStoreResultChange<Result>]

  public var isEmpty: Bool { sections.isEmpty && changes.isEmpty }

  /// - Parameter isUpdated: returns true if a result that kept its position has other values.
  init(
    from old: [DataStoreSection<Result>], to new: [DataStoreSection<Result>],
    isFixed: (Result.InstanceID) -> Bool, isUpdated: (Result.InstanceID) -> Bool
  ) {
    let places = OrderDifference(
      from: Arrangement(old.map { ($0.name, $0.results.map(\.instanceID)) }),
      to: Arrangement(new.map { ($0.name, $0.results.map(\.instanceID)) })
    ) { isFixed($0.id) }
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
    changes =
      deletes.map { Self.change(.delete, old, new, from: $0.from, to: nil) }
      + inserts.map { Self.change(.insert, old, new, from: nil, to: $0.to) }
      + moves.map { Self.change(.move, old, new, from: $0.from, to: $0.to) }
      + updates.map { Self.change(.update, old, new, from: $0.from, to: $0.to) }
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
