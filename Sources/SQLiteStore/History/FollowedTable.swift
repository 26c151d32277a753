// One table whose rows are followed, and where its rows' links lead.

import FetchModel

/// A table with triggers.
struct FollowedTable: Sendable, Hashable {
  /// What `livefetch_position.source` says for its rows; counts from 1.
  let number: Int
  let layout: HistoryLayout
  let uniqueIndexes: [UniqueIndex]
  /// The entity that its rows are; nil for a table between two.
  let entity: Int?
  /// The to-many relationships that its rows are members of, or links of.
  let links: [MemberLink]

  var shape: TableShape { layout.shape }
}

/// Columns of a followed table that say in which objects' to-many relationship a row counts.
struct MemberLink: Sendable, Hashable {
  let place: RelationshipPlace
  let key: ForeignKey
}

extension Schema {
  /// The tables to follow: those of observable entities, then those between two.
  func followedTables(_ model: Model) -> [FollowedTable] {
    var tables: [FollowedTable] = []
    for (index, table) in entities.enumerated() where table.isObservable {
      tables.append(
        FollowedTable(
          number: tables.count + 1, layout: HistoryLayout(of: TableShape(table)),
          uniqueIndexes: table.uniqueIndexes, entity: index,
          links: inverseLinks(of: index, model)))
    }
    for (index, table) in joinTables.enumerated() {
      tables.append(
        FollowedTable(
          number: tables.count + 1, layout: HistoryLayout(of: TableShape(table)),
          uniqueIndexes: table.uniqueIndexes, entity: nil, links: joinLinks(of: index)))
    }
    return tables
  }

  private func inverseLinks(of entity: Int, _ model: Model) -> [MemberLink] {
    zip(model.entities[entity].relationships, entities[entity].relationships).compactMap {
      relationship, storage in
      guard case .foreignKey(let key) = storage, let inverse = relationship.inverse else {
        return nil
      }
      let place = RelationshipPlace(entity: relationship.destination, relationship: inverse)
      return MemberLink(place: place, key: key)
    }
  }

  private func joinLinks(of join: Int) -> [MemberLink] {
    entities.enumerated().flatMap { entity, table in
      table.relationships.enumerated().compactMap { index, storage in
        guard case .joinTable(join, let source, _) = storage else { return nil }
        let place = RelationshipPlace(entity: entity, relationship: index)
        return MemberLink(place: place, key: source)
      }
    }
  }
}
