// A fetch or an object that is followed: plan → subscription to the live engine → the diff since a
// token, once (poll) or for every change (stream).

import FetchModel
import LiveFetchHTTPServer
import LiveQueries

/// A fetch to follow, or one object of an entity.
struct FollowedFetch: Sendable {
  let plan: FetchPlan
  /// The only object that is followed; nil for the whole fetch.
  let object: ObjectID?
  /// nil for a stream that begins with a snapshot.
  let since: FetchRequest.Since?
  let tags: TokenTags
  /// Seconds that a poll waits; nil for the server's default.
  let wait: Double?
}

// MARK: - Plan

extension Service {
  /// - Throws: 400 if the fetch cannot be followed; 410 if the token of a poll was given under other
  ///   access rules. A stream then begins with a snapshot.
  func followed(
    _ fetch: ResolvedFetch, object: ObjectID? = nil, _ context: RequestContext
  ) throws(Problem) -> FollowedFetch {
    try checkObservable(fetch.plan)
    let last = context.wantsStream ? try context.lastEventID() : nil
    let given = last.map { .token($0) } ?? fetch.request.since
    let (since, tags) = context.admitted(given)
    if since == nil, given != nil, !context.wantsStream { throw .tokenExpired }
    return FollowedFetch(
      plan: fetch.plan, object: object, since: since, tags: tags, wait: fetch.request.wait)
  }

  /// Throws 400 if the fetch cannot be followed.
  func checkObservable(_ plan: FetchPlan) throws(Problem) {
    let isReadOnly = store.properties.isReadOnly
    if let problem = Problem(following: plan, in: store.model, isReadOnly: isReadOnly) {
      throw problem
    }
  }
}

extension RequestContext {
  /// The token of the last event that the client of a stream has received before.
  func lastEventID() throws(Problem) -> Token? {
    guard let text = request.header("Last-Event-ID") else { return nil }
    guard let token = Token(text) else { throw .badToken }
    return token
  }
}

// MARK: - Query

extension Service {
  /// Responds with the diff since the token, as soon as there is one or the wait ends.
  func poll(_ fetch: FollowedFetch, _ context: RequestContext) {
    requireObject(of: fetch, context) { [self] in
      context.exchange.setTag(RequestKind.poll.rawValue)
      context.begin(.wait)
      let wait = fetch.wait ?? configuration.defaultWait
      let waiter = FetchPoll(context.withoutBody, fetch.tags)
      engine.follow(
        fetch.plan, object: fetch.object, since: start(since: fetch.since),
        until: .now + .seconds(wait), for: context.callerID.name, waiter)
      // Both may cancel at once, which has an effect only after `follow`.
      context.endWhenCredentialExpires(waiter)
      context.exchange.onDisconnect { [engine, weak waiter] in
        if let waiter { engine.cancel(waiter) }
      }
    }
  }

  /// Responds with a stream: a snapshot unless a token is given, then a diff for each change.
  func stream(_ fetch: FollowedFetch, _ context: RequestContext) {
    requireObject(of: fetch, context) { [self] in
      let start = fetch.since.map { self.start(since: $0).start }
      context.respond(FetchStream(context, fetch, start: start))
    }
  }

  private func start(since: FetchRequest.Since?) -> LiveStart {
    if case .token(let token)? = since { .token(token) } else { .arrival(store.newestToken) }
  }

  /// Calls `body` if the object that is followed exists, or was deleted after the token. Otherwise
  /// responds with 404.
  private func requireObject(
    of fetch: FollowedFetch, _ context: RequestContext, _ body: @escaping @Sendable () -> Void
  ) {
    guard let id = fetch.object else { return body() }
    let token: Token? = if case .token(let token)? = fetch.since { token } else { nil }
    context.query { [store] queryClass throws(StoreError) in
      if try store.object(id, of: fetch.plan, queryClass: queryClass) != nil { return true }
      return try store.hadObject(id, of: fetch.plan, since: token)
    } then: { isKnown throws(Problem) in
      guard isKnown else { throw Self.noSuchObject }
      body()
    }
  }
}

extension Store {
  /// True if an object that does not exist, or that the caller may not see, was visible at `token`, or
  /// existed later for a caller who may see all, or if the token has expired: the engine then responds
  /// with that.
  fileprivate func hadObject(
    _ id: ObjectID, of plan: FetchPlan, since token: Token?
  ) throws(StoreError) -> Bool {
    guard let token else { return false }
    return try read { transaction throws(StoreError) in
      guard try transaction.validity(of: token) != .expired else { return true }
      // Another text of a number finds the row, but is no id of it.
      let rows = try transaction.rows(of: plan, ids: [id], at: .past(token.position))
      if rows[id] != nil { return true }
      // Another caller's object is none, also if it changed since.
      guard plan.definition.access == nil else { return false }
      let changes = try transaction.changes(after: token.position)
      return changes.objects[plan.definition.entity]?.contains(id) ?? false
    }
  }
}
