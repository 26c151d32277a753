// How the columns of a database are compared, for the live engine.
//
// The evaluator compares text by code point, integers, doubles, booleans and dates as PostgreSQL does. Only
// the server compares the others: decimals, UUIDs, enums, padded text, JSON and bytes.

import FetchModel
import SQLComposer

/// Implements ``ColumnTraits`` for the columns of a database.
struct PostgresColumns: ColumnTraits {
  private let columns: SchemaColumns

  init(schema: Schema, model: Model) { columns = SchemaColumns(schema: schema, model: model) }

  func comparisonRule(of property: Property, in entity: Int) -> ComparisonRule? {
    guard entity < columns.schema.entities.count, isComparable(property, in: entity) else {
      return nil
    }
    return columns.comparisonRule(of: property, in: entity)
  }

  private func isComparable(_ property: Property, in entity: Int) -> Bool {
    let table = columns.schema.entities[entity]
    switch property {
    case .id: return isComparable(table.key.columns, of: table)
    case .attribute(let index): return Self.isComparable(table.column(ofAttribute: index))
    case .relationship(let index):
      guard case .foreignKey(let key) = table.relationships[index], key.referencesKey else {
        return false
      }
      let target = columns.model.entities[entity].relationships[index].destination
      return isComparable(key.columns, of: table)
        && isComparable(
          columns.schema.entities[target].key.columns, of: columns.schema.entities[target])
    }
  }

  /// The id of a composite key is a calculated text.
  private func isComparable(_ names: [String], of table: EntityTable) -> Bool {
    guard names.count == 1, let column = table.columns.first(where: { $0.name == names[0] })
    else { return false }
    return Self.isComparable(column)
  }

  private static func isComparable(_ column: Column) -> Bool {
    switch column.affinity {
    case .text, .integer, .real: true
    case .numeric: false
    case .blob: column.type == .boolean || column.type == .date
    }
  }
}
