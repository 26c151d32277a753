// A row's old and current values → the differing properties. The database compares the values, so
// that none has to be read.
//
//     ((h."name" IS NOT m."name" COLLATE BINARY) << 0) | ((h."size" IS NOT m."size") << 1) | …
//
// An integer holds the results of 60 columns. These integers are the last columns of the query's
// rows.

import FetchModel
import SQLComposer

/// The comparison of a table's history (`h`) with the table (`m`).
package struct RowComparison: Sendable {
  private static let columnsPerNumber = 60

  /// SQL: not 0 if the row existed and still exists, followed by the differing columns as bits.
  package let columns: [String]
  /// The properties that each column affects, by entity.
  private let masks: [Int: [PropertyMask]]

  package init(_ table: TrackedTable, schema: Schema, model: Model) {
    let key = table.layout.keyColumns[0].table
    let stays = schema.dialect.integer(
      "h.\(HistoryLayout.existed) AND \(qualified(key, "m")) IS NOT NULL")
    let all = table.tableInfo.columns
    let numbers = stride(from: 0, to: all.count, by: Self.columnsPerNumber).map { start in
      all[start..<min(start + Self.columnsPerNumber, all.count)].enumerated()
        .map { "(\(Self.difference(of: $1, schema.dialect)) << \($0))" }.joined(separator: " | ")
    }
    columns = table.entity == nil ? [] : [stays] + numbers
    var masks: [Int: [PropertyMask]] = [:]
    for entity in table.entities {
      masks[entity] = all.map { Self.mask(of: $0, in: table, entity: entity, schema, model) }
    }
    self.masks = masks
  }

  /// SQL that is 1 if a column's old and new values differ, otherwise 0.
  private static func difference(of column: Column, _ dialect: Dialect) -> String {
    dialect.difference(qualified(column.name, "h"), qualified(column.name, "m"), column)
  }

  /// Returns the differing properties of `entity`; nil if the row was inserted or deleted.
  package func mask(_ row: some ResultRow, of entity: Int) -> PropertyMask? {
    let first = row.columnCount - Int32(columns.count)
    guard let masks = masks[entity], row.integer(first) != 0 else { return nil }
    var found: PropertyMask = []
    for number in 1..<columns.count {
      var bits = UInt64(bitPattern: row.integer(first + Int32(number)))
      while bits != 0 {
        found.formUnion(
          masks[(number - 1) * Self.columnsPerNumber + bits.trailingZeroBitCount])
        bits &= bits &- 1
      }
    }
    return found
  }

  /// Returns the properties of an entity that depend on a column. If links of other tables refer to
  /// the column, every property reached through these links may differ.
  private static func mask(
    of column: Column, in table: TrackedTable, entity: Int, _ schema: Schema, _ model: Model
  ) -> PropertyMask {
    let (stored, described) = (schema.entities[entity], model.entities[entity])
    if schema.isReferenced(column.name, of: table.tableInfo) { return .all }
    var mask: PropertyMask = []
    for index in described.attributes.indices
    where stored.column(ofAttribute: index).name == column.name {
      mask.formUnion(described.mask(of: .attribute(index)))
    }
    for (index, storage) in stored.relationships.enumerated() {
      if case .foreignKey(let key) = storage, key.columns.contains(column.name) {
        mask.formUnion(described.mask(of: .relationship(index)))
      }
    }
    return mask.isEmpty ? .all : mask
  }
}

extension Schema {
  /// True if a column is part of its table's key or the target of a foreign key.
  fileprivate func isReferenced(_ column: String, of table: TableInfo) -> Bool {
    if table.key.columns.contains(column) { return true }
    let keys = entities.flatMap(\.relationships).flatMap(\.foreignKeys)
    return keys.contains {
      folded($0.table) == folded(table.name) && $0.referenced.contains(column)
    }
  }
}

extension RelationshipStorage {
  fileprivate var foreignKeys: [ForeignKey] {
    switch self {
    case .foreignKey(let key), .inverse(let key): [key]
    case .joinTable(_, let source, let destination): [source, destination]
    }
  }
}
