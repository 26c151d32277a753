// Schema and model → the tables whose row changes are recorded, each with the to-many relationships
// whose members or links are its rows.

import FetchModel

/// A table with history triggers.
package struct TrackedTable: Sendable, Hashable {
  /// The value of `livefetch_position.source` for its rows: the table's rank among the tracked tables,
  /// sorted by name, from 1. Valid within one epoch: other tables begin a new one.
  package let number: Int
  package let layout: HistoryLayout
  package let uniqueIndexes: [UniqueIndex]
  /// The entity of its rows, or the root entity of those that share the table; nil for a join
  /// table.
  package let entity: Int?
  /// Every entity that may have objects in the table.
  package let entities: [Int]
  /// Determines the entity of a row; nil if the table has only one.
  package let discriminator: EntityDiscriminator?
  /// The to-many relationships whose members or links are rows of this table.
  package let links: [MemberLink]

  package var tableInfo: TableInfo { layout.tableInfo }
}

/// Determines the entity of a row in a table that several entities share.
package struct EntityDiscriminator: Sendable, Hashable {
  /// The index of the column that holds the entity's name.
  package let column: Int
  package let entityByName: [String: Int]

  package func entity(of row: [SQLValue]) -> Int? {
    guard row.indices.contains(column), case .text(let name) = row[column] else { return nil }
    return entityByName[name]
  }
}

/// Columns of a tracked table that determine to which objects' to-many relationship a row belongs.
package struct MemberLink: Sendable, Hashable {
  package let relationship: EntityRelationship
  package let key: ForeignKey
}

extension Schema {
  /// The tables to track: those of observable entities, then the join tables between them.
  package func trackedTables(_ model: Model) -> [TrackedTable] {
    var tables: [TrackedTable] = []
    let tracked = entities.indices.filter {
      entities[$0].isObservable && model.entities[$0].isRoot(at: $0)
    }
    let names = (tracked.map { entities[$0].name } + joinTables.map(\.name)).sorted()
    let ranks = Dictionary(
      names.enumerated().map { ($1, $0 + 1) }, uniquingKeysWith: { first, _ in first })
    func number(_ name: String) -> Int { ranks[name] ?? 0 }
    for index in tracked {
      let table = entities[index]
      let sharing = model.entitiesStored(inTableOf: index)
      tables.append(
        TrackedTable(
          number: number(table.name), layout: HistoryLayout(of: TableInfo(table)),
          uniqueIndexes: table.uniqueIndexes, entity: index, entities: sharing,
          discriminator: discriminator(of: index, sharing, model),
          links: links(of: sharing, model)))
    }
    for (index, table) in joinTables.enumerated() {
      tables.append(
        TrackedTable(
          number: number(table.name), layout: HistoryLayout(of: TableInfo(table)),
          uniqueIndexes: table.uniqueIndexes, entity: nil, entities: [], discriminator: nil,
          links: joinLinks(of: index)))
    }
    return tables
  }

  private func discriminator(
    of root: Int, _ sharing: [Int], _ model: Model
  ) -> EntityDiscriminator? {
    guard let discriminator = model.entities[root].inheritance.discriminator else { return nil }
    return EntityDiscriminator(
      column: entities[root].attributeColumns[discriminator],
      entityByName: Dictionary(
        sharing.map { (model.entities[$0].name, $0) }, uniquingKeysWith: { first, _ in first }))
  }

  /// Returns the to-many relationships stored in the columns of a table: those of the referenced
  /// entities and of their subentities.
  private func links(of sharing: [Int], _ model: Model) -> [MemberLink] {
    var links: [MemberLink] = []
    for entity in sharing {
      for link in inverseLinks(of: entity, model) where !links.contains(link) {
        links.append(link)
      }
    }
    return links
  }

  private func inverseLinks(of entity: Int, _ model: Model) -> [MemberLink] {
    zip(model.entities[entity].relationships, entities[entity].relationships).flatMap {
      relationship, storage -> [MemberLink] in
      guard case .foreignKey(let key) = storage, let inverse = relationship.inverse,
        model.entities[relationship.destination].relationships[inverse].isToMany
      else { return [] }
      let name = model.entities[relationship.destination].relationships[inverse].name
      let owners =
        [relationship.destination]
        + model.entities[relationship.destination].inheritance.subentities
      return owners.compactMap { owner in
        guard case .relationship(let place)? = model.entities[owner].property(named: name) else {
          return nil
        }
        return MemberLink(
          relationship: EntityRelationship(entity: owner, relationship: place), key: key)
      }
    }
  }

  private func joinLinks(of join: Int) -> [MemberLink] {
    entities.enumerated().flatMap { entity, table in
      table.relationships.enumerated().compactMap { index, storage in
        guard case .joinTable(join, let source, _) = storage else { return nil }
        let place = EntityRelationship(entity: entity, relationship: index)
        return MemberLink(relationship: place, key: source)
      }
    }
  }
}

extension Model {
  /// Returns every entity whose objects are in the table of the entity at `root`, starting with
  /// `root`.
  fileprivate func entitiesStored(inTableOf root: Int) -> [Int] {
    [root] + entities[root].inheritance.subentities
  }
}

extension Entity {
  /// True if the entity has its own table rather than an ancestor's.
  fileprivate func isRoot(at index: Int) -> Bool {
    inheritance.root == nil || inheritance.root == index
  }
}
