// A program's own SQL enters; its rows leave. Only one statement that reads.

import Bytes
import FetchModel
import LiveFetchCSQLite
import SQLComposer
import SQLResults

extension SQLiteStore {
  /// Runs a `SELECT`, `WITH` or `VALUES` on the newest committed state, with the time limit of
  /// queries.
  ///
  /// - Parameters:
  ///   - arguments: the values of `?`, in their order: null, booleans, numbers and texts.
  ///   - isCancelled: true to end the query, with ``StoreError/queryTimeout``.
  /// - Returns: for each row its columns: binary as base64.
  /// - Throws: ``StoreError/failed(_:)`` if the statement is invalid, with SQLite's reason, writes, or is
  ///   not the only one.
  package func rows(
    of sql: String, _ arguments: [JSON], cancelledWhen isCancelled: @escaping @Sendable () -> Bool
  ) throws(StoreError) -> [ItemValues] {
    try read(.full) { transaction throws(StoreError) in
      try transaction.connection.withCancellation(isCancelled) { () throws(StoreError) in
        try Self.rows(of: sql, arguments, on: transaction.connection)
      }
    }
  }

  private static func rows(
    of sql: String, _ arguments: [JSON], on connection: Connection
  ) throws(StoreError) -> [ItemValues] {
    let statement = try readingStatement(sql, on: connection)
    defer { sqlite3_finalize(statement.pointer) }
    guard sqlite3_bind_parameter_count(statement.pointer) == arguments.count else {
      throw .failed("the statement takes another number of arguments")
    }
    try statement.bind(try arguments.map { argument throws(StoreError) in try argument.sqlValue })
    let names = (0..<statement.columnCount).map {
      String(cString: sqlite3_column_name(statement.pointer, $0))
    }
    var rows: [ItemValues] = []
    while try statement.step() {
      rows.append(
        ItemValues(names: names, values: names.indices.map { statement.value(Int32($0)).item }))
    }
    return rows
  }

  private static func readingStatement(
    _ sql: String, on connection: Connection
  ) throws(StoreError) -> Statement {
    let problem = StoreError.failed(
      "only one statement that reads is allowed: SELECT, WITH, VALUES")
    let first = sql.drop { $0.isWhitespace }.prefix { $0.isLetter }.uppercased()
    guard ["SELECT", "WITH", "VALUES"].contains(first), !sql.utf8.contains(0) else { throw problem }
    var pointer: OpaquePointer?
    var rest = ""
    let code = sql.withCString { start in
      var tail: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v3(connection.handle, start, -1, 0, &pointer, &tail)
      if let tail { rest = String(cString: tail) }
      return code
    }
    // The program wrote the names: a missing one is no change of the schema.
    guard code != SQLITE_ERROR else {
      throw .failed(String(cString: sqlite3_errmsg(connection.handle)))
    }
    guard code == SQLITE_OK else { throw StoreError(of: connection.handle) }
    guard let pointer else { throw problem }
    guard sqlite3_stmt_readonly(pointer) != 0, rest.allSatisfy({ $0.isWhitespace || $0 == ";" })
    else {
      sqlite3_finalize(pointer)
      throw problem
    }
    return Statement(pointer: pointer)
  }

  /// The identity of the file at `path`; nil if there is none.
  package static func identity(of path: String) -> FileIdentity? { FileStatus(path)?.identity }
}

extension JSON {
  /// The value as SQLite stores it.
  fileprivate var sqlValue: SQLValue {
    get throws(StoreError) {
      switch self {
      case .null: return .null
      case .boolean(let boolean): return .integer(boolean ? 1 : 0)
      case .string(let text): return .text(text)
      case .number(let text):
        if let integer = Int64(text) { return .integer(integer) }
        if let double = Double(text) { return .double(double) }
        throw .failed("`\(text)` is no number of SQLite")
      case .array, .object: throw .failed("lists and objects are no values of SQLite")
      }
    }
  }
}

extension SQLValue {
  /// The value in an item: binary as base64, infinite numbers as the API writes them.
  fileprivate var item: ItemValue {
    switch self {
    case .null: return .null
    case .integer(let integer): return .integer(integer)
    case .double(let double): return ItemValue(double)
    case .text(let text): return .text(text)
    case .blob(let bytes):
      var text: [UInt8] = []
      text.append(base64: bytes, .standard)
      return .text(String(decoding: text, as: UTF8.self))
    }
  }
}
