// The history of inserted rows, written without the triggers.
//
// A row of `livefetch_position` and one of the table's history with the new key alone, exactly as
// the insert trigger writes them. The trigger that looks for rows which REPLACE takes away is not
// missed: an import never replaces.

import CSQLite
import FetchModel

/// Writes what the insert trigger would. For tables whose key is the row's number.
final class ImportLog {
  private let position: HeldStatement
  private let row: HeldStatement

  init(_ followed: FollowedTable, on connection: Connection) throws(StoreError) {
    position = try HeldStatement(
      """
      INSERT INTO main.livefetch_position(nonce, source)
      VALUES (random() & 4294967295, \(followed.number))
      """, on: connection)
    let key = followed.layout.keyColumns.map { quoted($0.history) }.joined(separator: ", ")
    row = try HeldStatement(
      """
      INSERT INTO main.\(followed.layout.quotedName)(\(HistoryLayout.position), \
      \(HistoryLayout.existed), \(key)) VALUES (last_insert_rowid(), 0, ?)
      """, on: connection)
  }

  func noteInsert(of id: Int64) throws(StoreError) {
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
