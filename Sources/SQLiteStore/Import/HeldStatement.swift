// A prepared statement that is held through an import: found again without its text.

import CSQLite
import FetchModel

/// A statement of one connection, until it is closed.
final class HeldStatement {
  private(set) var pointer: OpaquePointer?

  init(_ sql: String, on connection: Connection) throws(StoreError) {
    let code = sqlite3_prepare_v3(
      connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, nil)
    guard code == SQLITE_OK, pointer != nil else { throw StoreError(of: connection.handle) }
  }

  deinit { close() }

  /// Has to be called before the connection is closed.
  func close() {
    sqlite3_finalize(pointer)
    pointer = nil
  }

  /// Runs it once; gives the constraint that refused it, nil where it was done.
  func run(on connection: Connection) throws(StoreError) -> Constraint? {
    let code = sqlite3_step(pointer)
    defer { sqlite3_reset(pointer) }
    guard code & 0xFF != SQLITE_DONE, code & 0xFF != SQLITE_ROW else { return nil }
    return try connection.refusal(code)
  }
}
