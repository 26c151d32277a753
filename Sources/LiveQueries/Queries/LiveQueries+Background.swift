// Resumes that take longer than others can wait: handed over to be found out elsewhere, and taken
// back. Clients that ask for the same one wait for it together.

import FetchModel

extension LiveQueries {
  /// Whether a resume of this fetch would keep the others waiting: too much was touched since, or
  /// one from a moment no earlier is being found out already.
  func isSlow(_ request: FollowRequest, from: Token, _ context: CatchUpContext) -> Bool {
    let key = QueryKey(request.plan, only: request.only)
    if context.searchTimedOut(after: from.position), queries[key]?.isActive != true { return true }
    guard !resumes.isEmpty, !request.needsConsistentSnapshot else { return false }
    return resumes.keys.contains { $0.query == key && from.position <= $0.from.position }
  }

  /// Has what `request` asks found out elsewhere. Fetches of a group have one moment together,
  /// which another one's answer cannot be of: they are told to begin anew.
  ///
  /// - Parameters:
  ///   - from: the token that the client has.
  ///   - start: a later one up to which nothing happened to the fetch, where that is known.
  mutating func continueInBackground(_ request: FollowRequest, from: Token, start: Token? = nil) {
    if request.needsConsistentSnapshot { return send(.expired, to: request.waiter) }
    if isEnding { return send(.failed(.busy), to: request.waiter) }
    let key = CatchUpKey(
      query: QueryKey(request.plan, only: request.only), view: request.viewKey,
      from: start ?? from)
    var resuming = resumes[key] ?? PendingCatchUp()
    if resuming.isEmpty {
      newResumes.append(
        CatchUpJob(
          key: key, plan: request.plan, model: model, columns: columns, ticket: resuming.ticket))
    }
    resuming.later.append(PendingCatchUp.Waiting(request: request, from: from))
    resumes[key] = resuming
  }

  /// Whether somebody still waits for just this.
  func isAwaited(_ finished: FinishedCatchUp) -> Bool {
    resumes[finished.job.key]?.ticket === finished.job.ticket
  }

  /// What is to be found out elsewhere, each once.
  mutating func takeNewResumes() -> [CatchUpJob] {
    defer { newResumes = [] }
    for job in newResumes { resumes[job.key]?.begin() }
    return newResumes
  }

  /// Has a query whose step takes too long go on elsewhere, as a resume of everyone who waits;
  /// those that follow it together with others begin anew.
  ///
  /// - Parameter base: the moment that the query is true of.
  mutating func postpone(_ query: LiveQuery, at base: Token?) {
    for view in query.views.values {
      for (from, waiters) in view.waiters {
        for (ticket, waiter) in waiters {
          let deadline = places[ticket]?.deadline
          forget(ticket)
          guard let plan = view.plan else { continue }
          continueInBackground(
            FollowRequest(
              plan: plan, only: query.key.only, since: .token(from), deadline: deadline,
              waiter: waiter, needsConsistentSnapshot: waiter.groupMember != nil), from: from,
            start: base)
        }
      }
      view.waiters = [:]
    }
    query.isActive = false
    index.remove(query)
    queries[query.key] = nil
  }

  /// Forgets a client that waits for a resume.
  mutating func cancelResume(of waiter: ObjectIdentifier) {
    guard !resumes.isEmpty else { return }
    for key in Array(resumes.keys) {
      resumes[key]?.remove(waiter)
      guard resumes[key]?.isEmpty == true else { continue }
      resumes[key] = nil
      newResumes.removeAll { $0.key == key }
    }
  }

  /// Tells everyone who waits for a resume that there will be none.
  mutating func endResumes() {
    for waiting in resumes.values.flatMap(\.all) {
      send(.failed(.busy), to: waiting.request.waiter)
    }
    resumes = [:]
    newResumes = []
  }

