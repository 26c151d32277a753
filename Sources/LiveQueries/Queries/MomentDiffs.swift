// Diffs for clients that do not wait: everything that one call asks is answered at one moment, by
// whoever holds that moment, and nothing is kept of it.

import FetchModel

/// The diffs that lead to one moment of a store.
public struct MomentDiffs {
  /// What is there to tell of a fetch.
  public enum Answer: Sendable, Hashable {
    /// Nothing: it is as it was.
    case unchanged
    /// The diff's JSON.
    case diff([UInt8])
    /// The token cannot be continued from.
    case expired
  }

  private let context: MomentContext
  private let model: Model

  public init(_ moment: any LiveMoment, model: Model) {
    context = MomentContext(moment)
    self.model = model
  }

  /// Looks once at what was touched since `token` for all of `plans`, whose diffs from there are
  /// asked next: without that each reads every object that was touched.
  ///
  /// - Parameter columns: how the store compares values.
  public func prepare(
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
    let standing = try context.moment.standing(of: since, for: plan)
    guard standing != .expired else { return .expired }
    let request = FollowRequest(
      plan: plan, only: nil, since: .token(since), deadline: nil, waiter: Nobody.waiter)
    let query = LiveQuery(
      key: QueryKey(plan, only: nil), model: model, columns: nil, position: newest.position)
    let touched = try query.rowChanges(after: since.position, context) ?? []
    guard !touched.isEmpty || standing != .known else { return .unchanged }
    let view = try query.view(request.viewKey, context, now: .now)
    let changes = try query.widened(touched, standing, view, context)
    let body = try query.body(
      for: view, changes, from: since.position, isStep: false, context)
    return body.map { .diff($0.json(from: since)) } ?? .unchanged
  }
}

/// Stands where a client would wait.
private final class Nobody: LiveWaiter {
  static let waiter = Nobody()
}
