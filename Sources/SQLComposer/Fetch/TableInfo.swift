// The parts of a table that a history overlay needs, for tables of entities and for join tables.

/// A table's name, key and columns.
package struct TableInfo: Hashable {
  package let name: String
  package let key: Key
  package let columns: [Column]

  package init(name: String, key: Key, columns: [Column]) {
    self.name = name
    self.key = key
    self.columns = columns
  }

  package init(_ table: EntityTable) {
    name = table.name
    key = table.key
    columns = table.columns
  }

  package init(_ table: JoinTable) {
    name = table.name
    key = table.key
    columns = table.columns
  }

  package var columnNames: [String] { columns.map(\.name) }
}
