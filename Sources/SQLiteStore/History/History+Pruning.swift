// Prunes the oldest part of the history, in steps.

import FetchModel
import SQLComposer

extension History {
  /// Deletes at most `step` of the positions beyond the retention limits, in one transaction.
  /// Returns true if more remain to delete. O(deleted rows).
  ///
  /// The newest position always stays. The oldest positions are deleted first, so that every
  /// remaining position is still valid as a token.
  ///
  /// - Parameters:
  ///   - retention: The limits.
  ///   - size: The measured size of the history. The deleted part is subtracted.
  ///   - step: The largest number of positions to delete.
  ///   - lastRead: The last position that the writer knows, or that all readers have read. It stays,
  ///     because later external commits are reported from there; without it the writer would find a
  ///     gap.
  /// - Throws: ``StoreError`` if SQLite fails. The transaction is then rolled back.
  func prune(
    to retention: WriterSettings.Retention, size: inout HistorySize, step: Int64,
    keepingFrom lastRead: Int64, on connection: Connection
  ) throws(StoreError) -> Bool {
    guard var bounds = try bounds(on: connection) else { return false }
    bounds.last = min(bounds.last, lastRead)
    let firstKept = try firstPositionToKeep(
      under: retention, size: size, within: bounds, on: connection)
    guard firstKept > bounds.first else { return false }
    let end = min(firstKept, bounds.first &+ step)
    try connection.transaction { () throws(StoreError) in
      try discard(before: end, on: connection)
    }
    size.discard(before: end)
    return end < firstKept
  }

  /// Returns the oldest and the newest position of the history.
  func bounds(
    on connection: Connection
  ) throws(StoreError) -> (first: Int64, last: Int64)? {
    try connection.first(
      """
      SELECT (SELECT min(position) FROM main.livefetch_position),
      (SELECT max(position) FROM main.livefetch_position)
      """
    ) { ($0.integer(0), $0.integer(1)) }
  }

  private func firstPositionToKeep(
    under retention: WriterSettings.Retention, size: HistorySize,
    within bounds: (first: Int64, last: Int64), on connection: Connection
  ) throws(StoreError) -> Int64 {
    let bySize = size.firstPosition(keepingAtMost: retention.bytes) ?? bounds.first
    let byCount = bounds.last &- max(0, retention.count)
    // The first recent save. Saves are in chronological order. After a change of the system clock,
    // rows may stay longer but are never deleted early.
    let firstRecent = try connection.first(
      "SELECT position FROM main.livefetch_save WHERE at >= ? ORDER BY position LIMIT 1",
      [.double(steadySeconds() - retention.age)]
    ) { $0.integer(0) }
    let byAge = try connection.first(
      "SELECT max(position) FROM main.livefetch_save WHERE position < ?",
      [.integer(firstRecent ?? .max)]
    ) { $0.integer(0) }
    return min(bounds.last, max(byCount, bySize, byAge ?? bounds.first))
  }

  /// Deletes the rows before `end`. The row at `end` stays, so that its token remains valid.
  private func discard(before end: Int64, on connection: Connection) throws(StoreError) {
    let tableNumbers = try connection.all(
      "SELECT DISTINCT source FROM main.livefetch_position WHERE position <= ?", [.integer(end)]
    ) { $0.integer(0) }
    for table in tableNumbers.compactMap(table(number:)) {
      try connection.run(
        "DELETE FROM main.\(table.layout.quotedName) WHERE \(HistoryLayout.position) <= ?",
        [.integer(end)])
    }
    try connection.run("DELETE FROM main.livefetch_position WHERE position < ?", [.integer(end)])
    try connection.run("DELETE FROM main.livefetch_save WHERE position < ?", [.integer(end)])
  }
}
