// Prunes the oldest part of the history, in steps.

import FetchModel
import SQLComposer

extension History {
  /// Deletes at most `step` of the positions beyond the retention limits, in one transaction.
  /// Returns true if more remain to delete.
  ///
  /// The newest position always stays. Positions are deleted only from the beginning, so that every
  /// remaining position is still valid as a token.
  ///
  /// - Parameters:
  ///   - size: The size of the history, as measured so far.
  ///   - noticed: The last position that the writer knows, or that all readers have read. It stays,
  ///     because later external commits are reported from there; without it the writer would find a
  ///     gap.
  func prune(
    _ retention: WriterSettings.Retention, _ size: inout HistorySize, step: Int64,
    noticed: Int64, on connection: Connection
  ) throws(StoreError) -> Bool {
    guard var bounds = try bounds(on: connection) else { return false }
    bounds.last = min(bounds.last, noticed)
    let target = try target(retention, size, bounds, on: connection)
    guard target > bounds.first else { return false }
    let end = min(target, bounds.first &+ step)
    try connection.run("BEGIN IMMEDIATE")
    do {
      try discard(before: end, on: connection)
      try connection.run("COMMIT")
    } catch {
      if !connection.isInAutocommit { try? connection.run("ROLLBACK") }
      throw error
    }
    size.discard(before: end)
    return end < target
  }

  func bounds(
    on connection: Connection
  ) throws(StoreError) -> (first: Int64, last: Int64)? {
    let bounds = try connection.first(
      """
      SELECT (SELECT min(position) FROM main.livefetch_position),
      (SELECT max(position) FROM main.livefetch_position)
      """
    ) { ($0.integer(0), $0.integer(1)) }
    return bounds
  }

  /// Returns the first position to keep.
  private func target(
    _ retention: WriterSettings.Retention, _ size: HistorySize,
    _ bounds: (first: Int64, last: Int64), on connection: Connection
  ) throws(StoreError) -> Int64 {
    let bySize = size.target(keeping: retention.bytes) ?? bounds.first
    let byCount = bounds.last &- max(0, retention.count)
    // Finds the first recent save; saves are in chronological order. After a change of the system
    // clock, rows may stay longer but are never deleted early.
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
    let numbers = try connection.all(
      "SELECT DISTINCT source FROM main.livefetch_position WHERE position <= ?", [.integer(end)]
    ) { $0.integer(0) }
    for table in numbers.compactMap(table(number:)) {
      try connection.run(
        "DELETE FROM main.\(table.layout.quotedName) WHERE \(HistoryLayout.position) <= ?",
        [.integer(end)])
    }
    try connection.run("DELETE FROM main.livefetch_position WHERE position < ?", [.integer(end)])
    try connection.run("DELETE FROM main.livefetch_save WHERE position < ?", [.integer(end)])
  }
}
