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
    let found = try saves(in: tables.map(\.captured), after: from.position, limit: limit)
    let tokens = self.tokens(after: from, found, history.position)
    let saves = zip(found.saves, tokens).map { SaveRange(token: $1, at: $0.at) }
    let to = saves.count < limit ? self.token : saves.last?.token ?? self.token
    var folds = [SaveFold](repeating: SaveFold(), count: saves.count)
    let numbers = found.saves.map(\.transaction)
    let places = Dictionary(uniqueKeysWithValues: zip(numbers, numbers.indices))
    let list = "{\(numbers.map { String($0) }.joined(separator: ","))}"
    for table in tables where !saves.isEmpty {
      let tracked = table.tracked
      let sql = table.captured.rowsBeforeTransactions(
        id: tracked.layout.idExpression(nil), columns: tracked.shape.columnNames)
      try SaveReader(tracked, saves, in: self).fold(
        SQLFragment(sql, bindings: [.text(list)]), into: &folds
      ) { places[$0] }
    }
    let records = zip(saves, folds).map { $1.record(of: $0) }
    return ChangeHistory(from: from, to: to, saves: records)
  }

  private struct Saves {
    /// The saves of the response, in their order.
    var saves: [(transaction: Int64, at: Double)] = []
    /// Transactions that come after these saves although their ids are smaller than one of them. A token
    /// before them must list them as in progress.
    var later: Set<Int64> = []
  }

  private func saves(
    in tables: [CapturedTable], after position: HistoryPosition, limit: Int
  ) throws(StoreError) -> Saves {
    guard !tables.isEmpty, limit > 0 else { return Saves() }
    let rows = tables.map { table in
      let columns = "livefetch_xid AS x, livefetch_seq AS s, livefetch_at AS a"
      return """
        SELECT \(columns) FROM \(table.historyName), p WHERE livefetch_xid >= p.e UNION ALL \
        SELECT \(columns) FROM \(table.historyName), p WHERE livefetch_xid = ANY (p.i)
        """
    }
    let sql = """
      WITH p AS (\(ChangeQueries.parameters)), c AS (\(rows.joined(separator: " UNION ALL "))), \
      t AS MATERIALIZED (SELECT x, max(s) AS s, min(a) AS a FROM c GROUP BY x), \
      f AS MATERIALIZED (SELECT * FROM t ORDER BY s LIMIT ?) \
      SELECT x::text::bigint, 1, extract(epoch FROM a)::float8, s FROM f UNION ALL \
      SELECT x::text::bigint, 0, 0, s FROM t \
      WHERE s > (SELECT max(s) FROM f) AND x < (SELECT x FROM f ORDER BY x DESC LIMIT 1) \
      ORDER BY 4
      """
    let bindings = ChangeQueries.bindings(position) + [.integer(Int64(limit))]
    var saves = Saves()
    try run(FetchStatement(SQLFragment(sql, bindings: bindings))) { row in
      if row.integer(1) == 0 {
        saves.later.insert(row.integer(0))
      } else if case .double(let at) = row.storedValue(2) {
        saves.saves.append((row.integer(0), at))
      }
      return true
    }
    return saves
  }

  /// Returns the token after each save.
  private func tokens(
    after from: Token, _ found: Saves, _ newest: PostgresPosition
  ) -> [Token] {
    var remaining = found.later.union(found.saves.map(\.transaction))
    var end = UInt64(clamping: from.position.number)
    return found.saves.map { save in
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
