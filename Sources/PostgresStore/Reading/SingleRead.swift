// One SELECT → its rows, and the position of the history that they belong to, without a transaction.
//
// The statement reads the position in its own snapshot. PostgreSQL locks the tables of a prepared
// statement before it takes that snapshot, so TRUNCATE and ALTER TABLE are seen whole.

import FetchModel

/// A read that has only one statement. Used by one thread.
final class SingleRead {
  /// The error of the statement.
  private(set) var failure: PostgresError?
  /// True if there was a second statement, which may see a later state: the read has to be repeated in
  /// a transaction.
  private(set) var needsTransaction = false
  /// The epoch of the history, if it is known.
  private let epoch: String?
  private var hasBegun = false
  private var position: (token: Token, logEnd: UInt64, isFlushed: Bool)?

  /// - Parameter epoch: the epoch of the history; nil if the statement has to read it, which takes
  ///   PostgreSQL a third more time for a fetch of 50 rows.
  init(epoch: String?) { self.epoch = epoch }

  /// The token of the statement's state; nil before it has run.
  var token: Token? {
    if position == nil { needsTransaction = true }
    return position?.token
  }

  /// The end of the log that has to be flushed before the result leaves; nil if it has been.
  var unflushedEnd: UInt64? { position.flatMap { $0.isFlushed ? nil : $0.logEnd } }

  /// Runs a SELECT and passes its rows to `body` until it returns false.
  ///
  /// - Parameters:
  ///   - statement: a SELECT with a spare column, which is NULL. PostgreSQL would take a tenth more time
  ///     to add one to its rows.
  ///   - columnCount: the number of its other columns.
  func run(
    _ statement: PostgresStatement, columnCount: Int, on connection: PostgresConnection,
    _ body: (QueryResult, Int) -> Bool
  ) throws(StoreError) {
    guard !hasBegun else {
      needsTransaction = true
      throw .failed("a second statement needs a transaction")
    }
    hasBegun = true
    let sql = positioned(statement.sql, columnCount)
    var wantsMore = true
    do throws(PostgresError) {
      try connection.stream(sql, statement.parameters) { result, row in
        if result.isNull(row, columnCount) {
          if wantsMore { wantsMore = body(result, row) }
        } else {
          position = readPosition(result, row: row, column: columnCount)
        }
        return wantsMore || position == nil
      }
    } catch {
      // The result is complete, or refused, without the other rows.
      guard wantsMore else { return }
      failure = error
      throw StoreError(reading: error)
    }
  }

  /// A SELECT whose last column is NULL, with one more row, which has the position there. With the
  /// position in each row, the fetch of 50 rows takes PostgreSQL a quarter more time.
  private func positioned(_ sql: String, _ columnCount: Int) -> String {
    """
    SELECT \(String(repeating: "NULL, ", count: columnCount))
      concat_ws(' ', pg_current_snapshot(), (pg_current_wal_insert_lsn() - '0/0')::bigint,
        pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()\
    \(epoch == nil ? ", \(HistoryEpoch.expression)) FROM livefetch.store AS s" : ")")
    UNION ALL (\(sql))
    """
  }

  private func readPosition(
    _ result: QueryResult, row: Int, column: Int
  ) -> (token: Token, logEnd: UInt64, isFlushed: Bool)? {
    let parts = result.text(row, column).split(separator: " ")
    guard parts.count >= 3, let snapshot = PostgresSnapshot(postgresText: String(parts[0])),
      let logEnd = UInt64(parts[1]),
      let epoch = epoch ?? parts.dropFirst(3).first.map({ String($0) })
    else { return nil }
    let position = PostgresPosition(epoch: epoch, snapshot: snapshot)
    return (Token(position), logEnd, parts[2] == "t")
  }
}
