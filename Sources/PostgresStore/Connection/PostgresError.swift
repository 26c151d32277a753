// The errors of a connection to PostgreSQL.

import CPostgres

/// An error of a connection.
enum PostgresError: Error, Hashable, Sendable {
  /// The server reported an error. An open transaction is aborted then.
  case server(ServerError)
  /// The server could not be reached, or the connection was lost. The text is only for the log. If
  /// this happens during a commit, its outcome is unknown.
  case disconnected(String)
  /// The deadline has passed, on this side or as the server's `statement_timeout`.
  case timedOut
  /// The caller cancelled the query.
  case cancelled
  /// No connection was free within the time limit, or too many callers wait already.
  case noFreeConnection
  /// The pool is closed.
  case closed
  /// The server sent something that this client does not understand.
  case malformed(String)
}

/// An error that the server reported.
struct ServerError: Hashable, Sendable {
  /// The five characters of its SQLSTATE.
  var sqlState: String
  var message: String
  var detail: String?
  var hint: String?
  var table: String?
  var column: String?
  var constraint: String?
  /// The function in the server's source that reported the error; unlike the message, it is not
  /// translated.
  var function: String?
}

extension ServerError {
  /// The error of a result; nil if it is none.
  init(_ result: OpaquePointer) {
    func field(_ code: Int32) -> String? {
      PQresultErrorField(result, code).map { String(cString: $0) }
    }
    self.init(
      sqlState: field(cpostgres_sqlstate) ?? "",
      message: field(cpostgres_message) ?? String(cString: PQresultErrorMessage(result)),
      detail: field(cpostgres_detail), hint: field(cpostgres_hint),
      table: field(cpostgres_table),
      column: field(cpostgres_column), constraint: field(cpostgres_constraint),
      function: field(cpostgres_function))
  }

  /// True if a table has changed since a statement was prepared.
  var isStalePlan: Bool { sqlState == "0A000" && function == "RevalidateCachedQuery" }
}

extension ServerError: CustomStringConvertible {
  var description: String {
    ["\(sqlState): \(message)", detail, hint].compactMap { $0 }.joined(separator: "; ")
  }
}

extension PostgresError {
  /// The SQLSTATE, if the server reported the error.
  var sqlState: String? {
    if case .server(let error) = self { error.sqlState } else { nil }
  }

  /// insufficient_privilege.
  var isPrivilegeError: Bool { sqlState == "42501" }

  /// lock_not_available: a lock was not free within `lock_timeout`.
  var isLockTimeout: Bool { sqlState == "55P03" }

  /// True if the transaction may succeed if it is repeated: a serialization failure or a deadlock.
  var isRetryable: Bool { sqlState == "40001" || sqlState == "40P01" }

  /// True if the connection was lost, or the server ends it.
  var isDisconnected: Bool {
    if case .disconnected = self { true } else { sqlState?.hasPrefix("57P") == true }
  }

  /// True if a prepared statement is out of date: the server no longer has it, or a table has
  /// changed since.
  var isStaleStatement: Bool {
    guard case .server(let error) = self else { return false }
    return error.sqlState == "26000" || error.isStalePlan
  }
}
