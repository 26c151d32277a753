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

  package func treatment(of property: Property, in entity: Int) -> ColumnTreatment? {
    guard schema.comparesBytes, entity < schema.entities.count else { return nil }
    let table = schema.entities[entity]
    switch property {
    case .id: return treatment(of: table.key, table)
    case .attribute(let index): return treatment(of: table.column(ofAttribute: index))
    case .relationship(let index):
      guard case .foreignKey(let foreignKey) = table.relationships[index] else { return nil }
      let destination = model.entities[entity].relationships[index].destination
      let target = schema.entities[destination]
      guard foreignKey.referencesKey else { return treatment(of: target.key, target) }
      return treatment(of: target.key, foreignKey.columns, of: table)
    }
  }

  /// Only SQLite can compare text in a numeric column that has a collation of its own.
  private func treatment(of column: Column) -> ColumnTreatment? {
    guard column.encoding != nil || column.isBinary || !column.type.isNumeric else { return nil }
    return .column(column.affinity, encoding: column.encoding)
  }

  private func treatment(of key: Key, _ table: EntityTable) -> ColumnTreatment? {
    if case .rowid = key.kind { return .column(.integer) }
    return treatment(of: key, key.columns, of: table)
  }

  /// Returns the treatment of the id of `key`, which the columns `names` of `table` hold.
  private func treatment(
    of key: Key, _ names: [String], of table: EntityTable
  ) -> ColumnTreatment? {
    guard key.isPlain else { return .calculated }
    guard let column = table.columns.first(where: { $0.name == names.first }) else { return nil }
    return .column(column.affinity)
  }
}

/// An attribute by its indexes in the model.
package struct ColumnPlace: Sendable, Hashable {
  package let entity: Int
  package let attribute: Int

  package init(entity: Int, attribute: Int) {
    self.entity = entity
    self.attribute = attribute
  }
}
