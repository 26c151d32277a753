// Where the history of one table stands: names, and the SQL that looks back through it.
//
// A touched row of table "City" is one row of `livefetch_position(position, nonce, source)` and one
// of "livefetch_history_City" with the same position:
//
//     livefetch_position   INTEGER PRIMARY KEY
//     livefetch_existed    1: the columns hold the row as it was before; 0: it was inserted, and
//                          only the key's columns are filled
//     livefetch_rowid      for tables without a key: the row's number
//     "id", "name", …      every column of the table, with its affinity and collation
//
// What a row was after position T is the first row of its key with a position beyond T; a row
// without one was not touched since.

import FetchModel

/// The names of a table's history.
struct HistoryLayout: Sendable, Hashable {
  static let position = "livefetch_position"
  static let existed = "livefetch_existed"
  static let rowid = "livefetch_rowid"

  let shape: TableShape

  init(of shape: TableShape) { self.shape = shape }

  /// The name of the table.
  var table: String { shape.name }
  /// The name of its history, quoted.
  var quotedName: String { quoted("livefetch_history_\(table)") }
  /// The name of the common table expression that ``shadowExpression`` makes, and of the temporary
  /// table that stands for it where it is gathered, quoted.
  var shadowName: String { quoted("livefetch_shadow_\(table)") }

  /// The key's columns in the table and in its history.
  var keyColumns: [(table: String, history: String)] {
    if case .rowid(let name) = shape.key.kind { return [(name, Self.rowid)] }
    return shape.key.columns.map { ($0, $0) }
  }

  /// SQL for the id of a history row's object.
  func idExpression(_ alias: String?) -> String {
    shape.key.idExpression(ofParts: keyColumns.map { qualified($0.history, alias) })
  }
}

// MARK: - Columns

extension HistoryLayout {
  /// The columns of the history, each as a table declares it.
  var declarations: [String] {
    let own = ["\(Self.position) INTEGER PRIMARY KEY", "\(Self.existed) INTEGER NOT NULL"]
    let rowid = hasRowid ? ["\(Self.rowid) INTEGER"] : []
    return own + rowid + shape.columns.map(Self.declaration)
  }

  var hasRowid: Bool { keyColumns.contains { $0.history == Self.rowid } }

  /// The affinity alone: a value that has passed it once passes it unchanged.
  static func declaration(of column: Column) -> String {
    let type = column.affinity == .blob ? "" : " \(column.affinity.rawValue.uppercased())"
    let collation = column.isBinary || column.collation.isEmpty ? "" : column.collation
    return quoted(column.name) + type + (collation.isEmpty ? "" : " COLLATE \(quoted(collation))")
  }
}

// MARK: - The table as it was

extension HistoryLayout {
  /// A common table expression: for each key touched after the position bound to its one `?`,
  /// what its row was then. The columns have the table's names.
  ///
  ///     "livefetch_shadow_City" AS MATERIALIZED (
  ///       SELECT MIN(livefetch_position) AS …, livefetch_existed, "id", "name" FROM …
  ///       WHERE livefetch_position > ? AND "id" IS NOT NULL GROUP BY "id")
  var shadowExpression: String {
    let keys = keyColumns.map { quoted($0.history) }
    return """
      \(shadowName) AS MATERIALIZED (SELECT MIN(\(Self.position)) AS \(Self.position), \
      \((shadowColumns).joined(separator: ", ")) FROM main.\(quotedName) \
      WHERE \(Self.position) > ? AND \(isKeyed) \
      GROUP BY \(keys.map { "\($0) COLLATE BINARY" }.joined(separator: ", ")))
      """
  }

  private var shadowColumns: [String] {
    [Self.existed] + (hasRowid ? [Self.rowid] : []) + shape.columnNames.map(quoted)
  }

  /// The statements that make the same an empty table, which ``gathering`` fills.
  ///
  /// - Parameter links: columns that rows are looked up by, beside the key's.
  func gatheredTable(indexedBy links: [[String]]) -> String {
    let key = keyColumns.map { "\(quoted($0.history)) COLLATE BINARY" }
    let indexes = Set(links).enumerated().map { number, columns in
      let name = quoted("livefetch_shadow_\(table)_\(number)")
      return "CREATE INDEX temp.\(name) ON \(shadowName)(\(Self.list(columns.map(quoted))));"
    }
    return """
      CREATE TEMP TABLE \(shadowName)(\(Self.list(declarations)), UNIQUE(\(Self.list(key)))); \
      \(indexes.joined())
      """
  }

  /// A row where more rows were touched after a position than a number, both bound.
  var touchedBeyond: String {
    "SELECT 1 FROM main.\(quotedName) WHERE \(Self.position) > ? LIMIT 1 OFFSET ?"
  }

  /// Takes what was touched between two positions into the gathered table: the first row of each
  /// key stays.
  var gathering: String {
    let columns = Self.list([Self.position] + shadowColumns)
    return """
      INSERT OR IGNORE INTO temp.\(shadowName)(\(columns)) SELECT \(columns) \
      FROM main.\(quotedName) WHERE \(Self.position) > ? AND \(Self.position) <= ? \
      AND \(isKeyed) ORDER BY \(Self.position)
      """
  }

  private static func list(_ parts: [String]) -> String { parts.joined(separator: ", ") }

  private var isKeyed: String {
    keyColumns.map { "\(quoted($0.history)) IS NOT NULL" }.joined(separator: " AND ")
  }

  /// A condition over the table's columns, bare ones where there is no alias: the row was not touched
  /// since.
  ///
  /// A row of several columns that is NOT IN a set SQLite compares with everything there: a nil among
  /// it would make the answer nil.
  func isUntouched(_ alias: String?) -> String {
    let columns = keyColumns.map { qualified($0.table, alias) }
    let keys = keyColumns.map { quoted($0.history) }
    guard columns.count > 1 else {
      return "\(columns[0]) NOT IN (SELECT \(keys[0]) FROM \(shadowName))"
    }
    let names = keys.indices.map { "livefetch_key\($0)" }
    let selected = zip(keys, names).map { "\($0) AS \($1)" }
    let tie = zip(columns, names).map { "\($0) = \($1)" }.joined(separator: " AND ")
    return """
      NOT EXISTS (SELECT 1 FROM (SELECT \(Self.list(selected)) FROM \(shadowName)) WHERE \(tie))
      """
  }
}
