// The writer's connection as saves see it: statements and their constraints, the values of rows, and
// the part of the catalog that describes a refusal.

import FetchModel
import SQLComposer
import SQLResults
import SaveExecution

/// A connection to the file in the transaction of a save.
final class SQLiteSaveConnection: SaveConnection {
  private let connection: Connection
  private let history: History
  /// The id that the last statement returned.
  private var returnedID: ObjectID?
  /// The tables that delete other rows at a conflict; nil until they are needed.
  private var replacingTables: [String]?

  init(_ connection: Connection, history: History) {
    self.connection = connection
    self.history = history
  }

  var storesGivenIDs: Bool { true }
  var isTransactionOver: Bool { connection.isInAutocommit }
  var changedRows: Int { connection.changedRows }
  func mayChangeAtCommit() -> Bool { false }
  var hasDeferredViolations: Bool { connection.hasDeferredViolations }
  /// A file has one writer.
  var locksRows: Bool { false }

  /// Changes statements for tables with `ON CONFLICT REPLACE` alone: OR ABORT overrides the OR IGNORE
  /// and OR REPLACE of triggers too.
  func endingAtConstraints(_ sql: String) throws(StoreError) -> String {
    for table in try tablesWithReplacement() {
      if sql.hasPrefix("INSERT INTO \(table)") { return "INSERT OR ABORT" + sql.dropFirst(6) }
      if sql.hasPrefix("UPDATE \(table)") { return "UPDATE OR ABORT" + sql.dropFirst(6) }
    }
    return sql
  }

  private func tablesWithReplacement() throws(StoreError) -> [String] {
    if let replacingTables { return replacingTables }
    let tables = try connection.all(
      """
      SELECT name FROM main.sqlite_schema WHERE type = 'table' \
      AND instr(upper(sql), 'CONFLICT') AND instr(upper(sql), 'REPLACE')
      """
    ) { "main.\(quoted($0.text(0)))" }
    replacingTables = tables
    return tables
  }

  func insertedID(in table: SaveTable) -> ObjectID? {
    table.key.kind == .rowidAlias ? .integer(connection.lastRowID) : returnedID
  }

  func run(_ command: String) throws(StoreError) { try connection.run(command) }

  func lock(_ statement: SQLFragment) throws(StoreError) {}
}

// MARK: - Statements

extension SQLiteSaveConnection {
  func attempt(
    _ sql: String, _ values: [SQLValue], then more: [SQLValue]
  ) throws(StoreError) -> Constraint? {
    // SQLite itself asks for the time only within statements of many steps.
    if connection.hasToEnd { throw .queryTimeout }
    returnedID = nil
    return try connection.attempt(sql, values, then: more) { returnedID = $0.id(0) }
  }

  func attempt(
    _ sql: String, _ values: [SQLValue], where condition: SQLFragment
  ) throws(StoreError) -> Constraint? {
    try attempt(sql + condition.text, values, then: condition.values)
  }

  func row(_ sql: String, _ values: [SQLValue]) throws(StoreError) -> [SQLValue]? {
    try connection.first(sql, values) { $0.values(0..<$0.columnCount) }
  }

  func places(
    _ sql: String, _ values: [SQLValue]
  ) throws(StoreError) -> [(id: ObjectID, place: Int64?)] {
    try connection.all(sql, values) { row -> (id: ObjectID, place: Int64?)? in
      let hasPlace = row.columnCount > 1 && !row.isNull(1)
      return row.id(0).map { ($0, hasPlace ? row.integer(1) : nil) }
    }.compactMap { $0 }
  }

  func ids(_ query: SQLFragment) throws(StoreError) -> [ObjectID] {
    try connection.all(query.text, query.values) { $0.id(0) }.compactMap { $0 }
  }

  func integer(_ query: SQLFragment) throws(StoreError) -> Int64 {
    try connection.first(query.text, query.values) { $0.integer(0) } ?? 0
  }

  func hasRow(_ query: SQLFragment) throws(StoreError) -> Bool {
    try connection.hasRow(query.text, query.values)
  }

  func hasRow(candidate query: SQLFragment) throws(StoreError) -> Bool { try hasRow(query) }

  func ids(of statement: FetchStatement) throws(StoreError) -> Set<ObjectID> {
    let ids = try connection.all(statement.sql, statement.bindings) {
      $0.id(statement.layout.id)
    }
    return Set(ids.compactMap { $0 })
  }

  func rows(of statement: FetchStatement) throws(StoreError) -> [(id: ObjectID, row: Row)] {
    var rows: [(id: ObjectID, row: Row)] = []
    try connection.run(statement) { reader throws(StoreError) in
      let row = reader.row()
      try connection.checkResponse(row.json.count)
      rows.append((reader.id(), row))
      return true
    }
    return rows
  }
}

// MARK: - Catalog and history

extension SQLiteSaveConnection {
  func columns(of constraint: Constraint, in table: SaveTable, row: RowValues) -> [Int]? {
    constraint.columns(in: table)
  }

  func checks(of table: SaveTable) throws(StoreError) -> [String] {
    let sql = try connection.first(
      "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?",
      [.text(table.table.name)]
    ) { $0.text(0) }
    var scanner = IndexScanner(sql ?? "")
    var checks: [String] = []
    while let expression = scanner.parenthesized(after: "check") { checks.append(expression) }
    return checks
  }

  func refuses(
    _ change: ReferencedChange, _ key: ForeignKey, of holder: String
  ) throws(StoreError) -> Bool {
    let rule =
      switch change {
      case .update: "on_update"
      case .delete: "on_delete"
      }
    return try connection.hasRow(
      """
      SELECT 1 FROM pragma_foreign_key_list(?) WHERE lower("from") = lower(?) \
      AND \(rule) NOT IN ('CASCADE', 'SET NULL')
      """, [.text(holder), .text(key.columns[0])])
  }

  func historyPosition() throws(StoreError) -> Int64? {
    guard try History.isPresent(on: connection) else { return nil }
    return try connection.first("SELECT max(position) FROM main.livefetch_position") {
      $0.integer(0)
    }
  }

  func changes(after start: Int64) throws(StoreError) -> ChangeSet {
    guard let last = try historyPosition(), last > start else {
      return ChangeSet(start: HistoryPosition(start))
    }
    return try history.changeSet(after: start, upTo: last, on: connection)
  }

  func changes(since token: Token) throws(StoreError) -> ChangeSet? {
    guard try History.isPresent(on: connection),
      try history.validity(of: token, on: connection) == .known
    else { return nil }
    return try changes(after: token.position.number)
  }
}
