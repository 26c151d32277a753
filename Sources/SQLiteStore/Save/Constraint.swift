// A statement that writes → done, or refused by a constraint. Whatever else goes wrong is thrown.

import CSQLite
import FetchModel

/// What refused a statement, in SQLite's words. The message is not for clients.
struct Constraint {
  enum Kind {
    case unique, notNull, check, foreignKey, trigger, type
    /// Triggers and delete rules within each other, deeper than SQLite goes.
    case depth
    /// An expression of the table's own failed on what it was given.
    case other
  }

  let kind: Kind
  let message: String

  init(code: Int32, message: String) {
    self.message = message
    // RESTRICT is carried out by SQLite as a trigger.
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

  /// The relationship whose delete rule refused; nil where none did.
  var deniedRelationship: String? {
    guard kind == .trigger, message.hasPrefix(ModelTriggers.denial) else { return nil }
    return String(message.dropFirst(ModelTriggers.denial.count))
  }

  var isDenial: Bool { deniedRelationship != nil }

  /// What stands behind the message's colon: columns, or a constraint.
  var subject: Substring {
    guard let colon = message.utf8.firstIndex(of: 0x3A) else { return "" }
    return message[colon...].dropFirst().drop { $0 == " " }
  }

  /// SQLite's extended codes of SQLITE_CONSTRAINT.
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
  /// Runs `sql` to its end with `values` and then `more` bound; gives the constraint that refused
  /// it, nil where it was done.
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

  /// What a step that failed with `code` was refused by; thrown where that is no constraint.
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

  /// How many rows the last statement wrote, not counting those of triggers and delete rules.
  var changedRows: Int { Int(sqlite3_changes64(handle)) }

  var lastRowID: Int64 { sqlite3_last_insert_rowid(handle) }

  /// Whether foreign keys that are checked at the commit are violated now.
  var hasDeferredViolations: Bool {
    var current: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
    return current > 0
  }

  /// Whether `sql` gives a row.
  func hasRow(_ sql: String, _ values: [SQLValue]) throws(StoreError) -> Bool {
    try first(sql, values) { _ in true } ?? false
  }
}
