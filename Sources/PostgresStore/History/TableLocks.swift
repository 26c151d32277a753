// The locks of tables in a transaction that reads one state. TRUNCATE, and ALTER TABLE if it rewrites a
// table, show their effect also to snapshots from before their commit: the table is empty to them.
//
// A transaction locks its tables before it takes its snapshot. If another session holds or waits for an
// exclusive lock of one, each statement locks its own tables instead: it waits only for tables that it reads or
// writes. The same holds for those beyond the first 200 tables and partitions. The lock of a view includes
// the tables that the view reads.
//
// A snapshot that is older than a table's file does not serve that table. If the transaction is repeated, it
// waits for the table's lock before it takes its snapshot; see ``LockPatience``.

import SQLComposer

/// A table or a view that a transaction may lock.
struct LockedTable: Hashable, Sendable {
  let oid: OID
  let name: String
  /// The number of tables that are locked with it: itself and its partitions.
  var count = 1

  /// The name with its schema, quoted.
  var quotedName: String { "\(quoted(Catalog.schema)).\(quoted(name))" }
}

extension Catalog {
  /// The tables that the connection's role can lock, then the views. PostgreSQL locks no other kinds.
  var lockable: [LockedTable] {
    let kinds: Set<CatalogTable.Kind> = [.table, .partitionedTable, .view]
    let found = tables.filter { kinds.contains($0.kind) && $0.isLockable }
    return (found.filter { $0.kind != .view } + found.filter { $0.kind == .view })
      .map { LockedTable(oid: $0.oid, name: $0.name, count: 1 + $0.leafPartitions.count) }
  }
}

/// How long a transaction waits for locks that other sessions hold.
enum LockPatience: Sendable {
  /// Until the deadline.
  case patient
  /// Before the snapshot until the deadline, and a moment in each statement: a snapshot from before the
  /// wait may not serve the table, so the transaction is repeated.
  case repeated
  /// A moment: the thread has other work, and comes back.
  case brief

  /// The longest wait before the snapshot for the tables of the transaction before, in milliseconds; 0 for
  /// no limit. The reader must be waiting when one reload ends, because the next one begins at once.
  fileprivate var limitBeforeSnapshot: Int { self == .brief ? 250 : 0 }

  /// The longest wait of a statement, in milliseconds; nil for no limit.
  fileprivate var limitOfStatement: Int? { self == .patient ? nil : 20 }
}

/// The tables that a transaction has not locked yet.
struct TableLocks {
  let connection: PostgresConnection
  let unlocked: [LockedTable]

  /// The SQLSTATEs of ``statement(_:)`` after which each statement locks its own tables: another session
  /// holds or waits for an exclusive lock, or a table has been removed, is no table any more, or may no longer
  /// be read.
  private static let refusals: Set<String> = ["55P03", "42P01", "42809", "42501"]
  /// The most tables and partitions that a transaction locks at its begin. The locks of all transactions
  /// share the server's
  /// memory.
  private static let most = 200

  /// Runs a transaction.
  ///
  /// - Parameters:
  ///   - tables: the tables that the transaction may read or write.
  ///   - connection: the connection of the transaction.
  ///   - hasBegun: true once the transaction has its snapshot, after which it is not repeated.
  ///   - transaction: receives a statement that locks tables before the snapshot is taken, and the tables
  ///     that each statement has to lock. Runs again without the first if that is refused.
  static func locking<Result>(
    _ tables: [LockedTable], on connection: PostgresConnection,
    unless hasBegun: @autoclosure () -> Bool = false,
    _ transaction: (String, [LockedTable]) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    guard !tables.isEmpty else { return try transaction("", []) }
    let replaced = connection.replacedTables
    connection.replacedTables = []
    do throws(PostgresError) {
      guard replaced.isEmpty else {
        let limit = connection.lockPatience.limitBeforeSnapshot
        let wait = statement(replaced, within: limit)
        return try transaction(wait, tables.filter { !replaced.contains($0) })
      }
      var count = 0
      let first = Array(
        tables.prefix { table in
          count += table.count
          return count <= most
        })
      let later = Array(tables.dropFirst(first.count))
      return try transaction(first.isEmpty ? "" : "\(statement(first)) NOWAIT", later)
    } catch {
      guard let state = error.sqlState, refusals.contains(state), !hasBegun() else { throw error }
      return try transaction("", tables)
    }
  }

