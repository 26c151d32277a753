// Slow catch-ups: requests that exceed the engine's time limit enter, jobs for background threads
// leave; finished jobs enter, answers leave. Clients with the same catch-up wait for one job.

import FetchModel

extension LiveQueries {
  /// True if this catch-up is not to be tried on this thread: the search for its token exceeded the time
  /// limit, a job for the same fetch from the same or a later token is running, or the fetches of its
  /// caller's groups have had their time in this transaction.
  func isSlow(_ request: FollowRequest, from: Token, _ context: CatchUpContext) -> Bool {
    if request.waiter.groupMember?.isCatchingUp == true { return false }
    if request.needsConsistentSnapshot,
      context.groupTime(of: request.caller) > configuration.timeLimit * 2
    {
      return true
    }
    if context.searchTimedOut(after: from.position), queries[request.key]?.isActive != true {
      return true
    }
    return pendingCatchUps.keys.contains {
      $0.query == request.key && from.position <= $0.from.position
    }
  }

  /// Starts or joins the background catch-up of `request`. A fetch of a group that was in the background
  /// already expires instead, so that its group is answered.
  ///
  /// - Parameters:
  ///   - from: the client's token.
  ///   - start: a later token at which the result is still the same, if known.
  mutating func continueInBackground(_ request: FollowRequest, from: Token, start: Token? = nil) {
    if isEnding { return fail(request, .busy) }
    if let member = request.waiter.groupMember, !member.beginBackground() {
      return send(.expired, to: member)
    }
    let key = CatchUpKey(query: request.key, view: request.viewKey, from: start ?? from)
    var pending = pendingCatchUps[key] ?? PendingCatchUp()
    if pending.isEmpty {
      newJobs.append(
        CatchUpJob(
          key: key, model: model, columns: columns, maxKeyBytes: configuration.maxBytes,
          caller: request.caller,
          latestStart: request.deadline.map { $0 + configuration.maxDelay },
          ticket: pending.ticket))
    }
    pending.later.append(PendingCatchUp.Waiting(request: request, from: from))
    pendingCatchUps[key] = pending
  }

  /// True while clients wait for this job.
  func isAwaited(_ finished: FinishedCatchUp) -> Bool {
    pendingCatchUps[finished.job.key]?.ticket === finished.job.ticket
  }

  /// Returns the jobs to be started, each once.
  mutating func takeNewJobs() -> [CatchUpJob] {
    defer { newJobs = [] }
    for job in newJobs { pendingCatchUps[job.key]?.begin() }
    return newJobs
  }

  /// Continues a query whose step exceeds the time limit in the background, for all of its waiters.
  ///
  /// - Parameter base: the snapshot that the query is up to date with.
  mutating func postpone(_ query: LiveQuery, at base: Token?) {
    for request in removeWaiters(of: query) {
      continueInBackground(request, from: request.since.start, start: base)
    }
  }

  /// Removes an active query and its waiters. Returns their requests, each from its client's token.
  mutating func removeWaiters(of query: LiveQuery) -> [FollowRequest] {
    var requests: [FollowRequest] = []
    for view in query.views.values {
      for ticket in view.waiters.values.flatMap(\.keys) {
        requests += registrations[ticket]?.request(ticket, at: current).map { [$0] } ?? []
        remove(ticket: ticket)
      }
      view.waiters = [:]
    }
    query.isActive = false
    index.remove(query)
    drop(query)
    return requests
  }

  /// Removes clients that wait for background catch-ups. O(clients that wait for any).
  mutating func cancelCatchUps(of waiters: Set<ObjectIdentifier>) {
    for (key, pending) in pendingCatchUps where pending.isAwaited(byAnyOf: waiters) {
      var rest = pending
      rest.remove(waiters)
      pendingCatchUps[key] = rest.isEmpty ? nil : rest
    }
    newJobs.removeAll { $0.ticket.isCancelled }
  }

  /// Answers every client that waits for a background catch-up with ``StoreError/busy``.
  mutating func endCatchUps() {
    for waiting in pendingCatchUps.values.flatMap(\.all) { fail(waiting.request, .busy) }
    pendingCatchUps = [:]
    newJobs = []
  }

