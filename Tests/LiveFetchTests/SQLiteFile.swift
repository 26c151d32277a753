// A file that a test writes itself, as any other program would.

import CSQLite
import Testing

/// Runs `statements` on the file at `path`, which is made if there is none.
func sqlite(_ path: String, _ statements: String) throws {
  var database: OpaquePointer?
  defer { sqlite3_close(database) }
  try #require(sqlite3_open(path, &database) == SQLITE_OK)
  sqlite3_busy_timeout(database, 5000)
  try #require(sqlite3_exec(database, statements, nil, nil, nil) == SQLITE_OK)
}
