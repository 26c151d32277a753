// Read transactions with their position in the history, and SQL for rows as they were at an earlier
// position.

import FetchModel
import SQLComposer

/// A position of a database: the epoch of its history and a snapshot.
struct PostgresPosition: Hashable, Sendable {
  /// Letters and digits. It changes with a restore, a promotion, a change of the schema, and a change of
  /// rows that could not be recorded.
  var epoch: String
  var snapshot: PostgresSnapshot
}

/// An open read transaction, whose statements all read the state of its position.
struct HistoryTransaction {
  let connection: PostgresConnection
  let position: PostgresPosition
  /// The history has been pruned up to this snapshot.
  let horizon: PostgresSnapshot
  /// The end of the write-ahead log when the transaction began. The log of everything that the transaction
  /// sees is before it.
  let logEnd: UInt64
  /// True if the log was flushed up to its end when the transaction began.
  let isFlushed: Bool
  /// The tables that a statement has to lock before it reads them.
  let locks: TableLocks

  static let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

  /// Runs `body` in a read transaction.
  ///
  /// - Parameter tables: the tables that `body` may read, which are locked; see ``TableLocks``.
  static func read<Result>(
    _ tables: [LockedTable], on connection: PostgresConnection,
    _ body: (HistoryTransaction) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    var hasBegun = false
    return try TableLocks.locking(tables, on: connection, unless: hasBegun) {
      lock, unlocked throws(PostgresError) in
      try connection.withReadTransaction(begin, script: lock, query: query) {
        result throws(PostgresError) in
        hasBegun = true
        return try body(try HistoryTransaction(connection, result, unlocked))
      }
    }
  }

  /// Reads the position when a transaction begins.
  private static let query = """
    SELECT \(HistoryEpoch.expression), pg_current_snapshot()::text, s.horizon::text,
      (pg_current_wal_insert_lsn() - '0/0')::bigint,
      pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()
    FROM livefetch.store AS s
    """

  private init(
    _ connection: PostgresConnection, _ result: QueryResult, _ unlocked: [LockedTable]
  ) throws(PostgresError) {
    guard result.rowCount == 1,
      let snapshot = PostgresSnapshot(postgresText: result.text(0, 1)),
      let horizon = PostgresSnapshot(postgresText: result.text(0, 2))
    else { throw .malformed("no snapshot, or too many open transactions") }
    self.connection = connection
    locks = TableLocks(connection: connection, unlocked: unlocked)
    position = PostgresPosition(epoch: result.text(0, 0), snapshot: snapshot)
    self.horizon = horizon
    logEnd = UInt64(clamping: try result.integer(0, 3))
    isFlushed = try result.bool(0, 4)
  }

  /// True if the history reaches back to a token's position.
  ///
  /// False for a later position than this transaction's: a snapshot that any server has read is contained
  /// in the later ones of all sessions, so this one belongs to a state that the database has lost.
  func contains(_ token: PostgresPosition) -> Bool {
    token.epoch == position.epoch && horizon.isSubset(of: token.snapshot)
      && token.snapshot.isSubset(of: position.snapshot)
  }
}

extension PostgresSnapshot {
  /// The snapshot's end, and the list of its transactions in progress, as parameters.
  var parameters: [PostgresValue] { [.xid(end), arrayText(inProgress)] }
}

extension PostgresTrackedTable {
  /// A common table expression: the state at a position of each row changed since, as
  /// `livefetch_existed` and the columns with their types in the table. The changes since are two
  /// ranges of the history's primary key: the rows now visible that were not visible then.
  ///
  /// The first transaction that changed a row is the one with the smallest number: a lock keeps the
  /// next one from changing it before the first one ends. Within that transaction, the row's old
  /// version is the one that the transaction did not create; if there is none, the row did not exist.
  func overlay(_ name: String, at position: HistoryPosition) -> SQLFragment {
    let columns = columns.map { column in
      let name = quoted(column.name)
      return column.tableType.map { ", \(name)::\($0) AS \(name)" } ?? ", \(name)"
    }.joined()
    return SQLFragment(
      """
      \(name) AS MATERIALIZED (
        WITH changes AS MATERIALIZED (
          SELECT * FROM \(historyName) WHERE livefetch_xid >= ?::xid8
          UNION ALL
          SELECT * FROM \(historyName) WHERE livefetch_xid = ANY (?::xid8[]))
        SELECT DISTINCT ON (\(identity())) livefetch_existed\(columns)
        FROM (
          SELECT *, min(livefetch_seq) OVER (PARTITION BY \(identity()), livefetch_xid) AS livefetch_first
          \(rowsBefore)
        ) AS first
        ORDER BY \(identity()), livefetch_first, livefetch_existed DESC, livefetch_seq)
      """, bindings: ChangeQueries.bindings(position))
  }
}

