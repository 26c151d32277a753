// A fetch, a token and a read transaction enter; the diff from the token to the transaction's
// snapshot leaves. Polls, streams, groups, late readers and resumed clients all use this function,
// on the engine's thread or in the background.
//
// The query may be fresh, inactive or active: it is brought up to date first. A query that knows
// the changes since the token asks the store for nothing. O(m log n) for m changed objects.

import FetchModel

/// Identifies a catch-up: clients with equal keys get the same diff.
struct CatchUpKey: Hashable, Sendable {
  let query: QueryKey
  let view: ViewKey
  let from: Token
}

/// The result of a catch-up.
struct CaughtUp {
  let view: LiveView
  /// The diff; nil if the view's snapshot is the same.
  let body: AnswerBody?
}

/// The time limit of one catch-up.
enum CatchUpLimit {
  /// The limit that surrounds the call.
  case surrounding
  /// The store's own limit, for each step.
  case eachStep
  /// A limit for all steps together.
  case total(Duration)

  /// Runs `body` within the limit and subtracts what it took.
  mutating func run<Result>(
    _ context: CatchUpContext, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    switch self {
    case .surrounding: return try body()
    case .eachStep: return try context.transaction.withTimeLimit(nil, body)
    case .total(let limit):
      let start = ContinuousClock.now
      defer { self = .total(limit - start.duration(to: .now)) }
      return try context.transaction.withTimeLimit(limit, body)
    }
  }
}

extension LiveQuery {
  /// Brings the query up to the context's snapshot, and computes the diff of a view from `token`.
  ///
  /// - Parameter needsHistory: false if the query may answer from its own log although the store
  ///   has pruned its history meanwhile.
  /// - Returns: nil if the store's history does not reach back to the token.
  /// - Throws: ``StoreError/queryTimeout`` if `limit` is exceeded. The query is then up to date, or
  ///   as it was.
  func catchUp(
    _ key: ViewKey, from token: Token, _ context: CatchUpContext, limit: CatchUpLimit,
    needsHistory: Bool = true, now: ContinuousClock.Instant
  ) throws(StoreError) -> CaughtUp? {
    var limit = limit
    if !isActive {
      _ = try limit.run(context) { () throws(StoreError) -> [RowChange] in
        try advance(context)
      }
    }
    if needsHistory || !knowsChanges(for: key, after: token.position),
      !isUnchanged(after: token.position)
    {
      guard try context.canContinue(from: token) else { return nil }
    }
    let view = try limit.run(context) { () throws(StoreError) in
      try self.view(key, context, now: now)
    }
    view.lastUse = now
    let body = try limit.run(context) { () throws(StoreError) in
      try self.body(for: view, from: token.position, context)
    }
    return CaughtUp(view: view, body: body)
  }

  /// True if the query's own state shows that nothing relevant changed after `position`.
  func isUnchanged(after position: HistoryPosition) -> Bool {
    passed?.contains(position) != true && log.isUnchanged(after: position)
  }

  /// True if a diff from `position` on needs nothing of the store's history.
  private func knowsChanges(for key: ViewKey, after position: HistoryPosition) -> Bool {
    if let view = views[key], view.bodies[position] != nil { return true }
    if case .dictionaries = key.shape { return false }
    return self.key.expansion.isEmpty && passed?.contains(position) != true
      && log.changes(after: position) != nil
  }

  /// The diff of `view` from `position` on; nil if its snapshot is the same.
  private func body(
    for view: LiveView, from position: HistoryPosition, _ context: CatchUpContext
  ) throws(StoreError) -> AnswerBody? {
    if isUnchanged(after: position) { return nil }
    if var body = view.bodies[position] {
      // It may have been made at an earlier position; nothing relevant has changed since.
      body?.to = context.token
      return body
    }
    let changes = try changes(after: position, context)
    let body = try body(for: view, changes, from: position, isStep: false, context)
    if view.bodies.count >= 8 { view.bodies = [:] }
    view.bodies[position] = body
    return body
  }

  /// The changes after `position`: from the log, or from the store. An empty log then keeps them,
  /// for other views and for the next catch-up.
  private func changes(
    after start: HistoryPosition, _ context: CatchUpContext
  ) throws(StoreError) -> [RowChange] {
    if passed?.contains(start) != true, let logged = log.changes(after: start) { return logged }
    let found = try rowChanges(after: start, context) ?? FoundChanges(changes: [])
    // An active query that no change has affected may be at an earlier position than the client.
    if found.isWhole, log.start == position, start <= position {
      log = RowChangeLog(start: start)
      log.append(found.changes, from: start, to: position)
    }
    return found.changes
  }
}
