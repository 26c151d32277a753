// The parts of a table that a history overlay needs, for tables of entities and for join tables.

/// A table's name, key and columns.
struct TableInfo: Hashable {
  let name: String
  let key: Key
  let columns: [Column]

  init(name: String, key: Key, columns: [Column]) {
    self.name = name
    self.key = key
    self.columns = columns
  }

  init(_ table: EntityTable) {
    name = table.name
    key = table.key
    columns = table.columns
  }

  init(_ table: JoinTable) {
    name = table.name
    key = table.key
    columns = table.columns
  }

  var columnNames: [String] { columns.map(\.name) }
}
