// A range of positions → the saves in it, each folded to its effect: objects inserted, updated
// (with the changed properties) and deleted. An object inserted and deleted within one save is
// omitted.

import FetchModel
import SQLComposer
import SQLResults

extension History {
  /// Returns at most `limit` saves after `token`, oldest first; nil if the token is no longer
  /// valid. Without a token: everything in the history.
  ///
  /// O(rows changed in these saves), plus a small cost for the rows changed since.
  func changes(
    after token: Token?, limit: Int, in transaction: SQLiteReadTransaction
  ) throws(StoreError) -> ChangeHistory? {
    let connection = transaction.connection
    let newest = try newestToken(on: connection)
    if let token, try validity(of: token, on: connection) == .expired { return nil }
    let oldest = try oldestToken(epoch: newest.epoch, on: connection)
    let from = token ?? oldest ?? newest
    let saves = try SaveRange.all(after: from, upTo: newest, limit: limit, on: connection)
    let to = saves.count < limit ? newest : saves.last?.token ?? newest
    guard let last = saves.last else { return ChangeHistory(from: from, to: to, saves: []) }
    var folds = [SaveFold](repeating: SaveFold(), count: saves.count)
    for table in try tables(
      changedAfter: from.position.number, upTo: last.token.position.number, on: connection)
    {
      var save = 0
      let statement = Self.rows(of: table, after: from, upTo: last.token)
      try SaveReader(table, saves, in: transaction).fold(statement, into: &folds) { position in
        while save < saves.count - 1, position > saves[save].token.position.number { save += 1 }
        return save
      }
    }
    return ChangeHistory(from: from, to: to, saves: try transaction.records(of: saves, folds))
  }

  /// Returns the statement of a table's history rows in a range.
  private static func rows(
    of table: TrackedTable, after first: Token, upTo last: Token
  ) -> SQLFragment {
    SQLFragment(
      """
      SELECT \(HistoryLayout.position), \(table.layout.idExpression(nil)), \
      \(HistoryLayout.existed), \(SaveReader<SQLiteReadTransaction>.columns(of: table)) \
      FROM main.\(table.layout.quotedName) \
      WHERE \(HistoryLayout.position) > ? AND \(HistoryLayout.position) <= ? \
      ORDER BY \(HistoryLayout.position)
      """,
      bindings: [.integer(first.position.number), .integer(last.position.number)])
  }

  private func oldestToken(
    epoch: String, on connection: Connection
  ) throws(StoreError) -> Token? {
    try connection.first(
      "SELECT position, nonce FROM main.livefetch_position ORDER BY position LIMIT 1"
    ) {
      Token(
        epoch: epoch, position: HistoryPosition($0.integer(0)),
        nonce: UInt32(truncatingIfNeeded: $0.integer(1)))
    }
  }

  /// Returns the tracked tables with changed rows.
  func tables(
    changedAfter first: Int64, upTo last: Int64, on connection: Connection
  ) throws(StoreError) -> [TrackedTable] {
    try connection.all(
      """
      SELECT DISTINCT source FROM main.livefetch_position WHERE position > ? AND position <= ?
      ORDER BY source
      """, [.integer(first), .integer(last)]
    ) { $0.integer(0) }.compactMap(table(number:))
  }
}

extension SaveRange {
  /// Commits of other processes that are not stamped yet count as one save, at the current time.
  static func all(
    after first: Token, upTo newest: Token, limit: Int, on connection: Connection
  ) throws(StoreError) -> [SaveRange] {
    var saves = try connection.all(
      """
      SELECT s.position, p.nonce, s.at FROM main.livefetch_save AS s
      JOIN main.livefetch_position AS p USING (position)
      WHERE s.position > ? ORDER BY s.position LIMIT ?
      """, [.integer(first.position.number), .integer(Int64(max(0, limit)))]
    ) { row in
      SaveRange(
        token: Token(
          epoch: first.epoch, position: HistoryPosition(row.integer(0)),
          nonce: UInt32(truncatingIfNeeded: row.integer(1))),
        at: row.double(2))
    }
    if saves.count < limit, (saves.last?.token ?? first).position < newest.position {
      saves.append(SaveRange(token: newest, at: currentSeconds()))
    }
    return saves
  }
}
