// Searches for affected queries, and checks of their results.

import FetchModel
import Testing

@testable import LiveQueries

/// Searches and checks of routing, for a store in memory and for one on a file.
extension LiveStore {
  /// The queries that the changes after `base` may affect.
  func search(
    _ index: QueryIndex, after base: HistoryPosition,
    testingUntil latest: ContinuousClock.Instant? = nil
  ) throws -> CandidateSearch {
    try read { transaction throws(StoreError) in
      let changed = ChangedObjects(try transaction.changes(after: base), in: model)
      var search = CandidateSearch(index, changed, after: base, transaction, narrowingFrom: 1)
      search.run(testingUntil: latest)
      return search
    }
  }

  /// A query gets the same diff from its affected objects as from all objects.
  func expectEqualDiffs(
    _ search: CandidateSearch, _ query: LiveQuery, after base: HistoryPosition, _ seed: UInt64
  ) throws {
    guard let objects = search.objects(for: query) else { return }
    try read { transaction throws(StoreError) in
      let context = CatchUpContext(transaction)
      let all = try query.rowChanges(after: base, context)?.changes ?? []
      let received = try query.rowChanges(after: base, known: objects, context)?.changes ?? []
      let shown = { (changes: [RowChange]) in
        changes.filter { !$0.isSameRow }
          .map { "\($0.id) \($0.keyChange) \($0.new?.json ?? [])" }.sorted()
      }
      #expect(shown(received) == shown(all), "seed \(seed): \(query.plan)")
    }
  }
}
