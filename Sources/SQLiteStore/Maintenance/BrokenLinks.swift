// A table → the rows whose foreign keys refer to rows that do not exist.

import FetchModel
import SQLComposer

/// A row whose foreign key refers to a row that does not exist.
struct BrokenLink {
  let table: String
  let parent: String
  /// The rowid; nil in a table WITHOUT ROWID.
  let row: Int64?
  /// SQLite's number of the foreign key among those of the table.
  let foreignKey: Int64
}

extension Connection {
  /// Returns the names of the file's tables.
  func tableNames() throws(StoreError) -> [String] {
    try all("SELECT name FROM main.sqlite_schema WHERE type = 'table'") { $0.text(0) }
  }

  /// Returns the broken links of one table. O(rows of the table).
  ///
  /// - Throws: ``StoreError/failed(_:)`` if a foreign key refers to columns that are not unique.
  func brokenLinks(of table: String) throws(StoreError) -> [BrokenLink] {
    try all(
      "SELECT parent, rowid, fkid FROM pragma_foreign_key_check(?)", [.text(table)]
    ) { row in
      BrokenLink(
        table: table, parent: row.text(0), row: row.isNull(1) ? nil : row.integer(1),
        foreignKey: row.integer(2))
    }
  }

  /// Returns the primary keys, as SQL, of at most `limit` rows of a table for which one of its foreign
  /// keys is a broken link.
  func brokenKeys(
    of table: String, foreignKey: Int64, limit: Int
  ) throws(StoreError) -> [String] {
    let parts = try all(
      """
      SELECT "from", "to", "table" FROM pragma_foreign_key_list(?) WHERE id = ? ORDER BY seq
      """, [.text(table), .integer(foreignKey)]
    ) { (from: $0.text(0), to: $0.isNull(1) ? nil : $0.text(1), parent: $0.text(2)) }
    guard let parent = parts.first?.parent else { return [] }
    var conditions = parts.map { "c.\(quoted($0.from)) IS NOT NULL" }
    // Without the table all rows are broken links.
    if try hasRow("SELECT 1 FROM pragma_table_info(?)", [.text(parent)]) {
      let named = parts.compactMap(\.to)
      let referenced = named.isEmpty ? try primaryKey(of: parent) : named
      let isParent = zip(parts, referenced).map { "p.\(quoted($1)) = c.\(quoted($0.from))" }
        .joined(separator: " AND ")
      conditions.append("NOT EXISTS (SELECT 1 FROM main.\(quoted(parent)) AS p WHERE \(isParent))")
    }
    let key = try primaryKey(of: table).map { "quote(c.\(quoted($0)))" }
    let text = key.joined(separator: " || ', ' || ")
    return try all(
      """
      SELECT \(key.count == 1 ? text : "'(' || \(text) || ')'") FROM main.\(quoted(table)) AS c
      WHERE \(conditions.joined(separator: " AND ")) ORDER BY 1 LIMIT \(limit)
      """
    ) { $0.text(0) }
  }

  private func primaryKey(of table: String) throws(StoreError) -> [String] {
    try all("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [.text(table)]) {
      $0.text(0)
    }
  }
}
