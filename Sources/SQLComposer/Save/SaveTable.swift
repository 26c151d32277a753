// An entity's table as saves need it: the columns of each property, computed once for all saves.

import FetchModel

/// The data that saves need about an entity.
package final class SaveTable: Sendable {
  /// The columns of a to-one relationship, by their indexes in the table.
  package struct Link: Sendable {
    package let key: ForeignKey
    package let destination: Int
    /// Parallel to `key.columns`.
    package let columns: [Int]
    /// The columns set to NULL to clear the link; empty for a required link.
    package let clearable: [Int]
    /// True if an insert may leave the link empty at first.
    package let isDeferrable: Bool
  }

  package let index: Int
  package let entity: Entity
  package let table: EntityTable
  package let key: Key
  package let columns: [Column]
  package let attributeColumns: [Int]
  /// Parallel to `key.parts`; empty if the parts are not columns.
  package let keyColumns: [Int]
  /// Parallel to the entity's relationships; nil for to-many ones.
  package let links: [Link?]
  /// The name of each column that clients use.
  package let propertyNames: [String]
  /// The condition that selects the entity's rows; nil if all rows of the table are its own.
  package let restriction: String?
  /// True if a model file defines the rules. Then references are looked up before they are written.
  package let isModelled: Bool
  /// The column for the entity's name; nil if the table holds no other entity's objects.
  package let discriminatorColumn: Int?
  /// The columns that a replacement may set to their defaults.
  let replaceableColumns: Set<Int>

  package init(
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

  /// Returns the columns of the entity's own properties, except those that triggers compute.
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

  /// Returns the column with exactly this name.
  package func column(named name: String) -> Int? { columns.firstIndex { $0.name == name } }
}

extension EntityTable {
  /// Returns the indexes of the columns called `names`; nil if one of them does not exist.
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
    // Leaves a column unchanged, if possible, that another relationship uses as well.
    let shared = table.relationships.flatMap { storage -> [String] in
      if case .foreignKey(let other) = storage, other != key { other.columns } else { [] }
    }
    let own = nullable.filter { !shared.contains(table.columns[$0].name) }
    self.init(
      key: key, destination: destination, columns: columns,
      clearable: own.isEmpty ? nullable : own, isDeferrable: nullable.count == columns.count)
  }
}
