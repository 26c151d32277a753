// Reads the history of saves page by page, and leaves out saves that changed nothing.

import FetchModel

extension ResultTransaction {
  /// Returns at most `limit` saves after `token` that changed an object, oldest first; nil if the token
  /// has expired.
  ///
  /// Such saves have history rows: an `INSERT … ON CONFLICT DO UPDATE` that updates nothing, and in
  /// PostgreSQL an `UPDATE` with equal values.
  ///
  /// - Parameter read: Returns at most that number of saves after the token; nil if the token has expired.
  package func changes(
    after token: Token?, limit: Int,
    _ read: (Token?, Int) throws(StoreError) -> ChangeHistory?
  ) throws(StoreError) -> ChangeHistory? {
    var from: Token?
    var to = token
    var saves: [SaveRecord] = []
    var isLast = false
    while !isLast, saves.count < limit {
      let wanted = limit - saves.count
      guard
        let page = try retryingWithFewerSaves(
          wanted, { count throws(StoreError) in try read(to, count) })
      else { return nil }
      from = from ?? page.from
      to = page.to
      saves += page.saves.filter(\.isChange)
      // A page with fewer saves is the last one, or its rows were too large for more.
      isLast = page.saves.isEmpty || page.saves.count < wanted && !saves.isEmpty
    }
    guard let from, let to else { return nil }
    return ChangeHistory(from: from, to: to, saves: saves)
  }

  /// Runs `read` with at most `limit` saves. Their rows are in memory at the same time: if they are too
  /// large, it runs again with fewer saves, at least one.
  private func retryingWithFewerSaves<Result>(
    _ limit: Int, _ read: (Int) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    var limit = limit
    while limit > 1 {
      do throws(StoreError) {
        return try read(limit)
      } catch {
        guard case .answerTooLarge = error else { throw error }
        limit /= 2
      }
    }
    return try withResponseLimit(.max, overflow: nil) { () throws(StoreError) in try read(limit) }
  }
}

extension SaveRecord {
  fileprivate var isChange: Bool { !inserted.isEmpty || !updated.isEmpty || !deleted.isEmpty }
}
