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

  /// The diff of `plan` from `since` on. A fetch of which nothing was touched costs one look at
  /// what was; others cost no more than their snapshot.
  public func diff(of plan: FetchPlan, since: Token) throws(StoreError) -> Answer {
    let newest = context.token
    if since == newest { return .unchanged }
    guard since.epoch == newest.epoch, since.position <= newest.position else { return .expired }
    guard try context.moment.standing(of: since) == .known else { return .expired }
    let request = FollowRequest(
      plan: plan, only: nil, since: .token(since), deadline: nil, waiter: Nobody.waiter)
    let query = LiveQuery(
      key: QueryKey(plan, only: nil), model: model, columns: nil, position: newest.position)
    let touched = try query.touchedIDs(after: since.position, context)
    guard !touched.isEmpty else { return .unchanged }
    let view = try query.view(request.viewKey, context, now: .now)
    let found = try query.rowChanges(of: touched, after: since.position, context)
    let body = try query.body(
      for: view, found.changes, from: since.position, isStep: false, context)
    return body.map { .diff($0.json(from: since)) } ?? .unchanged
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

/// Stands where a client would wait.
private final class Nobody: LiveWaiter {
  static let waiter = Nobody()
}
