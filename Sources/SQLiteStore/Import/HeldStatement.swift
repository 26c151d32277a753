// A prepared statement that stays open throughout an import, so that no lookup by its text is
// needed.

import FetchModel
import LiveFetchCSQLite
import SaveExecution

/// A prepared statement of one connection. Open until `close()`.
final class HeldStatement {
  private(set) var pointer: OpaquePointer?

  init(_ sql: String, on connection: Connection) throws(StoreError) {
    let code = sqlite3_prepare_v3(
      connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, nil)
    guard code == SQLITE_OK, pointer != nil else { throw StoreError(of: connection.handle) }
  }

  deinit { close() }

  /// Finalizes the statement. Call it before the connection is closed.
  func close() {
    sqlite3_finalize(pointer)
    pointer = nil
  }

  /// Runs the statement once. Returns the constraint that refused it, or nil on success.
  func run(on connection: Connection) throws(StoreError) -> Constraint? {
    let code = sqlite3_step(pointer)
    defer { sqlite3_reset(pointer) }
    guard code & 0xFF != SQLITE_DONE, code & 0xFF != SQLITE_ROW else { return nil }
    return try connection.refusal(code)
  }
}
