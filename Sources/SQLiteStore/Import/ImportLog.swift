// The history of inserted rows, written without the triggers.
//
// Writes a row of `livefetch_position`, and a row of the table's history with only the new key,
// exactly as the insert trigger does. The trigger that finds the rows deleted by a REPLACE is not
// needed, because an import never replaces.

import FetchModel
import LiveFetchCSQLite
import SQLComposer

/// Writes the rows that the insert trigger would write. For tables whose key is the rowid.
final class ImportLog {
  private let position: HeldStatement
  private let row: HeldStatement

  init(_ tracked: TrackedTable, on connection: Connection) throws(StoreError) {
    position = try HeldStatement(
      """
      INSERT INTO main.livefetch_position(nonce, source)
      VALUES (random() & 4294967295, \(tracked.number))
      """, on: connection)
    let key = tracked.layout.keyColumns.map { quoted($0.history) }.joined(separator: ", ")
    row = try HeldStatement(
      """
      INSERT INTO main.\(tracked.layout.quotedName)(\(HistoryLayout.position), \
      \(HistoryLayout.existed), \(key)) VALUES (last_insert_rowid(), 0, ?)
      """, on: connection)
  }

  func recordInsert(of id: Int64) throws(StoreError) {
    sqlite3_bind_int64(row.pointer, 1, id)
    for statement in [position, row] {
      let code = sqlite3_step(statement.pointer)
      sqlite3_reset(statement.pointer)
      guard code == SQLITE_DONE else {
        throw StoreError(of: sqlite3_db_handle(statement.pointer))
      }
    }
  }

  func close() {
    position.close()
    row.close()
  }
}
