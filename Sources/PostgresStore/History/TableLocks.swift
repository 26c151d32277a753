// The locks of tables in a transaction that reads one state. TRUNCATE, and ALTER TABLE if it rewrites a
// table, show their effect also to snapshots from before their commit: the table is empty to them.
//
// A transaction locks its tables before it takes its snapshot. If another session holds or waits for an
// exclusive lock of one, or if there are many tables, each statement locks its own tables instead: it waits
// only for tables that it reads or writes.

import SQLComposer

/// The tables that a transaction has not locked yet.
struct TableLocks {
  let connection: PostgresConnection
  let unlocked: [CapturedTable]

  /// The SQLSTATE of ``statement(_:)`` if another session holds or waits for an exclusive lock.
  static let notAvailable = "55P03"
  /// The most tables that a transaction locks at its begin. The locks of all transactions share the server's
  /// memory.
  private static let most = 200

  /// A statement that locks tables before the snapshot is taken, without a wait; nil if there are none, or too
  /// many.
  static func statement(_ tables: [CapturedTable]) -> String? {
    guard (1...most).contains(tables.count) else { return nil }
    return "LOCK TABLE \(names(tables)) IN ACCESS SHARE MODE NOWAIT"
  }

  private static func names(_ tables: [CapturedTable]) -> String {
    tables.map(\.quotedName).joined(separator: ", ")
  }

  /// Locks the tables that a statement names, with or without their schema. Throws a serialization
  /// failure if the snapshot is older than a table's file: it would not show the rows that a TRUNCATE
  /// has removed since.
  func lock(for sql: String) throws(PostgresError) {
    let tables = unlocked.filter { sql.contains(quoted($0.name)) }
    guard !tables.isEmpty else { return }
    try connection.execute("LOCK TABLE \(Self.names(tables)) IN ACCESS SHARE MODE")
    let ids = tables.flatMap(\.truncated).map { String($0) }.joined(separator: ",")
    let isOld = try connection.query(
      """
      SELECT EXISTS (SELECT FROM pg_catalog.pg_class
        WHERE oid = ANY ($1::oid[]) AND relfilenode IS DISTINCT FROM pg_catalog.pg_relation_filenode(oid))
      """, [.text("{\(ids)}")])
    guard try !isOld.bool(0, 0) else {
      throw .refused(
        ServerError(sqlState: "40001", message: "a table was replaced after the snapshot"))
    }
  }
}
