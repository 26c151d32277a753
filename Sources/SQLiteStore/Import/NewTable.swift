// A new table for an import, in an SQLite file.

import FetchModel
import LiveFetchCSQLite
import SQLComposer

extension NewTable {
  /// The CREATE TABLE statement. A column `id` becomes the key; without one the store assigns ids.
  public var sql: String {
    let hasID = columns.contains { folded($0.name) == "id" }
    var parts = hasID ? [] : ["\"id\" INTEGER PRIMARY KEY"]
    parts += columns.map { column in
      "\(quoted(column.name)) \(column.declaration)" + constraint(column)
    }
    if !key.isEmpty, key.map(folded) != ["id"] {
      parts.append("UNIQUE (\(key.map(quoted).joined(separator: ", ")))")
    }
    return "CREATE TABLE \(quoted(name))(\n  \(parts.joined(separator: ",\n  ")))"
  }

  private func constraint(_ column: (name: String, declaration: String)) -> String {
    guard folded(column.name) == "id" else { return "" }
    return column.declaration == "INTEGER" ? " PRIMARY KEY" : " NOT NULL PRIMARY KEY"
  }

  /// True if the file at `path` has an entity or a table with this name, or stores a model, which
  /// determines its entities.
  public static func isKnown(_ name: String, in path: String) throws(StoreError) -> Bool {
    let (connection, _) = try OpenFile.openForReading(path)
    defer { connection.close() }
    let model = try Introspection(of: connection).model
    if model.file != nil || model.entityIndex(named: name) != nil { return true }
    return try connection.hasRow(
      "SELECT 1 FROM main.sqlite_schema WHERE type IN ('table', 'view') AND lower(name) = lower(?)",
      [.text(name)])
  }

  /// The maximum number of columns imported into a table. SQLite allows 2,000; the history needs
  /// some of them.
  public static let maxColumns = 1_900

  /// Creates the file at `path` if it does not exist.
  static func createFile(_ path: String) throws(StoreError) {
    try OrphanedLog.check(path)
    var pointer: OpaquePointer?
    let name = try Connection.name(of: path, .write)
    let code = sqlite3_open_v2(name, &pointer, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
    defer { sqlite3_close_v2(pointer) }
    guard code == SQLITE_OK else { throw StoreError(of: pointer) }
    sqlite3_exec(pointer, "PRAGMA user_version", nil, nil, nil)
  }
}
