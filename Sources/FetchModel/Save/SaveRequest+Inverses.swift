// A required to-one relationship that an insert omits, and whose inverse another change of the save
// sets → a value of the insert.

extension SaveRequest {
  /// A required property that an insert omits.
  private struct Omission: Hashable {
    let change: Int
    let property: String?
  }

  /// Sets the required relationships that inserts omit and whose inverses other changes set, and
  /// removes their problems. O(values + problems).
  mutating func setRequiredInverses(_ model: Model) {
    var missing = Set(
      problems.lazy.filter { $0.code == .missing }
        .map { Omission(change: $0.change, property: $0.property) })
    guard !missing.isEmpty else { return }
    var set: Set<Omission> = []
    for (index, change) in changes.enumerated() {
      guard let owner = change.object(at: index) else { continue }
      for value in change.values where !change.mayKeepStored(value.property) {
        guard let name = inverse(of: value, change.entity, model) else { continue }
        for insert in value.inserts {
          let omission = Omission(change: insert, property: name)
          // A subentity has its relationships at other indexes.
          let entity = model.entities[changes[insert].entity]
          guard missing.contains(omission),
            case .relationship(let relationship)? = entity.property(named: name)
          else { continue }
          missing.remove(omission)
          set.insert(omission)
          changes[insert].values.append(PropertyValue(.toOne(relationship, owner)))
          changes[insert].faults?.remove(.relationship(relationship))
        }
      }
    }
    removeProblems(of: set)
  }

  private mutating func removeProblems(of omissions: Set<Omission>) {
    guard !omissions.isEmpty else { return }
    problems.removeAll {
      $0.code == .missing
        && omissions.contains(Omission(change: $0.change, property: $0.property))
    }
    let invalid = Set(problems.map(\.change))
    for omission in omissions where !invalid.contains(omission.change) {
      changes[omission.change].faults = nil
    }
  }

  /// Returns the name of the inverse of the relationship that `value` sets.
  private func inverse(of value: PropertyValue, _ entity: Int, _ model: Model) -> String? {
    guard case .relationship(let index) = value.property else { return nil }
    let relationship = model.entities[entity].relationships[index]
    return relationship.inverse.map {
      model.entities[relationship.destination].relationships[$0].name
    }
  }
}

extension Change {
  /// True if `base` names the property: the stored value may win.
  fileprivate func mayKeepStored(_ property: Property) -> Bool {
    guard case .base(let read) = precondition else { return false }
    return read.contains { $0.property == property }
  }

  /// Returns the object of the change at `index`; nil for a delete and a batch.
  fileprivate func object(at index: Int) -> ObjectReference? {
    switch operation {
    case .insert: .inserted(index)
    case .update(let reference): reference
    case .replace(let id): .id(id)
    case .delete, .updateAll, .deleteAll, .nothing: nil
    }
  }
}

extension PropertyValue {
  /// The inserts of the save that a relationship leads to.
  fileprivate var inserts: [Int] {
    let references: [ObjectReference] =
      switch content {
      case .attribute, .toOne(_, nil): []
      case .toOne(_, let reference?): [reference]
      case .toMany(_, .all(let all)): all
      case .toMany(_, .edit(let add, _)): add
      }
    return references.compactMap { if case .inserted(let insert) = $0 { insert } else { nil } }
  }
}
