// A table → the rows whose foreign keys refer to rows that do not exist.

import FetchModel
import SQLComposer

/// A row whose foreign key refers to a row that does not exist.
struct BrokenLink {
  let parent: String
  /// The rowid; nil in a table WITHOUT ROWID.
  let row: Int64?
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
      "SELECT parent, rowid FROM pragma_foreign_key_check(?)", [.text(table)]
    ) { row in BrokenLink(parent: row.text(0), row: row.isNull(1) ? nil : row.integer(1)) }
  }
}