  /// Answers the clients that wait for a finished job: with the diff up to the context's snapshot, or,
  /// if there is no time for that, up to the job's snapshot, so that they make progress under load.
  ///
  /// - Parameter latest: when no more queries of the store are started.
  mutating func complete(
    _ finished: FinishedCatchUp, _ context: CatchUpContext, now: ContinuousClock.Instant,
    until latest: ContinuousClock.Instant
  ) {
    let key = finished.job.key
    switch finished.outcome {
    case .expired: expireCatchUp(key)
    case .failed(let error): failCatchUp(key, error)
    case .ready(let prepared):
      let known = prepared.query.views[key.view]?.bodies[key.from.position] ?? nil
      let (callers, begin) = (pendingCatchUps[key]?.callers ?? [], ContinuousClock.now)
      let timeLeft = timeLeft(for: callers)
      guard timeLeft != .zero else { return suspendCatchUp(key) }
      defer { callerTimes.charge(begin.duration(to: .now), to: callers) }
      do throws(StoreError) {
        guard try context.canContinue(from: prepared.token) else {
          return expireCatchUp(key)
        }
        guard prepared.token == context.token || ContinuousClock.now < latest else {
          throw .queryTimeout
        }
        try serve(
          prepared, key, context, limit: limit(configuration.longTimeLimit, timeLeft), now: now)
      } catch .queryTimeout, .busy {
        if timeLeft != nil { return suspendCatchUp(key) }
        respondWithStale(key, to: prepared, known, now: now)
      } catch {
        failCatchUp(key, context.transaction.mapError(error))
      }
    }
  }

  /// Sends the diff up to the job's snapshot to the clients that waited when it started; if that is
  /// empty, continues from that snapshot. Later clients may know newer saves, so their requests are
  /// served again. Fetches of groups expire, because the answers of a group refer to one snapshot.
  private mutating func respondWithStale(
    _ key: CatchUpKey, to prepared: PreparedQuery, _ body: AnswerBody?,
    now: ContinuousClock.Instant
  ) {
    let query = prepared.query
    guard var waiting = pendingCatchUps.removeValue(forKey: key) else { return }
    guard let view = query.views[key.view] else {
      for one in waiting.all { send(.expired, to: one.request.waiter) }
      return
    }
    for member in waiting.removeGroups() { send(.expired, to: member) }
    returned += waiting.later.map(\.request)
    record(shown: prepared.token)
    guard let body else {
      for one in waiting.begun {
        continueInBackground(one.request, from: one.from, start: prepared.token)
      }
      return
    }
    view.lastUse = now
    for one in waiting.begun { send(body, of: view, from: one.from, to: one.request.waiter) }
    if query.position == prepared.token.position, queries[query.key] == nil {
      trim(query)
      keep(query)
      makeRoom(for: query, now: now)
    }
  }

  /// Reports to every client of a background catch-up that its token cannot be continued from.
  private mutating func expireCatchUp(_ key: CatchUpKey) {
    for waiting in pendingCatchUps.removeValue(forKey: key)?.all ?? [] {
      send(.expired, to: waiting.request.waiter)
    }
  }

  /// Reports an error to every client of a background catch-up.
  mutating func failCatchUp(_ key: CatchUpKey, _ error: StoreError) {
    for waiting in pendingCatchUps.removeValue(forKey: key)?.all ?? [] {
      fail(waiting.request, error)
    }
  }

  /// Reports an error to a client. A fetch of a group expires instead: the service reads it on another
  /// thread.
  private mutating func fail(_ request: FollowRequest, _ error: StoreError) {
    send(request.needsConsistentSnapshot ? .expired : .failed(error), to: request.waiter)
  }

  /// Answers the waiting clients, or registers them. If it throws, no client was answered.
  private mutating func serve(
    _ prepared: PreparedQuery, _ key: CatchUpKey, _ context: CatchUpContext, limit: Duration,
    now: ContinuousClock.Instant
  ) throws(StoreError) {
    let query = prepared.query
    let limit: CatchUpLimit = prepared.token == context.token ? .eachStep : .total(limit)
    let found = try query.catchUp(
      key.view, from: key.from, context, limit: limit, needsHistory: false, now: now)
    guard let found else { return expireCatchUp(key) }
    trim(query)
    let installed = install(query)
    guard let body = found.body else {
      installed.adopt(key.view, of: query)
      let view = try installed.view(key.view, context, now: now)
      view.lastUse = now
      guard makeRoom(for: installed, now: now) else { throw .overloaded }
      for waiting in pendingCatchUps.removeValue(forKey: key)?.all ?? [] {
        register(waiting.request, from: waiting.from, installed, view)
      }
      return
    }
    for waiting in pendingCatchUps.removeValue(forKey: key)?.all ?? [] {
      send(body, of: found.view, from: waiting.from, to: waiting.request.waiter)
    }
    makeRoom(for: installed, now: now)
  }

  /// Makes `query` the fetch's query, unless another one is active. Returns the fetch's query.
  private mutating func install(_ query: LiveQuery) -> LiveQuery {
    if let known = queries[query.key], known.isActive { return known }
    keep(query)
    return query
  }
}
