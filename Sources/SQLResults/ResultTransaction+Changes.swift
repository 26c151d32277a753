// The history of saves, page by page, without saves that changed nothing.

import FetchModel

extension ResultTransaction {
  /// Returns at most `limit` saves after `token` that changed an object, oldest first; nil if the token
  /// has expired.
  ///
  /// An `INSERT … ON CONFLICT DO UPDATE` that updates nothing leaves history rows, and so does PostgreSQL's
  /// `UPDATE` with equal values.
  ///
  /// - Parameter read: Returns at most a number of saves after a token.
  package func changes(
    after token: Token?, limit: Int,
    _ read: (Token?, Int) throws(StoreError) -> ChangeHistory?
  ) throws(StoreError) -> ChangeHistory? {
    guard
      var page = try retryingWithFewerSaves(
        limit, { count throws(StoreError) in try read(token, count) })
    else { return nil }
    let from = page.from
    var wanted = limit
    var saves: [SaveRecord] = []
    while true {
      saves += page.saves.filter(\.isChange)
      // Fewer saves are the last ones, or more would have been too large.
      let isPart = page.saves.count < wanted && !saves.isEmpty
      guard !page.saves.isEmpty, saves.count < limit, !isPart else { break }
      wanted = limit - saves.count
      let start = page.to
      guard
        let next = try retryingWithFewerSaves(
          wanted, { count throws(StoreError) in try read(start, count) })
      else { break }
      page = next
    }
    return ChangeHistory(from: from, to: page.to, saves: saves)
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
