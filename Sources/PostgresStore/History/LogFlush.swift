// Visible commits → durable ones.
//
// A transaction that committed with `synchronous_commit = off` is visible before its log record is
// written. A crash may lose it and give its number to another transaction. So what was read leaves
// the server only when the log has been flushed up to where it ended when the snapshot was taken.

extension PostgresConnection {
  /// Waits until the write-ahead log is flushed up to `end`: at once if commits are synchronous.
  ///
  /// Throws ``PostgresError/timedOut`` at the connection's deadline.
  ///
  /// - Parameter commit: commits something on another connection; needed within a transaction.
  func waitForLogFlush(
    upTo end: UInt64, commit: (() throws(PostgresError) -> Void)? = nil
  ) throws(PostgresError) {
    var round = 0
    while try flushedLog() < end {
      // The server does not flush what no commit waits for, so after a while commit something; soon if the
      // transaction is open, for which clients wait.
      if let commit, round == 1 { try commit() }
      if commit == nil, round == 3 { try commitMessage() }
      if let deadline, deadline <= .now { throw .timedOut }
      let pause = Self.flushPause(round: round)
      try withDeadline(.milliseconds(pause)) { () throws(PostgresError) in
        try waitForSocket(writing: false)
      }
      round += 1
    }
  }

  /// Commits a message, which changes nothing and makes the server flush its log.
  func commitMessage() throws(PostgresError) {
    try execute("SELECT pg_logical_emit_message(true, 'livefetch', '')")
  }

  /// The milliseconds before the log is looked at again: 1, doubled with each round up to 20.
  static func flushPause(round: Int) -> Int { min(1 << min(round, 5), 20) }

  /// The end of the flushed log. The insertion point may lie after the header of the next page,
  /// which is written together with the first record on it.
  private func flushedLog() throws(PostgresError) -> UInt64 {
    let flushed = UInt64(
      clamping: try query("SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint").integer(0, 0))
    let page: UInt64 = 8_192
    let longestHeader: UInt64 = 40
    return flushed % page == 0 ? flushed + longestHeader : flushed
  }
}