  /// Serves who waits for a resume that was found out: with what happened up to the context's
  /// moment, to which ``catchUp(_:)`` went; or where there is no time for that, with what had
  /// happened when it was found out, so that the client gets on however much is saved.
  ///
  /// - Parameter latest: when nothing more is asked of the store here.
  mutating func complete(
    _ finished: FinishedCatchUp, _ context: CatchUpContext, now: ContinuousClock.Instant,
    until latest: ContinuousClock.Instant
  ) {
    let key = finished.job.key
    switch finished.outcome {
    case .expired: endResume(key, .expired)
    case .failed(let error): endResume(key, .failed(error))
    case .ready(let prepared):
      let known = prepared.query.views[key.view]?.bodies[key.from.position] ?? nil
      do throws(StoreError) {
        guard try context.canContinue(from: prepared.token) else { return endResume(key, .expired) }
        guard prepared.token == context.token || ContinuousClock.now < latest else {
          throw .queryTimeout
        }
        try serve(prepared, key, context, now: now)
      } catch .queryTimeout {
        respondWithStale(key, to: prepared, known, now: now)
      } catch {
        endResume(key, .failed(context.moment.meaning(of: error)))
      }
    }
  }

  /// Tells those who waited when the resume was begun what had happened by then; where that is
  /// nothing, what comes after it is found out. Those who came later may know of newer saves, and
  /// are served like anyone else.
  private mutating func respondWithStale(
    _ key: CatchUpKey, to prepared: PreparedQuery, _ body: AnswerBody?,
    now: ContinuousClock.Instant
  ) {
    let query = prepared.query
    guard let view = query.views[key.view], let waiting = resumes.removeValue(forKey: key) else {
      return
    }
    returned += waiting.later.map(\.request)
    note(shown: prepared.token)
    guard let body else {
      for one in waiting.begun {
        continueInBackground(one.request, from: one.from, start: prepared.token)
      }
      return
    }
    view.lastUse = now
    for one in waiting.begun { send(body, of: view, from: one.from, to: one.request.waiter) }
    if query.position == prepared.token.position, queries[query.key] == nil {
      query.log.trim(to: configuration.maxLoggedChanges)
      queries[query.key] = query
    }
  }

  /// Gives the same answer to everyone who waits for a resume.
  mutating func endResume(_ key: CatchUpKey, _ answer: LiveAnswer) {
    for waiting in resumes.removeValue(forKey: key)?.all ?? [] {
      send(answer, to: waiting.request.waiter)
    }
  }

  /// Answers the waiting clients, or registers them. If it throws, no client was answered.
  private mutating func serve(
    _ prepared: PreparedQuery, _ key: CatchUpKey, _ context: CatchUpContext,
    now: ContinuousClock.Instant
  ) throws(StoreError) {
    let query = prepared.query
    let limit: CatchUpLimit =
      prepared.token == context.token ? .eachStep : .total(configuration.longPatience)
    let found = try query.catchUp(
      key.view, from: key.from, context, limit: limit, needsHistory: false, now: now)
    guard let found else { return endResume(key, .expired) }
    query.log.trim(to: configuration.maxLoggedChanges)
    let installed = install(query)
    guard let body = found.body else {
      // The installed query may know fewer keys than this view needs.
      var limit = limit
      let view = try limit.run(isView: true, context) { () throws(StoreError) in
        try installed.view(key.view, context, now: now)
      }
      view.lastUse = now
      for waiting in resumes.removeValue(forKey: key)?.all ?? [] {
        register(waiting.request, from: waiting.from, installed, view, now: now)
      }
      return
    }
    for waiting in resumes.removeValue(forKey: key)?.all ?? [] {
      send(body, of: found.view, from: waiting.from, to: waiting.request.waiter)
    }
  }

  /// Makes `query` the fetch's query, unless another one is active. Returns the fetch's query.
  private mutating func install(_ query: LiveQuery) -> LiveQuery {
    if let known = queries[query.key], known.isActive { return known }
    queries[query.key] = query
    return query
  }
}
