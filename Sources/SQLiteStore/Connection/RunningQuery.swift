// The connection whose query this thread runs, for functions that SQLite calls. SQLite checks the
// deadline only every few hundred steps of its virtual machine, and one step may be a long call.

import LiveFetchCLibrary
import LiveFetchCSQLite

enum RunningQuery {
  /// Shorter values, in bytes, are read without a check.
  static let shortValue = 4 << 10
  /// The same for a regular expression, which takes many steps for each byte.
  static let shortMatchedValue = 256
  /// The maximum number of bytes of a value that an HTTP worker reads.
  static let longestQuickValue = 64 << 10

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// Runs `body` as a query of `connection`.
  static func run<Result, Failure: Error>(
    on connection: Connection, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let outer = pthread_getspecific(key)
    pthread_setspecific(key, Unmanaged.passUnretained(connection).toOpaque())
    defer { pthread_setspecific(key, outer) }
    return try body()
  }

  /// nil outside of queries.
  static var connection: Connection? {
    pthread_getspecific(key).map { Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue() }
  }

  /// True if the query is cancelled or its time limit has passed.
  static var isCancelled: Bool { connection?.hasToEnd ?? false }

  /// Ends the query that called a function, if it is cancelled or its time limit has passed. Returns
  /// true if it did.
  static func end(_ context: OpaquePointer?) -> Bool {
    guard isCancelled else { return false }
    sqlite3_result_error_code(context, SQLITE_INTERRUPT)
    return true
  }

  /// True if a function may read `count` bytes. Otherwise the query ends, because it is cancelled, its
  /// time limit has passed, or the value is too long for an HTTP worker.
  static func admits(
    _ count: Int, short: Int = shortValue, _ context: OpaquePointer?
  ) -> Bool {
    guard count >= short, let connection else { return true }
    let isQuick = connection.queryClass == .quick
    guard isQuick && count > longestQuickValue || connection.hasToEnd else { return true }
    sqlite3_result_error_code(context, SQLITE_INTERRUPT)
    return false
  }

  /// The same for a text or binary value; numbers are short.
  static func admits(
    _ value: OpaquePointer?, short: Int = shortValue, _ context: OpaquePointer?
  ) -> Bool {
    let type = sqlite3_value_type(value)
    guard type == SQLITE_TEXT || type == SQLITE_BLOB else { return true }
    return admits(Int(sqlite3_value_bytes(value)), short: short, context)
  }
}
