// The uncommitted changes of a draft, by result.

/// One change of each result, in the order of each result's first change.
struct DraftChanges<Result: InstanceIdentifiable>: RandomAccessCollection {
  typealias Change = DataStoreChange<Result>

  private var changes: [Change] = []
  private var places: [Result.InstanceID: Int] = [:]

  var startIndex: Int { 0 }
  var endIndex: Int { changes.count }

  subscript(place: Int) -> Change { changes[place] }

  /// The change of the result with this id. O(1).
  func change(of id: Result.InstanceID) -> Change? { places[id].map { changes[$0] } }

  /// These changes with later ones. Hashes the ids of the later changes only, and of those behind a
  /// change of which nothing is left.
  func merging(_ later: [Change]) throws -> Self {
    var merged = self
    for change in later { try merged.merge(change) }
    return merged
  }

  private mutating func merge(_ later: Change) throws {
    guard let place = places[later.id] else {
      places[later.id] = changes.count
      changes.append(later)
      return
    }
    if let merged = try Self.merge(later, into: changes[place]) {
      changes[place] = merged
    } else {
      changes.remove(at: place)
      places[later.id] = nil
      for index in place..<changes.count { places[changes[index].id] = index }
    }
  }

  /// One change in place of two; nil if nothing is left of them.
  private static func merge(_ later: Change, into old: Change) throws -> Change? {
    switch (old.type, later.type) {
    case (.insert, .update): Change(.insert, later.result)
    case (.insert, .delete): nil
    case (.update, .update): Change(.update, later.result, base: old.base)
    case (.update, .delete): Change(.delete, later.result, base: old.base)
    case (.delete, .insert): Change(.update, later.result, base: old.base)
    case (.insert, .insert), (.update, .insert): throw DataStoreError.exists("\(later.id)")
    case (.delete, .update), (.delete, .delete): throw DataStoreError.missing("\(later.id)")
    }
  }
}

extension DraftChanges: Sendable where Result: Sendable {}
