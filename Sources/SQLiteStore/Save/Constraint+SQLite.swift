// A refused statement in SQLite's words → the constraint that refused it, and the columns that it is
// about.

import FetchModel
import LiveFetchCSQLite
import ModelStorage
import SQLComposer
import SaveExecution

extension Constraint {
  /// - Parameter code: SQLite's extended result code.
  init(code: Int32, message: String) {
    // SQLite implements RESTRICT as a trigger.
    let isRestriction = code == Code.trigger && message == "FOREIGN KEY constraint failed"
    let kind: Kind =
      switch code {
      case _ where isRestriction: .foreignKey
      case _ where message == "too many levels of trigger recursion": .depth
      case Code.unique, Code.primaryKey, Code.rowid: .unique
      case Code.notNull: .notNull
      case Code.check: .check
      case Code.foreignKey: .foreignKey
      case Code.trigger: .trigger
      case Code.datatype, SQLITE_MISMATCH: .type
      default: .other
      }
    self.init(
      kind: kind, message: message, subject: Self.subject(of: message),
      deniedRelationship: kind == .trigger ? ModelTriggers.denied(message) : nil)
  }

  /// The part of the message after the colon: columns, or a constraint.
  private static func subject(of message: String) -> String {
    guard let colon = message.utf8.firstIndex(of: 0x3A) else { return "" }
    return String(message[colon...].dropFirst().drop { $0 == " " })
  }

  /// SQLite's extended result codes of SQLITE_CONSTRAINT.
  private enum Code {
    static let check: Int32 = 275
    static let foreignKey: Int32 = 787
    static let notNull: Int32 = 1299
    static let primaryKey: Int32 = 1555
    static let trigger: Int32 = 1811
    static let unique: Int32 = 2067
    static let rowid: Int32 = 2579
    static let datatype: Int32 = 3091
  }
}

// MARK: - Columns

extension Constraint {
  /// Returns the columns that the message names; nil if they are not the table's.
  func columns(in table: SaveTable) -> [Int]? {
    switch kind {
    case .unique, .notNull: listedColumns(table)
    case .type: typedColumn(table).map { [$0] }
    case .check, .foreignKey, .trigger, .depth, .other: nil
    }
  }

  /// `City.country, City.name`, or `index 'name'`.
  private func listedColumns(_ table: SaveTable) -> [Int]? {
    if subject.hasPrefix("index '") {
      let name = subject.dropFirst(7).dropLast()
      let index = table.table.uniqueIndexes.first { $0.name == name }
      return index?.parts.compactMap { $0.column.flatMap(table.column(named:)) }
    }
    let prefix = table.table.name + "."
    var columns: [Int] = []
    var rest = Substring(subject)
    while !rest.isEmpty {
      guard rest.hasPrefix(prefix) else { return nil }
      rest = rest.dropFirst(prefix.count)
      guard let column = table.columnStarting(rest) else { return nil }
      columns.append(column)
      rest = rest.dropFirst(table.columns[column].name.count).dropFirst(2)
    }
    return columns
  }

  /// `cannot store TEXT value in INTEGER column City.population`
  private func typedColumn(_ table: SaveTable) -> Int? {
    guard let range = message.firstRange(of: "column \(table.table.name).") else { return nil }
    return table.columnStarting(message[range.upperBound...])
  }
}

extension SaveTable {
  /// Returns the column whose name `text` begins with, followed by a comma or by nothing.
  fileprivate func columnStarting(_ text: Substring) -> Int? {
    columns.firstIndex { column in
      guard text.hasPrefix(column.name) else { return false }
      let rest = text.dropFirst(column.name.count)
      return rest.isEmpty || rest.hasPrefix(", ")
    }
  }
}

// MARK: - Statements

extension Connection {
  /// Runs `sql` to its end with `values`, then `more` bound. Returns the constraint that refused
  /// it, or nil on success.
  func attempt(
    _ sql: String, _ values: [SQLValue], then more: [SQLValue] = [],
    row: (Statement) -> Void = { _ in }
  ) throws(StoreError) -> Constraint? {
    try withStatement(sql) { statement throws(StoreError) in
      guard statement.bind(values, from: 1),
        statement.bind(more, from: Int32(truncatingIfNeeded: values.count &+ 1))
      else { return try refusal(sqlite3_extended_errcode(handle)) }
      while true {
        let code = sqlite3_step(statement.pointer)
        switch code & 0xFF {
        case SQLITE_DONE: return nil
        case SQLITE_ROW: row(statement)
        default: return try refusal(code)
        }
      }
    }
  }

  /// Returns the constraint behind a step that failed with `code`. Throws if it was another
  /// failure.
  func refusal(_ code: Int32) throws(StoreError) -> Constraint {
    let message = String(cString: sqlite3_errmsg(handle))
    switch code & 0xFF {
    case SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_TOOBIG: break
    case SQLITE_ERROR where !message.hasPrefix("no such") && !message.contains("has no column"):
      break
    default: throw StoreError(of: handle)
    }
    return Constraint(code: code, message: message)
  }

  /// The number of rows that the last statement wrote, excluding those of triggers and delete
  /// rules.
  var changedRows: Int { Int(sqlite3_changes64(handle)) }

  var lastRowID: Int64 { sqlite3_last_insert_rowid(handle) }

  /// True if foreign keys that are checked at the commit are currently violated.
  var hasDeferredViolations: Bool {
    var current: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
    return current > 0
  }

  /// True if `sql` returns a row.
  func hasRow(_ sql: String, _ values: [SQLValue]) throws(StoreError) -> Bool {
    try first(sql, values) { _ in true } ?? false
  }
}
