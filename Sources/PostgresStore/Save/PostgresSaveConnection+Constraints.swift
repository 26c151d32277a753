// An error of PostgreSQL → the `Constraint` that refused a statement, and the columns that it concerns,
// which queries of the catalog name.

import FetchModel
import ModelStorage
import SQLComposer
import SaveExecution

extension PostgresError {
  /// True if the server refused a statement because of its values.
  var isDataError: Bool {
    guard case .server(let error) = self else { return false }
    return Constraint.Kind(sqlState: error.sqlState) != nil
  }
}

extension Constraint.Kind {
  /// Returns nil if the error is not about values.
  fileprivate init?(sqlState: String) {
    switch sqlState {
    case "23505", "23P01": self = .unique
    case "23502": self = .notNull
    case "23514", "44000": self = .check
    case "23503", "23001": self = .foreignKey
    case "P0001": self = .trigger
    case "54001": self = .depth
    // syntax_error: only in a value, as of `tsvector`.
    case "42601": self = .type
    // Division by zero, an invalid argument of a function: an expression of the table failed.
    case "22012", "2201B", "2201E", "2201F", "2201G", "22023": self = .other
    default:
      if sqlState.hasPrefix("22") {
        self = .type
      } else if sqlState.hasPrefix("23") || sqlState.hasPrefix("P0") {
        self = .other
      } else if let first = sqlState.utf8.first, (0x49...0x5A).contains(first),
        !sqlState.hasPrefix("XX")
      {
        // The standard leaves the classes from I to Z to the programs: `RAISE … USING ERRCODE = 'P4042'`.
        self = .trigger
      } else {
        return nil
      }
    }
  }
}

extension PostgresSaveConnection {
  /// Returns the constraint behind a refused statement; nil for another error. Stores the error for
  /// ``columns(of:in:row:)``.
  func constraint(_ error: ServerError) throws(StoreError) -> Constraint? {
    guard let kind = Constraint.Kind(sqlState: error.sqlState) else { return nil }
    constraintError = error
    var subject = error.constraint ?? error.column ?? ""
    if kind == .check, let name = error.constraint, let table = error.table {
      subject = try check(named: name, of: table) ?? name
    }
    return Constraint(
      kind: kind, message: error.message, subject: subject,
      deniedRelationship: kind == .trigger ? ModelTriggers.denied(error.message) : nil)
  }

  /// Returns the indexes of the columns that the constraint of the last refused statement concerns; nil
  /// if they are unknown. If a query fails, the problem names no column or the wrong one.
  func columns(of constraint: Constraint, in table: SaveTable, row: RowValues) -> [Int]? {
    // The server does not name the columns.
    if constraint.kind == .type {
      let unfit = zip(row.columns, row.values).filter { column, value in
        value != .null && !fits(value, type: table.columns[column].declaredType)
      }
      return unfit.isEmpty ? nil : unfit.map { $0.0 }
    }
    guard let constraintError, constraintError.table == table.table.name else { return nil }
    switch constraint.kind {
    case .notNull: return constraintError.column.flatMap(table.column(named:)).map { [$0] }
    case .unique:
      let names = try? indexColumns(constraintError.constraint ?? "")
      return names?.compactMap(table.column(named:))
    case .check, .foreignKey, .trigger, .type, .depth, .other: return nil
    }
  }

  /// True if the type stores the value without truncation. False if the query fails.
  private func fits(_ value: SQLValue, type: String) -> Bool {
    // A cast to character(n) or character varying(n) truncates silently. Both take blanks beyond their length.
    let condition =
      type.hasPrefix("character")
      ? "length(rtrim((?::\(type))::text, ' ')) >= length(rtrim(?::text, ' '))"
      : "(?::\(type) IS NOT NULL) AND (?::text IS NOT NULL)"
    let query = SQLFragment("SELECT 1 WHERE \(condition)", bindings: [value, value])
    return (try? hasRow(candidate: query)) ?? false
  }

  private func firstColumn(
    _ sql: String, _ values: [PostgresValue]
  ) throws(StoreError) -> [String] {
    try withStoreErrors { () throws(PostgresError) in
      let result = try connection.query(sql, values)
      return (0..<result.rowCount).map { result.text($0, 0) }
    }
  }

  private func indexColumns(_ name: String) throws(StoreError) -> [String] {
    try firstColumn(
      """
      SELECT a.attname::text FROM pg_catalog.pg_class AS c
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        JOIN pg_catalog.pg_index AS i ON i.indexrelid = c.oid
        \(CatalogReader.indexColumns)
      WHERE n.nspname = $1::text AND c.relname = $2::text AND k.place <= i.indnkeyatts
      ORDER BY k.place
      """, [.text(Catalog.schema), .text(name)])
  }

  private static let constraints = """
    FROM pg_catalog.pg_constraint AS k JOIN pg_catalog.pg_class AS c ON c.oid = k.conrelid
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = $1::text AND c.relname = $2::text
    """

  private func check(named name: String, of table: String) throws(StoreError) -> String? {
    try firstColumn(
      "SELECT pg_get_expr(k.conbin, k.conrelid) \(Self.constraints) AND k.conname = $3::text",
      [.text(Catalog.schema), .text(table), .text(name)]
    ).first
  }

  func checks(of table: SaveTable) throws(StoreError) -> [String] {
    try firstColumn(
      """
      SELECT pg_get_expr(k.conbin, k.conrelid) \(Self.constraints) AND k.contype = 'c'
      ORDER BY k.conname
      """, [.text(Catalog.schema), .text(table.table.name)])
  }

  func refuses(
    _ change: ReferencedChange, _ key: ForeignKey, of holder: String
  ) throws(StoreError) -> Bool {
    let action =
      switch change {
      case .update: "confupdtype"
      case .delete: "confdeltype"
      }
    return try !firstColumn(
      """
      SELECT k.conname::text \(Self.constraints) AND k.contype = 'f'
        AND k.\(action) NOT IN ('c', 'n') AND EXISTS (
          SELECT FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = k.conrelid
            AND a.attnum = ANY (k.conkey) AND a.attname = $3::text)
      """, [.text(Catalog.schema), .text(holder), .text(key.columns[0])]
    ).isEmpty
  }
}
