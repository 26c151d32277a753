// The history's beginning → forgotten, a step at a time.

import FetchModel

extension History {
  /// Forgets at most `step` positions beyond what is to be kept; true if there is more to forget.
  ///
  /// The newest position always stays, and whatever is forgotten is a whole beginning: a token that
  /// is still there can be continued from. One transaction.
  ///
  /// - Parameters:
  ///   - size: what the history takes, as far as it was measured.
  ///   - noticed: the last position that the writer knows of, or up to which everyone has read. It
  ///     stays: what was committed since is told from there on, and a writer that did not find it
  ///     would take that for a hole.
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
      try forget(before: end, on: connection)
      try connection.run("COMMIT")
    } catch {
      if !connection.isInAutocommit { try? connection.run("ROLLBACK") }
      throw error
    }
    size.forget(before: end)
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

  /// The first position to keep.
  private func target(
    _ retention: WriterSettings.Retention, _ size: HistorySize,
    _ bounds: (first: Int64, last: Int64), on connection: Connection
  ) throws(StoreError) -> Int64 {
    let bySize = size.target(keeping: retention.bytes) ?? bounds.first
    let byCount = bounds.last &- max(0, retention.count)
    // Reads what is too old and one more: the saves stand in the order of their time. A clock that
    // was set back or forward makes them stay longer, never go sooner.
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

  /// The row at `end` stays: its token can still be continued from. What led to it goes.
  private func forget(before end: Int64, on connection: Connection) throws(StoreError) {
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
