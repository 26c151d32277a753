// A statement that writes → completed, or refused by a constraint. Other failures are thrown.

import FetchModel
import LiveFetchCSQLite

/// A refused statement in SQLite's words. The message must not reach clients.
struct Constraint {
  enum Kind {
    case unique, notNull, check, foreignKey, trigger, type
    /// Nested triggers and delete rules exceed SQLite's limit.
    case depth
    /// An expression of the table's own failed for the given values.
    case other
  }

  let kind: Kind
  let message: String

  init(code: Int32, message: String) {
    self.message = message
    // SQLite implements RESTRICT as a trigger.
    let isRestriction = code == Code.trigger && message == "FOREIGN KEY constraint failed"
    kind =
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
  }

  /// The relationship whose delete rule refused the delete; nil if none did.
  var deniedRelationship: String? {
    guard kind == .trigger, message.hasPrefix(ModelTriggers.denial) else { return nil }
    return String(message.dropFirst(ModelTriggers.denial.count))
  }

  var isDenial: Bool { deniedRelationship != nil }

  /// The part of the message after the colon: columns, or a constraint.
  var subject: Substring {
    guard let colon = message.utf8.firstIndex(of: 0x3A) else { return "" }
    return message[colon...].dropFirst().drop { $0 == " " }
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

extension Connection {
  /// Runs `sql` to its end with `values`, then `more` bound. Returns the constraint that refused
  /// it, or nil on success.
  func attempt(
    _ sql: String, _ values: [SQLValue], _ more: [SQLValue] = [],
    row: (Statement) -> Void = { _ in }
  ) throws(StoreError) -> Constraint? {
    try withStatement(sql) { statement throws(StoreError) in
      statement.bind(values)
      for (index, value) in more.enumerated() {
        statement.bind(value, at: Int32(truncatingIfNeeded: values.count &+ index &+ 1))
      }
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
    default: throw StoreError(code: code, message: message)
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
