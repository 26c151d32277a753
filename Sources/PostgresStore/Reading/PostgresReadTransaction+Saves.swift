// A position → the transactions that committed after it, as saves, for `GET /v1/changes`.
//
// The order of commits is not stored. The saves are ordered by the last change that each recorded: a
// transaction that changes a row which another one has changed waits until that one ends, so its last
// change has the higher sequence number.
// The token after a save contains the saves before it and no later one, whatever their numbers.

import FetchModel
import SQLComposer
import SQLResults

extension PostgresReadTransaction {
  /// Returns at most `limit` saves after `token`, oldest first; nil if the token is no longer valid.
  /// Without a token: everything in the history. O(changes after the token).
  func history(after token: Token?, limit: Int) throws(StoreError) -> ChangeHistory? {
    guard let history else { throw .unsupported("the history of a read-only database") }
    if let token, try validity(of: token) != .known { return nil }
    let from =
      token
      ?? Token(PostgresPosition(epoch: history.position.epoch, snapshot: history.horizon))
    let tables = try changeQueries.changed(after: from.position, in: self)
    let found = try saves(in: tables.map(\.history), after: from.position, limit: limit)
    let tokens = self.tokens(after: from, found, history.position)
    let saves = zip(found.page, tokens).map { SaveRange(token: $1, at: $0.at) }
    let to = saves.count < limit ? self.token : saves.last?.token ?? self.token
    var folds = [SaveFold](repeating: SaveFold(), count: saves.count)
    let numbers = found.page.map(\.transaction)
    let places = Dictionary(uniqueKeysWithValues: zip(numbers, numbers.indices))
    let list = "{\(numbers.map { String($0) }.joined(separator: ","))}"
    for table in tables where !saves.isEmpty {
      let tracked = table.tracked
      let sql = table.history.rowsBeforeTransactions(
        id: tracked.layout.idExpression(nil), columns: tracked.tableInfo.columnNames)
      try SaveReader(tracked, saves, in: self).fold(
        SQLFragment(sql, bindings: [.text(list)]), into: &folds
      ) { places[$0] }
    }
    return ChangeHistory(from: from, to: to, saves: try records(of: saves, folds))
  }

  private struct TransactionOrder {
    /// The saves of the response, in their order.
    var page: [(transaction: Int64, at: Double)] = []
    /// Transactions that come after these saves although their ids are smaller than one of them, or than
    /// the end of the position. A token before them must list them as in progress.
    var overtaking: Set<Int64> = []
  }

  private func saves(
    in tables: [PostgresTrackedTable], after position: HistoryPosition, limit: Int
  ) throws(StoreError) -> TransactionOrder {
    guard !tables.isEmpty, limit > 0 else { return TransactionOrder() }
    let rows = tables.map { table in
      let columns = "livefetch_xid AS xid, livefetch_seq AS seq, livefetch_at AS at"
      return """
        SELECT \(columns) FROM \(table.historyName), p WHERE livefetch_xid >= p.e UNION ALL \
        SELECT \(columns) FROM \(table.historyName), p WHERE livefetch_xid = ANY (p.i)
        """
    }
    let sql = """
      WITH p AS (\(ChangeQueries.parameters)), \
      changes AS (\(rows.joined(separator: " UNION ALL "))), \
      transactions AS MATERIALIZED \
      (SELECT xid, max(seq) AS seq, min(at) AS at FROM changes GROUP BY xid), \
      page AS MATERIALIZED (SELECT * FROM transactions ORDER BY seq LIMIT ?) \
      SELECT xid::text::bigint, 1 AS is_in_page, extract(epoch FROM at)::float8, seq FROM page \
      UNION ALL SELECT xid::text::bigint, 0, 0, seq FROM transactions \
      WHERE seq > (SELECT max(seq) FROM page) \
      AND xid < (SELECT greatest(page.xid, p.e) FROM page, p ORDER BY page.xid DESC LIMIT 1) ORDER BY 4
      """
    let bindings = ChangeQueries.bindings(position) + [.integer(Int64(limit))]
    var order = TransactionOrder()
    try run(FetchStatement(SQLFragment(sql, bindings: bindings))) { row in
      if row.integer(1) == 0 {
        order.overtaking.insert(row.integer(0))
      } else if case .double(let at) = row.storedValue(2) {
        order.page.append((row.integer(0), at))
      }
      return true
    }
    return order
  }

  /// Returns the token after each save.
  private func tokens(
    after from: Token, _ found: TransactionOrder, _ newest: PostgresPosition
  ) -> [Token] {
    var remaining = found.overtaking.union(found.page.map(\.transaction))
    var end = UInt64(clamping: from.position.number)
    return found.page.map { save in
      remaining.remove(save.transaction)
      end = max(end, UInt64(clamping: save.transaction) + 1)
      let inProgress =
        newest.snapshot.inProgress.filter { $0 < end }
        + remaining.map { UInt64(clamping: $0) }.filter { $0 < end }
      return Token(
        PostgresPosition(
          epoch: newest.epoch,
          snapshot: PostgresSnapshot(end: end, inProgress: inProgress.sorted())))
    }
  }
}
