// How the columns of a model's properties are compared, for the evaluator and the live engine.

import FetchModel

/// Implements ``ColumnTraits`` for the columns of a file.
package struct SchemaColumns: ColumnTraits {
  package let schema: Schema
  package let model: Model

  package init(schema: Schema, model: Model) {
    self.schema = schema
    self.model = model
  }

  package func comparisonRule(of property: Property, in entity: Int) -> ComparisonRule? {
    guard schema.comparesBytes, entity < schema.entities.count else { return nil }
    let table = schema.entities[entity]
    switch property {
    case .id: return comparisonRule(of: table.key, table)
    case .attribute(let index): return comparisonRule(of: table.column(ofAttribute: index))
    case .relationship(let index):
      guard case .foreignKey(let foreignKey) = table.relationships[index] else { return nil }
      let destination = model.entities[entity].relationships[index].destination
      let target = schema.entities[destination]
      guard foreignKey.referencesKey else { return comparisonRule(of: target.key, target) }
      return comparisonRule(of: target.key, foreignKey.columns, of: table)
    }
  }

  /// Only SQLite can compare text in a numeric column that has a collation of its own.
  private func comparisonRule(of column: Column) -> ComparisonRule? {
    guard column.encoding != nil || column.isBinaryCollated || !column.type.isNumeric else {
      return nil
    }
    return .column(column.affinity, encoding: column.encoding)
  }

  private func comparisonRule(of key: Key, _ table: EntityTable) -> ComparisonRule? {
    if case .rowid = key.kind { return .column(.integer) }
    return comparisonRule(of: key, key.columns, of: table)
  }

  /// Returns the comparison rule of the id of `key`, which the columns `names` of `table` hold.
  private func comparisonRule(
    of key: Key, _ names: [String], of table: EntityTable
  ) -> ComparisonRule? {
    guard key.isPlain else { return .calculated }
    guard let column = table.columns.first(where: { $0.name == names.first }) else { return nil }
    return .column(column.affinity)
  }
}

/// An attribute by its indexes in the model.
package struct EntityAttribute: Sendable, Hashable {
  package let entity: Int
  package let attribute: Int

  package init(entity: Int, attribute: Int) {
    self.entity = entity
    self.attribute = attribute
  }
}
