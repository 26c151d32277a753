// History overlays that are materialized once for many queries about one past position.
//
// A query about the past computes the old values of all rows changed since (the "history overlay")
// for itself. That costs O(changed rows), however little the query reads. If many rows changed and
// several queries ask about the same position, the overlay is stored once for the rest of the read
// transaction: in a temporary table with indexes by key and link, named like the common table
// expression that it replaces. The table is dropped after the transaction.

import FetchModel

/// The overlays that a connection has materialized in its read transaction.
struct MaterializedHistory {
  /// A table's overlay, and the queries for it.
  fileprivate struct Shadow {
    /// The position of the last query, and the number of consecutive queries for it.
    var asked: Int64
    var times = 0
    /// True if many rows changed after the position; nil if unknown.
    var isLarge: Bool?
    /// The position whose values the temporary table holds, and the position up to which it is
    /// filled.
    var filled: (position: Int64, end: Int64)?
  }

  /// The minimum number of changed rows for a materialized overlay.
  var fewestRows: Int64 = 1_000
  /// The number of consecutive queries about one position that use overlays of their own first.
  var patience = 2
  fileprivate var shadows: [String: Shadow] = [:]
  /// True if a table could not be created or filled. Queries then use overlays of their own.
  fileprivate var hasFailed = false
  /// The number of positions added in one statement. Time limits are checked between statements.
  fileprivate static let step: Int64 = 2_000

  /// Resets the state after the transaction, whose end drops the tables.
  mutating func forget() { self = MaterializedHistory(fewestRows: fewestRows, patience: patience) }
}

extension SQLiteReadTransaction {
  /// Returns `.now` for the position of this transaction, otherwise `moment`.
  func settled(_ moment: Moment) -> Moment { moment == .past(token.position) ? .now : moment }

  /// Returns the statement that reads rows of a plan by id. For a past position it uses
  /// materialized overlays if these save time.
  func rowStatement(
    of plan: FetchPlan, ids: Set<ObjectID>, at moment: Moment
  ) throws(StoreError) -> FetchStatement {
    let alone = connection.rowStatements.statement(of: plan, ids: ids, at: moment, composer)
    guard case .past(let position) = moment, connection.access != .write,
      try connection.gathersPast(
        alone.shadows, of: history, after: position, upTo: token.position)
    else { return alone }
    var composer = composer
    composer.pastIsGathered = true
    return connection.rowStatements.statement(of: plan, ids: ids, at: moment, composer)
  }
}

extension Connection {
  /// True if the overlays of `layouts` are materialized for `position`.
  ///
  /// - Throws: ``StoreError/queryTimeout`` if the time limit passes first; the next query continues
  ///   from there.
  fileprivate func gathersPast(
    _ layouts: [HistoryLayout], of history: History, after position: Int64, upTo newest: Int64
  ) throws(StoreError) -> Bool {
    guard newest - position >= past.fewestRows, !past.hasFailed, !isInAutocommit else {
      return false
    }
    // Calls this for every layout, because each call counts a query.
    var isWanted = false
    for layout in layouts {
      if try isGathered(layout, wantedAfter: position) { isWanted = true }
    }
    guard isWanted else { return false }
    let missing = layouts.filter { layout in
      past.shadows[layout.table]?.filled.map { $0 != (position, newest) } ?? true
    }
    guard !missing.isEmpty else { return true }
    do throws(StoreError) {
      try writingTemporaryTables { () throws(StoreError) in
        for layout in missing { try gather(layout, of: history, after: position, upTo: newest) }
      }
    } catch .queryTimeout {
      throw .queryTimeout
    } catch {
      // For example, if there is no space for the tables: each query can still use its own overlay.
      past.hasFailed = true
      if isInAutocommit { throw error }
      return false
    }
    return true
  }

  /// True if enough queries about `position`, and enough changed rows, justify a materialized
  /// overlay.
  private func isGathered(
    _ layout: HistoryLayout, wantedAfter position: Int64
  ) throws(StoreError) -> Bool {
    var shadow = past.shadows[layout.table] ?? MaterializedHistory.Shadow(asked: position)
    defer { past.shadows[layout.table] = shadow }
    if shadow.filled?.position == position { return true }
    if shadow.asked != position {
      (shadow.asked, shadow.times, shadow.isLarge) = (position, 0, nil)
    }
    shadow.times += 1
    guard shadow.times > past.patience else { return false }
    if shadow.isLarge == nil {
      shadow.isLarge =
        try first(
          layout.touchedBeyond, [.integer(position), .integer(max(0, past.fewestRows - 1))]
        ) { _ in true } ?? false
    }
    return shadow.isLarge == true
  }

  private func gather(
    _ layout: HistoryLayout, of history: History, after position: Int64, upTo newest: Int64
  ) throws(StoreError) {
    if past.shadows[layout.table]?.filled?.position != position {
      let links = history.tables.first { $0.layout == layout }?.links.map(\.key.columns) ?? []
      past.shadows[layout.table]?.filled = nil
      try execute("DROP TABLE IF EXISTS temp.\(layout.shadowName)")
      try execute(layout.gatheredTable(indexedBy: links))
      past.shadows[layout.table, default: MaterializedHistory.Shadow(asked: position)].filled =
        (position, position)
    }
    while let end = past.shadows[layout.table]?.filled?.end, end < newest {
      guard !hasToEnd else { throw .queryTimeout }
      let next = min(end + MaterializedHistory.step, newest)
      try run(layout.gathering, [.integer(end), .integer(next)])
      past.shadows[layout.table]?.filled?.end = next
    }
  }

  /// Statements here are not interrupted: SQLite rolls back the whole transaction if a statement
  /// that writes is interrupted.
  private func writingTemporaryTables(
    _ body: () throws(StoreError) -> Void
  ) throws(StoreError) {
    try execute("PRAGMA query_only = OFF")
    watchesDeadline(false)
    defer {
      watchesDeadline(true)
      try? execute("PRAGMA query_only = ON")
    }
    try body()
  }
}
