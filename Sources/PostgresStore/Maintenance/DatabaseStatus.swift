// A database → its size, its tables and its history, for `livefetch status`; and the objects in it that are not
// valid, for `livefetch check`. Neither changes the database, which may be served meanwhile.

import FetchModel
import SQLComposer

/// The sizes of a database, its tables and its history.
public struct DatabaseStatus: Sendable {
  /// The extent of the history.
  public struct HistoryExtent: Sendable {
    /// The newest token.
    public let token: Token
    /// The server's estimate of the number of rows in the history tables; 0 before its first ANALYZE.
    public let rows: Int
    /// The size of the schema `livefetch` in bytes.
    public let bytes: Int
    /// The time of the oldest change in the history, in seconds since 1970; nil without one.
    public let oldest: Double?
    /// The start of the oldest open transaction of the database, in seconds since 1970; nil without one.
    public let oldestTransaction: Double?
  }

  /// The version of the server.
  public let serverVersion: String
  /// The size of the database in bytes.
  public let bytes: Int
  /// The tables, without their partitions, and the server's estimates of their numbers of rows; 0 before
  /// its first ANALYZE.
  public let tables: [(name: String, rows: Int)]
  /// The history; nil if the database is not tracked.
  public let history: HistoryExtent?
}

extension PostgresStore {
  private static let schema = literal(Catalog.schema)

  /// Reads the status of a database without changing it.
  ///
  /// - Parameter target: as for ``init(_:options:)``.
  public static func status(_ target: String) throws(StoreError) -> DatabaseStatus {
    try connected(target) { connection throws(PostgresError) in
      let database = try connection.query(
        "SELECT current_setting('server_version'), pg_database_size(current_database())")
      let tables = try connection.query(
        """
        SELECT c.relname::text, CASE c.relkind WHEN 'r' THEN greatest(c.reltuples, 0)::bigint
          ELSE (SELECT coalesce(sum(greatest(l.reltuples, 0)), 0)::bigint
            FROM pg_partition_tree(c.oid) AS p JOIN pg_class AS l ON l.oid = p.relid WHERE p.isleaf) END
        FROM pg_class AS c WHERE c.relnamespace = \(schema)::regnamespace
          AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname
        """)
      return DatabaseStatus(
        serverVersion: database.text(0, 0), bytes: Int(try database.integer(0, 1)),
        tables: try (0..<tables.rowCount).map { row throws(PostgresError) in
          (name: tables.text(row, 0), rows: Int(try tables.integer(row, 1)))
        },
        history: try history(connection))
    }
  }

  /// Reads the extent of the history; nil if the database has none.
  static func history(
    _ connection: PostgresConnection
  ) throws(PostgresError) -> DatabaseStatus.HistoryExtent? {
    let exists = try connection.query("SELECT to_regclass('livefetch.store') IS NOT NULL")
    guard try exists.bool(0, 0) else { return nil }
    let position = try HistoryTransaction.read([], on: connection) {
      transaction throws(PostgresError) in transaction.position
    }
    let extent = try connection.query(
      """
      SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint,
        coalesce(sum(greatest(reltuples, 0)) FILTER (WHERE relname ~ '^history_'), 0)::bigint,
        (SELECT extract(epoch FROM min(at))::float8 FROM livefetch.mark),
        (SELECT extract(epoch FROM min(xact_start))::float8 FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid())
      FROM pg_class WHERE relnamespace = 'livefetch'::regnamespace AND relkind = 'r'
      """
    ).rows()
    guard let row = extent.first else { return nil }
    func seconds(_ value: PostgresValue) -> Double? {
      if case .double(let seconds) = value { seconds } else { nil }
    }
    func integer(_ value: PostgresValue) -> Int {
      if case .integer(let integer) = value { Int(integer) } else { 0 }
    }
    var oldest = seconds(row[2])
    if oldest == nil { oldest = try oldestChange(connection) }
    return DatabaseStatus.HistoryExtent(
      token: Token(position), rows: integer(row[1]), bytes: integer(row[0]), oldest: oldest,
      oldestTransaction: seconds(row[3]))
  }

  /// Returns the time of the first transaction in the history tables, in seconds since 1970; nil without one.
  /// Needed for a new history, which has no row in `livefetch.mark` for about a minute.
  private static func oldestChange(
    _ connection: PostgresConnection
  ) throws(PostgresError) -> Double? {
    let tables = try connection.query(
      """
      SELECT relname::text FROM pg_class
      WHERE relnamespace = 'livefetch'::regnamespace AND relkind = 'r' AND relname ~ '^history_'
      """)
    guard tables.rowCount > 0 else { return nil }
    let firsts = (0..<tables.rowCount).map { row in
      "(SELECT livefetch_at FROM livefetch.\(quoted(tables.text(row, 0))) "
        + "ORDER BY livefetch_xid, livefetch_seq LIMIT 1)"
    }
    let oldest = try connection.query(
      """
      SELECT extract(epoch FROM min(livefetch_at))::float8
      FROM (\(firsts.joined(separator: " UNION ALL "))) AS h
      """)
    if case .double(let seconds) = try oldest.value(0, 0) { return seconds }
    return nil
  }

  /// Returns a line for each constraint and index that is not valid, and for a history that does not fit the
  /// tables.
  ///
  /// - Parameter target: as for ``init(_:options:)``.
  public static func check(_ target: String) throws(StoreError) -> [String] {
    try connected(target) { connection throws(PostgresError) in
      let found = try connection.query(
        """
        SELECT format('constraint: %s of %s is not validated', conname, conrelid::regclass)
        FROM pg_constraint
        WHERE NOT convalidated AND connamespace = \(schema)::regnamespace
        UNION ALL
        SELECT format('index: %s of %s is not valid', indexrelid::regclass, indrelid::regclass)
        FROM pg_index JOIN pg_class AS c ON c.oid = indrelid
        WHERE NOT indisvalid AND c.relnamespace = \(schema)::regnamespace
        ORDER BY 1
        """)
      var findings = (0..<found.rowCount).map { found.text($0, 0) }
      let exists = try connection.query("SELECT to_regclass('livefetch.store') IS NOT NULL")
      if try exists.bool(0, 0), try !PostgresHistory.isIntact(on: connection) {
        findings.append(
          "history: it does not fit the tables; the next start of a server begins a new one")
      }
      return findings
    }
  }
}
