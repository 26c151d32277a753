// One table whose rows are followed, and where its rows' links lead.

import FetchModel

/// A table with triggers.
struct FollowedTable: Sendable, Hashable {
  /// The value of `livefetch_position.source` for its rows: its rank by name among the followed
  /// tables, from 1, which is the same as long as the epoch is.
  let number: Int
  let layout: HistoryLayout
  let uniqueIndexes: [UniqueIndex]
  /// The entity that its rows are, or the one at the top of those that share it; nil for a table
  /// between two.
  let entity: Int?
  /// Every entity that may have objects here.
  let entities: [Int]
  /// Which of them a row is of, where there are several.
  let kinds: RowKinds?
  /// The to-many relationships that its rows are members of, or links of.
  let links: [MemberLink]

  var shape: TableShape { layout.shape }
}

/// Tells the entity of a row that several share.
struct RowKinds: Sendable, Hashable {
  /// The index of the column that holds the entity's name.
  let column: Int
  let entityByName: [String: Int]

  func entity(of row: [SQLValue]) -> Int? {
    guard row.indices.contains(column), case .text(let name) = row[column] else { return nil }
    return entityByName[name]
  }
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
    let followed = entities.indices.filter {
      entities[$0].isObservable && model.entities[$0].isRoot(at: $0)
    }
    let names = (followed.map { entities[$0].name } + joinTables.map(\.name)).sorted()
    let ranks = Dictionary(
      names.enumerated().map { ($1, $0 + 1) }, uniquingKeysWith: { first, _ in first })
    func number(_ name: String) -> Int { ranks[name] ?? 0 }
    for index in followed {
      let table = entities[index]
      let sharing = model.sharing(tableOf: index)
      tables.append(
        FollowedTable(
          number: number(table.name), layout: HistoryLayout(of: TableShape(table)),
          uniqueIndexes: table.uniqueIndexes, entity: index, entities: sharing,
          kinds: kinds(of: index, sharing, model), links: links(of: sharing, model)))
    }
    for (index, table) in joinTables.enumerated() {
      tables.append(
        FollowedTable(
          number: number(table.name), layout: HistoryLayout(of: TableShape(table)),
          uniqueIndexes: table.uniqueIndexes, entity: nil, entities: [], kinds: nil,
          links: joinLinks(of: index)))
    }
    return tables
  }

  private func kinds(of root: Int, _ sharing: [Int], _ model: Model) -> RowKinds? {
    guard let discriminator = model.entities[root].inheritance.discriminator else { return nil }
    return RowKinds(
      column: entities[root].attributeColumns[discriminator],
      entityByName: Dictionary(
        sharing.map { (model.entities[$0].name, $0) }, uniquingKeysWith: { first, _ in first }))
  }

  /// The to-many relationships that the columns of a table keep: those of the entities that they
  /// lead to, and of the ones that inherit them.
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
          place: RelationshipPlace(entity: owner, relationship: place), key: key)
      }
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

extension Model {
  /// Every entity whose objects stand in the table of the one at `root`, it first.
  fileprivate func sharing(tableOf root: Int) -> [Int] {
    [root] + entities[root].inheritance.subentities
  }
}

extension Entity {
  /// Whether the table is its own and not an ancestor's.
  fileprivate func isRoot(at index: Int) -> Bool {
    inheritance.root == nil || inheritance.root == index
  }
}