  private static func statement(_ tables: [LockedTable]) -> String {
    "LOCK TABLE \(tables.map(\.quotedName).joined(separator: ", ")) IN ACCESS SHARE MODE"
  }

  /// Returns statements that wait for the locks of tables.
  ///
  /// - Parameter limit: the longest wait for each, in milliseconds; 0 for no limit.
  private static func statement(_ tables: [LockedTable], within limit: Int) -> String {
    """
    SET LOCAL lock_timeout = \(limit); \(statement(tables)); SET LOCAL lock_timeout TO DEFAULT
    """
  }

  /// Locks the tables that a statement names, with or without their schema. Throws a serialization
  /// failure if a lock is not free in time, or if the snapshot is older than a table's file: it would not
  /// show the rows that a TRUNCATE has removed since.
  func lock(for sql: String) throws(PostgresError) {
    let tables = unlocked.filter { sql.contains(quoted($0.name)) }
    guard !tables.isEmpty else { return }
    let limit = connection.lockPatience.limitOfStatement
    do throws(PostgresError) {
      let lock = limit.map { Self.statement(tables, within: $0) } ?? Self.statement(tables)
      try connection.execute(lock)
    } catch {
      guard limit != nil, error.isLockTimeout else { throw error }
      throw repetition(for: tables, "another session holds the lock of a table")
    }
    let ids = tables.map { String($0.oid) }.joined(separator: ",")
    guard try !connection.query(Self.isReplaced, [.text("{\(ids)}")]).bool(0, 0) else {
      throw repetition(for: tables, "a table was replaced after the snapshot")
    }
  }

  /// Returns the error after which the transaction is repeated, and then waits for `tables`.
  private func repetition(for tables: [LockedTable], _ reason: String) -> PostgresError {
    connection.replacedTables += tables
    return .server(ServerError(sqlState: "40001", message: reason))
  }

  /// True if one of the tables with the object ids `$1`, a table that inherits from one or is its partition, or
  /// a table that a view reads has been removed after the snapshot or has another file than in it. Functions
  /// with an object id read the newest catalog. Views and partitioned tables have no file.
  private static let isReplaced = """
    WITH RECURSIVE used (id) AS (
      SELECT unnest($1::oid[])
      UNION
      SELECT n.id FROM used AS u CROSS JOIN LATERAL (
        SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = u.id
        UNION ALL
        SELECT d.refobjid FROM pg_catalog.pg_rewrite AS r JOIN pg_catalog.pg_depend AS d
          ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
            AND d.refclassid = 'pg_catalog.pg_class'::regclass
        WHERE r.ev_class = u.id) AS n (id))
    SELECT EXISTS (SELECT FROM used AS u JOIN pg_catalog.pg_class AS c ON c.oid = u.id
      WHERE c.relkind IN ('r', 'p', 'v') AND (pg_catalog.pg_table_is_visible(c.oid) IS NULL
        OR c.relfilenode <> 0
          AND c.relfilenode IS DISTINCT FROM pg_catalog.pg_relation_filenode(c.oid)))
    """
}

extension PostgresConnection {
  /// Runs one attempt of a transaction, which waits for the tables that were locked or replaced in earlier ones
  /// before it takes its snapshot.
  ///
  /// - Parameter replaced: Afterwards the tables for which a repetition has to wait.
  func waiting<Result>(
    for replaced: inout [LockedTable], _ patience: LockPatience,
    _ attempt: () throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    let before = replaced
    replacedTables = before
    lockPatience = patience
    defer {
      lockPatience = .patient
      let others = replacedTables.filter { !before.contains($0) }
      replaced = replacedTables.isEmpty ? [] : before + others
      replacedTables = []
    }
    return try attempt()
  }
}
