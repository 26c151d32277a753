// An entity's table as saves see it: which column each property writes, worked out once for all
// saves.

import FetchModel

/// What saves need to know of one entity.
final class SaveTable: Sendable {
  /// The columns of a to-one relationship, by their index in the table.
  struct Link: Sendable {
    let key: ForeignKey
    let destination: Int
    /// Parallel to `key.columns`.
    let columns: [Int]
    /// What is set to nil to refer to nothing; empty where something must be referred to.
    let clearable: [Int]
    /// Whether an insert may refer to nothing first.
    let mayComeLater: Bool
  }

  let index: Int
  let entity: Entity
  let table: EntityTable
  let key: Key
  let columns: [Column]
  let attributeColumns: [Int]
  /// Parallel to `key.parts`; empty where these are no columns.
  let keyColumns: [Int]
  /// Parallel to the entity's relationships; nil for to-many ones.
  let links: [Link?]
  /// For each column the name that clients know it by.
  let propertyNames: [String]
  /// The condition that tells the entity's rows from others in its table; nil where all are its.
  let restriction: String?
  /// Whether the rules are a model file's: then references are looked up before they are written.
  let isModelled: Bool
  /// The column that gets the entity's name; nil where the table holds no other entity's objects.
  let discriminatorColumn: Int?
  /// The columns that a replacement may give their defaults.
  let replaceableColumns: Set<Int>

  init(
    index: Int, entity: Entity, table: EntityTable, restriction: String? = nil,
    isModelled: Bool = false
  ) {
    self.index = index
    self.restriction = restriction
    self.isModelled = isModelled
    discriminatorColumn = entity.inheritance.discriminator.map { table.attributeColumns[$0] }
    self.entity = entity
    self.table = table
    key = table.key
    columns = table.columns
    attributeColumns = table.attributeColumns
    let keyColumns = table.indexes(of: table.key.columns) ?? []
    self.keyColumns = keyColumns
    links = zip(entity.relationships, table.relationships).map { relationship, storage in
      guard case .foreignKey(let key) = storage else { return nil }
      return Link(key, to: relationship.destination, in: table, keyColumns: keyColumns)
    }
    propertyNames = Self.names(entity, table, links: links, keyColumns: keyColumns)
    replaceableColumns =
      isModelled
      ? Self.ownColumns(entity, table, links) : Set(table.columns.indices)
  }

  /// What the entity's own properties hold, but for what triggers compute.
  private static func ownColumns(
    _ entity: Entity, _ table: EntityTable, _ links: [Link?]
  ) -> Set<Int> {
    let attributes = zip(entity.attributes, table.attributeColumns).filter { attribute, _ in
      switch attribute.declaration?.derivation {
      case nil: attribute.isWritable
      case .text: true
      case .path, .count, .sum, .now: false
      }
    }
    return Set(attributes.map(\.1) + links.compactMap { $0 }.flatMap(\.columns))
  }

  private static func names(
    _ entity: Entity, _ table: EntityTable, links: [Link?], keyColumns: [Int]
  ) -> [String] {
    var names = table.columns.map(\.name)
    for (relationship, link) in zip(entity.relationships, links) {
      if let link, link.columns.count == 1 { names[link.columns[0]] = relationship.name }
    }
    for (attribute, column) in zip(entity.attributes, table.attributeColumns) {
      names[column] = attribute.name
    }
    if keyColumns.count == 1 { names[keyColumns[0]] = "id" }
    return names
  }

  /// The column called exactly `name`.
  func column(named name: String) -> Int? { columns.firstIndex { $0.name == name } }
}

extension EntityTable {
  /// The indexes of the columns called `names`; nil where one of them is none.
  fileprivate func indexes(of names: [String]) -> [Int]? {
    let indexes = names.compactMap { name in columns.firstIndex { $0.name == name } }
    return indexes.count == names.count ? indexes : nil
  }
}

extension SaveTable.Link {
  fileprivate init?(
    _ key: ForeignKey, to destination: Int, in table: EntityTable, keyColumns: [Int]
  ) {
    guard let columns = table.indexes(of: key.columns) else { return nil }
    let nullable = columns.filter { !table.columns[$0].isNotNull && !keyColumns.contains($0) }
    // A column that another relationship uses as well is left alone if possible.
    let shared = table.relationships.flatMap { storage -> [String] in
      if case .foreignKey(let other) = storage, other != key { other.columns } else { [] }
    }
    let own = nullable.filter { !shared.contains(table.columns[$0].name) }
    self.init(
      key: key, destination: destination, columns: columns,
      clearable: own.isEmpty ? nullable : own, mayComeLater: nullable.count == columns.count)
  }
}
