// A table's name, key and columns, in one type for the tables of entities and join tables.

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
