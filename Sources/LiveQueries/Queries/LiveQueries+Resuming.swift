// Resumes that take longer than others can wait: handed over to be found out elsewhere, and taken
// back. Clients that ask for the same one wait for it together.

import FetchModel

extension LiveQueries {
  /// Whether a resume of this fetch would keep the others waiting: too much was touched since, or one
  /// from a moment no earlier is being found out already.
  func isSlow(_ request: FollowRequest, from: Token, _ context: MomentContext) -> Bool {
    let key = QueryKey(request.plan, only: request.only)
    if context.isTooMuch(after: from.position), queries[key]?.isActive != true { return true }
    guard !resumes.isEmpty, !request.onlyWaits else { return false }
    return resumes.keys.contains { $0.query == key && from.position <= $0.from.position }
  }

  /// Has what `request` asks found out elsewhere. Fetches of a group have one moment together, which
  /// another one's answer cannot be of: they are told to begin anew.
  mutating func handOver(_ request: FollowRequest, from: Token) {
    if request.onlyWaits { return send(.expired, to: request.waiter) }
    if isEnding { return send(.failed(.busy), to: request.waiter) }
    let key = ResumeKey(
      query: QueryKey(request.plan, only: request.only), view: request.viewKey, from: from)
    if resumes[key] == nil {
      newResumes.append(
        ResumeJob(key: key, plan: request.plan, model: model, columns: columns))
    }
    resumes[key, default: []].append(request)
  }

  /// Has a query whose step takes too long go on elsewhere, as a resume of everyone who waits. None of
  /// them follows it together with others.
  mutating func postpone(_ query: LiveQuery) {
    for view in query.views.values {
      for (from, waiters) in view.waiters {
        for (ticket, waiter) in waiters {
          let deadline = places[ticket]?.deadline
          forget(ticket)
          guard let plan = view.plan else { continue }
          handOver(
            FollowRequest(
              plan: plan, only: query.key.only, since: .token(from), deadline: deadline,
              waiter: waiter), from: from)
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
    for (key, requests) in resumes {
      let rest = requests.filter { ObjectIdentifier($0.waiter) != waiter }
      resumes[key] = rest.isEmpty ? nil : rest
      if rest.isEmpty { newResumes.removeAll { $0.key == key } }
    }
  }

  /// Tells everyone who waits for a resume that there will be none.
  mutating func endResumes() {
    for request in resumes.values.joined() { send(.failed(.busy), to: request.waiter) }
    resumes = [:]
    newResumes = []
  }

  /// Serves who waits for a resume that was found out, at the context's moment, up to which
  /// ``catchUp(_:)`` went.
  mutating func takeBack(
    _ finished: FinishedResume, _ context: MomentContext, now: ContinuousClock.Instant
  ) {
    let key = finished.job.key
    switch finished.outcome {
    case .expired: endResume(key, .expired)
    case .failed(let error): endResume(key, .failed(error))
    case .ready(let prepared):
      do throws(StoreError) {
        if try !serve(key, prepared, context, now: now) { endResume(key, .expired) }
      } catch .queryTimeout {
        tryAgain(finished.job)
      } catch {
        endResume(key, .failed(context.moment.meaning(of: error)))
      }
    }
  }

  /// Much was saved while it was found out.
  private mutating func tryAgain(_ job: ResumeJob) {
    guard job.tries < 3, !isEnding else { return endResume(job.key, .expired) }
    var job = job
    job.tries += 1
    newResumes.append(job)
  }

  /// Gives the same answer to everyone who waits for a resume.
  mutating func endResume(_ key: ResumeKey, _ answer: LiveAnswer) {
    for request in resumes.removeValue(forKey: key) ?? [] { send(answer, to: request.waiter) }
  }

  /// Whether what was found out is of this store's history. Nobody was answered where it throws.
  private mutating func serve(
    _ key: ResumeKey, _ prepared: PreparedQuery, _ context: MomentContext,
    now: ContinuousClock.Instant
  ) throws(StoreError) -> Bool {
    guard prepared.token.epoch == context.token.epoch,
      try context.moment.standing(of: prepared.token) == .known
    else { return false }
    let query = prepared.query
    let patience = configuration.longPatience
    let body = try context.moment.within(patience) { () throws(StoreError) in
      _ = try query.advance(context)
      let view = try query.view(key.view, context, now: now)
      return try query.body(for: view, from: key.from.position, prepared.standing, context)
    }
    query.log.trim(to: configuration.maxLoggedChanges)
    let kept = adopt(query)
    let view = try context.moment.within(nil) { () throws(StoreError) in
      try kept.view(key.view, context, now: now)
    }
    view.lastUse = now
    for request in resumes.removeValue(forKey: key) ?? [] {
      if let body {
        send(body, of: view, from: key.from, to: request.waiter)
      } else {
        register(request, from: key.from, kept, view, now: now)
      }
    }
    return true
  }

  /// The query that serves the fetch from now on.
  private mutating func adopt(_ query: LiveQuery) -> LiveQuery {
    if let known = queries[query.key], known.isActive { return known }
    queries[query.key] = query
    return query
  }
}
