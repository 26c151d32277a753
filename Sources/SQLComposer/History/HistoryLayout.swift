// The history of one table: its names, and the SQL that reads past values from it.
//
// A changed row of table "City" has a row in `livefetch_position(position, nonce, source)` and a
// row in "livefetch_history_City" with the same position:
//
//     livefetch_position   INTEGER PRIMARY KEY
//     livefetch_existed    1: the columns hold the row's old values;
//                          0: the row was inserted, and only the key's columns are filled
//     livefetch_rowid      for tables without a key: the rowid
//     "id", "name", …      every column of the table, with its affinity and collation
//
// The values of a row at position T are in the first history row of its key with a position beyond
// T. A row without one has not changed since.

import FetchModel

/// The names of a table's history.
package struct HistoryLayout: Sendable, Hashable {
  package static let position = "livefetch_position"
  package static let existed = "livefetch_existed"
  package static let rowid = "livefetch_rowid"

  package let tableInfo: TableInfo

  package init(of tableInfo: TableInfo) { self.tableInfo = tableInfo }

  /// The name of the table.
  package var table: String { tableInfo.name }
  /// The name of its history table, quoted.
  package var quotedName: String { quoted("livefetch_history_\(table)") }
  /// The name of the overlay: of the common table expression ``overlayExpression(at:)``, or of the
  /// temporary table that replaces it when the overlay is materialized; quoted.
  package var overlayName: String { boundedName("livefetch_shadow_", of: table) }

  /// The key's columns in the table and in its history.
  package var keyColumns: [(table: String, history: String)] {
    if case .rowid(let name) = tableInfo.key.kind { return [(name, Self.rowid)] }
    return tableInfo.key.columns.map { ($0, $0) }
  }

  /// Returns SQL for the id of a history row's object.
  package func idExpression(_ alias: String?) -> String {
    tableInfo.key.idExpression(ofParts: keyColumns.map { qualified($0.history, alias) })
  }
}

// MARK: - Columns

extension HistoryLayout {
  /// The declarations of the history table's columns.
  package var declarations: [String] {
    let own = ["\(Self.position) INTEGER PRIMARY KEY", "\(Self.existed) INTEGER NOT NULL"]
    let rowid = hasRowid ? ["\(Self.rowid) INTEGER"] : []
    return own + rowid + tableInfo.columns.map(Self.declaration)
  }

  package var hasRowid: Bool { keyColumns.contains { $0.history == Self.rowid } }

  /// Declares only the affinity: the history stores values that already have it unchanged.
  package static func declaration(of column: Column) -> String {
    let type = column.affinity == .blob ? "" : " \(column.affinity.rawValue.uppercased())"
    let collation = column.isBinaryCollated || column.collation.isEmpty ? "" : column.collation
    return quoted(column.name) + type + (collation.isEmpty ? "" : " COLLATE \(quoted(collation))")
  }
}

// MARK: - Past values

extension HistoryLayout {
  /// Returns a common table expression: the row of each key changed after the position, as it was at
  /// that position. The columns have the table's names.
  ///
  /// - Parameter condition: Over unqualified names of the key's columns. Other rows are not needed.
  package func overlayExpression(
    at position: HistoryPosition, where condition: SQLFragment? = nil
  ) -> SQLFragment {
    tableInfo.key.dialect.overlay(self, position, condition)
  }

  /// The expression where a history row holds the number of its position, its first parameter.
  ///
  ///     "livefetch_shadow_City" AS MATERIALIZED (
  ///       SELECT MIN(livefetch_position) AS …, livefetch_existed, "id", "name" FROM …
  ///       WHERE livefetch_position > ? AND "id" IS NOT NULL GROUP BY "id")
  func numberedOverlay(
    at position: HistoryPosition, where condition: SQLFragment?
  ) -> SQLFragment {
    let keys = keyColumns.map { quoted($0.history) }
    let keyCondition = condition.map { " AND \($0.text)" } ?? ""
    let text = """
      \(overlayName) AS MATERIALIZED (SELECT MIN(\(Self.position)) AS \(Self.position), \
      \((overlayColumns).joined(separator: ", ")) FROM main.\(quotedName) \
      WHERE \(Self.position) > ? AND \(isKeyed)\(keyCondition) \
      GROUP BY \(keys.map { "\($0) COLLATE BINARY" }.joined(separator: ", ")))
      """
    let number = SQLBinding.value(.integer(position.number))
    return SQLFragment(text, bindings: [number] + (condition?.bindings ?? []))
  }

  private var overlayColumns: [String] { historyColumns + tableInfo.columnNames.map(quoted) }

  /// The columns of the overlay that the table does not have.
  var historyColumns: [String] { [Self.existed] + (hasRowid ? [Self.rowid] : []) }

  /// Returns the statements that create the overlay as an empty table, which ``overlayInsertion`` fills.
  ///
  /// - Parameter links: Lists of columns, other than the key's, that need an index.
  package func overlayTable(indexedBy links: [[String]]) -> String {
    let key = keyColumns.map { "\(quoted($0.history)) COLLATE BINARY" }
    let indexes = Set(links).enumerated().map { number, columns in
      let name = boundedName("livefetch_links_\(number)_", of: table)
      return "CREATE INDEX temp.\(name) ON \(overlayName)(\(Self.list(columns.map(quoted))));"
    }
    return """
      CREATE TEMP TABLE \(overlayName)(\(Self.list(declarations)), UNIQUE(\(Self.list(key)))); \
      \(indexes.joined())
      """
  }

  /// SQL that returns a row if more than a number of rows changed after a position. Its parameters
  /// are the position and the number.
  package var hasManyChangesSQL: String {
    "SELECT 1 FROM main.\(quotedName) WHERE \(Self.position) > ? LIMIT 1 OFFSET ?"
  }

  /// SQL that adds the changes between two positions to the overlay's table. The table keeps the
  /// first row of each key.
  package var overlayInsertion: String {
    let columns = Self.list([Self.position] + overlayColumns)
    return """
      INSERT OR IGNORE INTO temp.\(overlayName)(\(columns)) SELECT \(columns) \
      FROM main.\(quotedName) WHERE \(Self.position) > ? AND \(Self.position) <= ? \
      AND \(isKeyed) ORDER BY \(Self.position)
      """
  }

  private static func list(_ parts: [String]) -> String { parts.joined(separator: ", ") }

  private var isKeyed: String {
    keyColumns.map { "\(quoted($0.history)) IS NOT NULL" }.joined(separator: " AND ")
  }

  /// Returns a condition over the table's columns that is true if the row has not changed since.
  /// The columns are unqualified if `alias` is nil.
  ///
  /// SQLite compares a row value in NOT IN with every row of the set, and a NULL in the set would
  /// make the result NULL.
  package func isUnchanged(_ alias: String?) -> String {
    let columns = keyColumns.map { qualified($0.table, alias) }
    let keys = keyColumns.map { quoted($0.history) }
    guard columns.count > 1 else {
      return "\(columns[0]) NOT IN (SELECT \(keys[0]) FROM \(overlayName))"
    }
    let names = keys.indices.map { "livefetch_key\($0)" }
    let selected = zip(keys, names).map { "\($0) AS \($1)" }
    let joinCondition = zip(columns, names).map { "\($0) = \($1)" }.joined(separator: " AND ")
    return """
      NOT EXISTS (SELECT 1 FROM (SELECT \(Self.list(selected)) FROM \(overlayName))\(tableInfo.key.dialect.subqueryName) WHERE \(joinCondition))
      """
  }
}
