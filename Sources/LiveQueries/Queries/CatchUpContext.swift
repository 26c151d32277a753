// One read transaction, with the results that several fetches share while it is open.
//
// Invariant: everything in a context refers to the same snapshot.

import FetchModel

/// A read transaction and what was already read in it.
final class CatchUpContext {
  let transaction: any ReadTransaction
  let token: Token
  private var changes: [HistoryPosition: ChangedObjects] = [:]

  init(_ transaction: any ReadTransaction) {
    self.transaction = transaction
    token = transaction.token
  }

  /// The objects that changed after `position`. The store is queried once per position.
  func changes(after position: HistoryPosition, in model: Model) throws(StoreError)
    -> ChangedObjects
  {
    if position == token.position { return ChangedObjects(ChangeSet(), in: model) }
    if let known = changes[position] { return known }
    let found = ChangedObjects(try transaction.changes(after: position), in: model)
    changes[position] = found
    return found
  }

  /// True if the store's history reaches from `token` to this snapshot.
  func canContinue(from token: Token) throws(StoreError) -> Bool {
    guard token.epoch == self.token.epoch, token.position <= self.token.position else {
      return false
    }
    return try transaction.validity(of: token) == .known
  }

  /// By caller, the number of catch-ups that exceeded their time limit in this transaction.
  private var timeouts: [String: Int] = [:]

  func recordTimeout(of caller: String) { timeouts[caller, default: 0] += 1 }

  /// The time limit of a caller's next catch-up: half of the one before if that was exceeded. A
  /// caller with very many slow fetches so takes little more than `limit` twice.
  func limit(_ limit: Duration, for caller: String) -> Duration {
    limit / (1 << min(timeouts[caller, default: 0], 20))
  }

  /// By caller, the time that catch-ups of groups' fetches took in this transaction.
  private var groupTimes: [String: Duration] = [:]

  func groupTime(of caller: String) -> Duration { groupTimes[caller, default: .zero] }

  func recordGroupTime(_ time: Duration, of caller: String) {
    groupTimes[caller, default: .zero] += time
  }

  // MARK: Searches for many fetches

  /// By position and fetch, the ids whose rows may differ; nil inside if any row may.
  private var affected: [HistoryPosition: [QueryKey: Set<ObjectID>?]] = [:]
  /// The positions for which a search ran out of time.
  private var unfinished: Set<HistoryPosition> = []
  /// Fewer fetches query the store one by one.
  private static let minSearched = 8

  /// True if a search after `position` ran out of time.
  func searchTimedOut(after position: HistoryPosition) -> Bool { unfinished.contains(position) }

  /// Examines the changes after `start` once for all fetches in `keys`, if there are enough of
  /// them and the store's history reaches back to it.
  ///
  /// - Parameters:
  ///   - keys: the fetches, and the callers of each.
  ///   - time: how long the fetches' conditions may be tested.
  ///   - callerTimes: receives the time of slow tests.
  /// - Returns: the time that `callerTimes` received.
  @discardableResult
  func search(
    for keys: [QueryKey: Set<String>], after start: Token, in model: Model,
    _ columns: (any ColumnTraits)?, testing time: Duration, _ callerTimes: CallerTimes? = nil
  ) throws(StoreError) -> Duration {
    let position = start.position
    guard keys.count >= Self.minSearched, position != token.position,
      try canContinue(from: start)
    else { return .zero }
    unfinished.insert(position)
    var index = QueryIndex()
    let queries = keys.map { key, callers in
      let query = LiveQuery(key: key, model: model, columns: columns, position: position)
      query.callers = callers
      return query
    }
    for query in queries { index.insert(query) }
    let changed = try changes(after: position, in: model)
    var search = CandidateSearch(index, changed, after: position, transaction, callerTimes)
    search.run(testingUntil: .now + time)
    guard !search.hasFailed else { return search.chargedTime }
    unfinished.remove(position)
    affected[position] = Dictionary(
      uniqueKeysWithValues: queries.map { query in
        (query.key, search.found.contains(query) ? search.objects(for: query) : .some([]))
      })
    return search.chargedTime
  }

  /// The ids of a fetch whose rows may differ from those at `position`; nil if any row may.
  func affectedIDs(of key: QueryKey, after position: HistoryPosition) -> Set<ObjectID>? {
    affected[position]?[key] ?? nil
  }

  /// Stores the ids of a fetch whose rows may differ from those at `position`.
  func record(_ ids: Set<ObjectID>, of key: QueryKey, after position: HistoryPosition) {
    affected[position, default: [:]][key] = ids
  }
}
