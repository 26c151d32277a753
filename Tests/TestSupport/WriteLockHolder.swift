// A connection that holds the write lock of a file.

import LiveFetchCSQLite

/// Holds the write lock of a file from its initialization until its release, as another process would.
public final class WriteLockHolder: @unchecked Sendable {
  private let database: OpaquePointer?

  public init(_ path: String) throws {
    var opened: OpaquePointer?
    guard sqlite3_open(path, &opened) == SQLITE_OK,
      sqlite3_busy_timeout(opened, 10_000) == SQLITE_OK,
      sqlite3_exec(opened, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK
    else { throw SQLFailure(text: "the file cannot be locked") }
    database = opened
  }

  public func release() {
    sqlite3_exec(database, "ROLLBACK", nil, nil, nil)
    sqlite3_close(database)
  }
}
