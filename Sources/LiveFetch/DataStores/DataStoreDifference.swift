// What leads from one content of a data store's controller to the next.

/// A section of results.
public struct DataStoreSection<Result: InstanceIdentifiable> {
  public let name: String
  public let results: [Result]
}

extension DataStoreSection: Sendable where Result: Sendable {}

/// One result's part in a difference.
public struct DataStoreResultChange<Result: InstanceIdentifiable> {
  public let type: ObjectChangeType
  /// As it is now; a deleted one as it was.
  public let result: Result
  /// Where it stood, in the old content.
  public let oldPosition: Position?
  /// Where it stands, in the new content.
  public let newPosition: Position?
}

extension DataStoreResultChange: Sendable where Result: Sendable {}

/// Everything between two contents, ordered and with the promises of ``ContentChange``: the same
/// algorithm makes both.
public struct DataStoreDifference<Result: InstanceIdentifiable> {
  public let sections: [SectionChange]
  public let changes: [DataStoreResultChange<Result>]

  public var isEmpty: Bool { sections.isEmpty && changes.isEmpty }

  /// - Parameter isUpdated: whether a result that kept its place has other values.
  init(
    from old: [DataStoreSection<Result>], to new: [DataStoreSection<Result>],
    isFixed: (Result.InstanceID) -> Bool, isUpdated: (Result.InstanceID) -> Bool
  ) {
    let places = ArrangementDifference(
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
    // One of the two is there.
    let (content, place) = if let to { (new, to) } else { (old, from ?? .first) }
    return DataStoreResultChange(
      type: type, result: content[place.section].results[place.item], oldPosition: from,
      newPosition: to)
  }
}

extension DataStoreDifference: Sendable where Result: Sendable {}