extension PostgresTrackedTable {
  /// The FROM and WHERE clauses of the rows `c` of `changes` that hold a row as it was before the transaction:
  /// no other history row of the same transaction created that version.
  ///
  /// Of each row and transaction only the changes in the first file of the table count: CLUSTER and other
  /// rewrites give every row another place, so that a version which the transaction made itself would look like
  /// one from before it. An inserted row has no old version, and NULL equals no place. PostgreSQL carries out
  /// the NOT EXISTS as an anti join, whose time grows with the number of rows and not with its square.
  private var rowsBefore: String {
    """
    FROM (SELECT *, first_value(livefetch_file) OVER (
        PARTITION BY \(identity("n")), livefetch_xid, livefetch_part
        ORDER BY livefetch_seq) AS livefetch_first_file FROM changes AS n) AS c
      WHERE livefetch_file = livefetch_first_file AND NOT EXISTS (
        SELECT FROM changes AS n WHERE n.livefetch_xid = c.livefetch_xid
          AND n.livefetch_part = c.livefetch_part AND n.livefetch_file = c.livefetch_file
          AND n.livefetch_after = c.livefetch_before)
    """
  }

  /// Returns SQL for each row that a list of transactions changed, as it was before the transaction: the
  /// transaction's number, the id, 1 if the row existed, and columns with their types in the table. The
  /// only parameter is the list.
  ///
  /// - Parameters:
  ///   - id: The SQL of the id.
  ///   - names: The names of the columns.
  func rowsBeforeTransactions(id: String, columns names: [String]) -> String {
    let columns = names.map { name in
      let type = self.columns.first { $0.name == name }?.tableType
      return ", " + quoted(name) + (type.map { "::\($0)" } ?? "")
    }.joined()
    let keys = identity("c")
    return """
      WITH changes AS MATERIALIZED (
        SELECT * FROM \(historyName) WHERE livefetch_xid = ANY (?::xid8[]))
      SELECT DISTINCT ON (livefetch_xid, \(keys))
        livefetch_xid::text::bigint, \(id), livefetch_existed::int\(columns)
      \(rowsBefore)
      ORDER BY livefetch_xid, \(keys), livefetch_existed DESC, livefetch_seq
      """
  }
}

/// The epoch of a history.
enum HistoryEpoch {
  /// SQL for the epoch, over `livefetch.store AS s`. It depends on the server, its timeline (which a
  /// promotion changes), the database, the schema (a restored dump has another object id), the nonce,
  /// and the changes that could not be recorded.
  static let expression = """
    substr(md5(concat_ws(' ', \(database), substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
      s.nonce,
      (SELECT concat(count(*), ' ', sum(seq)) FROM livefetch.hole))), 1, 12)
    """

  /// SQL for the server, the database and the schema. Transaction ids and object ids of another one mean
  /// nothing here.
  static let database = """
    concat_ws(' ', coalesce(current_setting('livefetch.database', true), \(identity)),
      'livefetch'::regnamespace::oid)
    """

  /// SQL for the server and the database. PostgreSQL reads the server's identifier from a file, which takes
  /// half as long as a fetch of 50 rows. Therefore ``setup`` reads it once for each connection.
  private static let identity = """
    (SELECT concat_ws(' ', system_identifier,
      (SELECT oid FROM pg_database WHERE datname = current_database())) FROM pg_control_system())
    """

  /// A statement for new connections. It does nothing for a role that may not read the identifier.
  static let setup = """
    DO $$BEGIN
      PERFORM set_config('livefetch.database', \(identity), false);
    EXCEPTION WHEN insufficient_privilege THEN NULL;
    END$$
    """
}
