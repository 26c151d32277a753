// Diffs for clients that do not wait: everything that one call asks is answered at one moment, by
// whoever holds that moment, and nothing is kept of it.

import FetchModel

/// The diffs that lead to one moment of a store.
public struct TransactionDiffs {
  /// What is there to tell of a fetch.
  public enum Answer: Sendable, Hashable {
    /// Nothing: it is as it was.
    case unchanged
    /// The diff's JSON.
    case diff([UInt8])
    /// The token cannot be continued from.
    case expired
  }

  private let context: CatchUpContext
  private let model: Model

  public init(_ moment: any ReadTransaction, model: Model) {
    context = CatchUpContext(moment)
    self.model = model
  }

  /// Looks once at what was touched since `token` for all of `plans`, whose diffs from there are
  /// asked next: without that each reads every object that was touched.
  ///
  /// - Parameter columns: how the store compares values.
  func prepare(
    _ plans: [FetchPlan], since token: Token, columns: (any ColumnTraits)?
  ) throws(StoreError) {
    let keys = Set(plans.map { QueryKey($0, only: nil) })
    try context.search(for: keys, after: token, in: model, columns)
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
    context.note(affected, of: query.key, after: since.position)
    let found = try query.catchUp(
      ViewKey(plan, only: nil), from: since, context, limit: .surrounding, now: .now)
    guard let found else { return .expired }
    return found.body.map { .diff($0.json(from: since)) } ?? .unchanged
  }
}

extension TransactionDiffs {
  /// What there is to tell of several fetches.
  public struct Found: Sendable {
    /// By the fetches' index. There is none for a fetch that there was no time or no room for.
    public fileprivate(set) var answers: [Int: Answer] = [:]
    /// Whether there was no room for more.
    public fileprivate(set) var isFull = false
    fileprivate var size = 0

    fileprivate mutating func add(_ answer: Answer, of index: Int, upTo bytes: Int) {
      answers[index] = answer
      if case .diff(let json) = answer { size += json.count }
      isFull = size > bytes
    }
  }

  /// The diffs of `fetches` from where each is on, those first that missed least; what was touched
  /// is looked at once for those that begin together.
  ///
  /// - Parameters:
  ///   - columns: how the store compares values.
  ///   - time: how long that may take in all; what is found by then is given. A fetch that alone
  ///     takes
  ///     longer than the store lets a question take is passed over.
  ///   - bytes: beyond how many nothing more is looked for.
  ///   - asking: told the index of each fetch before the store is asked for it.
  /// - Throws: the store's error, but for the time that is over.
  public func diffs(
    of fetches: [GroupFetch], columns: (any ColumnTraits)?, within time: Duration, upTo bytes: Int,
    asking: (Int) -> Void = { _ in }
  ) throws(StoreError) -> Found {
    var found = Found()
    let end = ContinuousClock.now + time
    let together = Dictionary(grouping: fetches, by: \.since)
    for start in together.keys.sorted(by: { $0.position > $1.position }) {
      guard !found.isFull, let fetches = together[start] else { continue }
      _ = try inTime(until: end) { () throws(StoreError) in
        try prepare(fetches.map(\.plan), since: start, columns: columns)
      }
      for fetch in fetches where !found.isFull {
        asking(fetch.index)
        let answer = try inTime(until: end) { () throws(StoreError) in
          try diff(of: fetch.plan, since: start)
        }
        if let answer { found.add(answer, of: fetch.index, upTo: bytes) }
      }
    }
    return found
  }

  /// nil where the time is over, or a question's own.
  private func inTime<Result>(
    until end: ContinuousClock.Instant, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    let left = ContinuousClock.now.duration(to: end)
    guard left > .zero else { return nil }
    do throws(StoreError) {
      return try context.moment.within(left, body)
    } catch .queryTimeout {
      return nil
    }
  }
}
