// Diffs for clients that do not wait: fetches with tokens and a read transaction enter, diffs to its
// snapshot leave. No state is kept.

import FetchModel

/// The diffs of fetches to one snapshot of a store.
public struct TransactionDiffs {
  /// The result of one fetch.
  public enum Answer: Sendable, Hashable {
    /// The result is the same.
    case unchanged
    case diff(EncodedDiff)
    /// The token cannot be continued from.
    case expired
  }

  private let context: CatchUpContext
  private let model: Model

  /// Prepares diffs in `transaction`.
  public init(_ transaction: any ReadTransaction, model: Model) {
    context = CatchUpContext(transaction)
    self.model = model
  }

  /// Examines the changes since `token` once for all of `plans`, whose diffs are computed next.
  /// Otherwise each of them reads every changed object.
  ///
  /// - Parameters:
  ///   - columns: how the store compares values.
  ///   - time: how long the conditions of `plans` may be tested.
  func prepare(
    _ plans: [FetchPlan], since token: Token, columns: (any ColumnTraits)?, testing time: Duration
  ) throws(StoreError) {
    let keys = Dictionary(plans.map { (QueryKey($0, only: nil), Set<String>()) }) { $1 }
    try context.search(for: keys, after: token, in: model, columns, testing: time)
  }

  /// The diff of `plan` from `since` on. For a fetch without affected objects, only the changes are
  /// read; for others, no more than their snapshot.
  public func diff(of plan: FetchPlan, since: Token) throws(StoreError) -> Answer {
    if since == context.token { return .unchanged }
    guard try context.canContinue(from: since) else { return .expired }
    let query = LiveQuery(
      key: QueryKey(plan, only: nil), model: model, columns: nil, position: context.token.position)
    let affected = try query.affectedIDs(after: since.position, context)
    if affected.isEmpty { return .unchanged }
    context.record(affected, of: query.key, after: since.position)
    let found = try query.catchUp(
      ViewKey(plan, only: nil), from: since, context, limit: .surrounding, now: .now)
    guard let found else { return .expired }
    return found.body.map { .diff($0.diff(from: since)) } ?? .unchanged
  }
}

extension TransactionDiffs {
  /// The results of several fetches.
  public struct Found: Sendable {
    /// By the fetches' index. Fetches that exceeded the time or size limit are missing.
    public fileprivate(set) var answers: [Int: Answer] = [:]
    /// True if the size limit was reached.
    public fileprivate(set) var isFull = false
    fileprivate var size = 0

    fileprivate mutating func add(_ answer: Answer, of index: Int, upTo bytes: Int) {
      answers[index] = answer
      if case .diff(let diff) = answer { size += diff.json.count }
      isFull = size > bytes
    }
  }

  /// The diffs of `fetches`, those with the newest tokens first. The changes since a token are examined
  /// once for all fetches that start from it.
  ///
  /// - Parameters:
  ///   - columns: how the store compares values.
  ///   - time: the time limit of the call. A fetch that alone exceeds the store's limit is skipped.
  ///   - bytes: the size from which no more diffs are computed.
  ///   - willRead: receives the index of each fetch before its diff is computed.
  /// - Throws: the store's error, except timeouts.
  public func diffs(
    of fetches: [GroupFetch], columns: (any ColumnTraits)?, within time: Duration, upTo bytes: Int,
    willRead: (Int) -> Void = { _ in }
  ) throws(StoreError) -> Found {
    var found = Found()
    let end = ContinuousClock.now + time
    let together = Dictionary(grouping: fetches, by: \.since)
    for start in together.keys.sorted(by: { $0.position > $1.position }) {
      guard !found.isFull, let fetches = together[start] else { continue }
      _ = try inTime(until: end) { () throws(StoreError) in
        try prepare(
          fetches.map(\.plan), since: start, columns: columns,
          testing: ContinuousClock.now.duration(to: end) / 2)
      }
      for fetch in fetches where !found.isFull {
        willRead(fetch.index)
        let answer = try inTime(until: end) { () throws(StoreError) in
          try diff(of: fetch.plan, since: start)
        }
        if let answer { found.add(answer, of: fetch.index, upTo: bytes) }
      }
    }
    return found
  }

  /// Returns nil if the time limit is exceeded, the call's or the store's.
  private func inTime<Result>(
    until end: ContinuousClock.Instant, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    let left = ContinuousClock.now.duration(to: end)
    guard left > .zero else { return nil }
    do throws(StoreError) {
      return try context.transaction.withTimeLimit(left, body)
    } catch .queryTimeout {
      return nil
    }
  }
}
