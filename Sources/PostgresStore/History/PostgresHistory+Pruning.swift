// Removing the oldest part of the history, in batches, while other servers do the same.

extension PostgresHistory {
  /// Records the current snapshot with its time, so that ``advanceHorizon(keeping:on:)`` finds it
  /// later. At most one record a minute is kept, whatever the number of servers.
  static func mark(on connection: PostgresConnection) throws(PostgresError) {
    try connection.query(
      """
      INSERT INTO livefetch.mark (snapshot)
      SELECT pg_current_snapshot()
      WHERE NOT EXISTS (
        SELECT FROM livefetch.mark WHERE at > clock_timestamp() - interval '1 minute')
      ON CONFLICT DO NOTHING
      """)
  }

  /// Moves the horizon to the newest recorded snapshot that is older than `age`. Tokens before it
  /// expire. It never moves back.
  static func advanceHorizon(
    keeping age: Duration, on connection: PostgresConnection
  ) throws(PostgresError) {
    let seconds = PostgresValue.double(age / .seconds(1))
    try connection.withTransaction { () throws(PostgresError) in
      // The lock orders servers that do this at the same time.
      let current = try connection.query("SELECT horizon::text FROM livefetch.store FOR UPDATE")
      let found = try connection.query(
        """
        SELECT snapshot::text FROM livefetch.mark
        WHERE at < clock_timestamp() - make_interval(secs => $1) ORDER BY at DESC LIMIT 1
        """, [seconds])
      guard current.rowCount == 1, found.rowCount == 1,
        let old = PostgresSnapshot(postgresText: current.text(0, 0)),
        let new = PostgresSnapshot(postgresText: found.text(0, 0)), old.isSubset(of: new)
      else { return }
      try connection.query(
        "UPDATE livefetch.store SET horizon = $1::pg_snapshot", [.text(new.postgresText)])
      try connection.query(
        "DELETE FROM livefetch.mark WHERE at < clock_timestamp() - make_interval(secs => $1)",
        [seconds])
    }
  }

  /// Deletes at most `limit` rows of one table's history that no valid token needs. Returns the
  /// number of deleted rows: fewer than `limit` at the end. Servers that prune at the same time
  /// delete different rows and do not wait for each other.
  static func prune(
    _ table: PostgresTrackedTable, limit: Int, on connection: PostgresConnection
  ) throws(PostgresError) -> Int {
    let result = try connection.query(
      """
      DELETE FROM \(table.historyName) AS h USING (
        SELECT h.livefetch_xid AS xid, h.livefetch_seq AS seq
        FROM livefetch.store AS s, \(table.historyName) AS h
        WHERE h.livefetch_xid < pg_snapshot_xmax(s.horizon)
          AND pg_visible_in_snapshot(h.livefetch_xid, s.horizon)
        ORDER BY h.livefetch_xid, h.livefetch_seq LIMIT $1::bigint
        FOR UPDATE OF h SKIP LOCKED) AS d
      WHERE h.livefetch_xid = d.xid AND h.livefetch_seq = d.seq
      """, [.integer(Int64(limit))])
    return result.affectedRows
  }
}
