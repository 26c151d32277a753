// Requests to follow enter; each is answered at once if there is a diff, and registered if not.

import FetchModel

extension LiveQueries {
  /// Serves `request` from memory; returns false if the store must be read.
  ///
  /// Call it only while the engine knows of no newer snapshot.
  mutating func followFromMemory(_ request: FollowRequest, now: ContinuousClock.Instant) -> Bool {
    guard let current else { return false }
    let from = request.from(current)
    guard isKnown(from), from.position <= current.position,
      let query = queries[request.key],
      query.isActive || query.position == current.position,
      let view = query.views[request.viewKey], query.isCovered(view.key)
    else { return false }
    let body =
      query.isUnchanged(after: from.position) ? .some(nil) : view.bodies[from.position]
    switch body {
    case nil: return false
    case .some(nil): register(request, from: from, query, view)
    case .some(let body?):
      if request.needsConsistentSnapshot { return false }
      send(body, of: view, from: from, to: request.waiter)
    }
    view.lastUse = now
    return true
  }

  /// Examines the changes once for all of `requests` that start from the same token. If that fails,
  /// each request fails or succeeds by itself.
  func prepare(_ requests: [FollowRequest], _ context: CatchUpContext) {
    var keys: [Token: [QueryKey: Set<String>]] = [:]
    for request in requests where request.key.only == nil && hasTime(for: [request.caller]) {
      for start in unread(request) {
        keys[start, default: [:]][request.key, default: []].insert(request.caller)
      }
    }
    search(for: keys, context)
  }

  /// The same for finished jobs, from their snapshots.
  func prepare(_ finished: [FinishedCatchUp], _ context: CatchUpContext) {
    var keys: [Token: [QueryKey: Set<String>]] = [:]
    for catchUp in finished where catchUp.job.key.query.only == nil {
      guard hasTime(for: [catchUp.job.caller]), case .ready(let prepared) = catchUp.outcome,
        prepared.token.epoch == context.token.epoch, prepared.token != context.token
      else { continue }
      keys[prepared.token, default: [:]][catchUp.job.key.query, default: []]
        .insert(catchUp.job.caller)
    }
    // Every job needs the changes, so reading them has a time limit of its own.
    for start in keys.keys {
      _ = try? context.transaction.withTimeLimit(nil) { () throws(StoreError) in
        try context.changes(after: start.position, in: model)
      }
    }
    search(for: keys, context)
  }

  /// Examines the changes after each token once for all of its fetches, which have callers.
  private func search(
    for fetches: [Token: [QueryKey: Set<String>]], _ context: CatchUpContext
  ) {
    let end = ContinuousClock.now + configuration.longTimeLimit
    for (start, keys) in fetches {
      let (callers, begin) = (Set(keys.values.joined()), ContinuousClock.now)
      let limit = limit(begin.duration(to: end), timeLeft(for: callers))
      guard limit > .zero else { continue }
      var testTime = Duration.zero
      try? context.transaction.withTimeLimit(limit) { () throws(StoreError) in
        testTime = try context.search(
          for: keys, after: start, in: model, columns,
          testing: min(configuration.timeLimit, limit), callerTimes)
      }
      callerTimes.charge(begin.duration(to: .now) - testTime, to: callers)
    }
  }

  /// The tokens after which the store must be read for a fetch: its inactive query's and the client's.
  private func unread(_ request: FollowRequest) -> [Token] {
    var starts: [Token] = []
    let query = queries[request.key]
    if let query, !query.isActive, let rest = token(at: query.position) { starts.append(rest) }
    guard case .token(let from) = request.since, from.epoch == current?.epoch else { return starts }
    if let query,
      !passed.contains(from.position) && query.log.reaches(back: from.position)
        || query.views[request.viewKey]?.bodies[from.position] != nil
    {
      return starts
    }
    return starts + [from]
  }

  /// Serves `request` at the context's snapshot, with which ``catchUp(_:)`` is up to date.
  mutating func follow(
    _ request: FollowRequest, _ context: CatchUpContext, now: ContinuousClock.Instant
  ) {
    var (from, start): (Token?, Token?)
    let begin = ContinuousClock.now
    let timeLeft = timeLeft(for: [request.caller])
    guard timeLeft != .zero else { return suspend(request) }
    defer {
      let time = begin.duration(to: .now)
      callerTimes.charge(time, to: [request.caller])
      if request.needsConsistentSnapshot { context.recordGroupTime(time, of: request.caller) }
    }
    do throws(StoreError) {
      (from, start) = try startingTokens(request, context)
      if let from, let start, isSlow(request, from: start, context) {
        return continueInBackground(request, from: from, start: start)
      }
      let limit = limit(context.limit(configuration.timeLimit, for: request.caller), timeLeft)
      guard let from, let start,
        try follow(request, from: from, start: start, context, limit: limit, now: now)
      else { return send(.expired, to: request.waiter) }
    } catch {
      if error == .queryTimeout || error == .busy, let from {
        if error == .queryTimeout { context.recordTimeout(of: request.caller) }
        if timeLeft != nil { return suspend(request) }
        return continueInBackground(request, from: from, start: start)
      }
      send(.failed(context.transaction.mapError(error)), to: request.waiter)
    }
  }

  /// The client's token, and the one to start from, at which the result is the same; nil if the changes
  /// since then are unknown.
  private func startingTokens(
    _ request: FollowRequest, _ context: CatchUpContext
  ) throws(StoreError) -> (from: Token?, start: Token?) {
    let given = request.since.start
    if let later = request.unchangedUntil, later.epoch == given.epoch,
      later.position > given.position, try context.canContinue(from: later)
    {
      return (given, later)
    }
    let start = try startingToken(request, context)
    return (start, start)
  }

  /// The token to start from; nil if it cannot be continued from.
  private func startingToken(
    _ request: FollowRequest, _ context: CatchUpContext
  ) throws(StoreError) -> Token? {
    let from = request.from(context.token)
    if isKnown(from) { return from }
    guard from.epoch == context.token.epoch, from.position <= context.token.position else {
      return nil
    }
    guard try context.transaction.validity(of: from) == .expired else { return from }
    if case .arrival = request.since { return context.token }
    return nil
  }

  /// Answers or registers the request. Returns false if `start` cannot be continued from.
  private mutating func follow(
    _ request: FollowRequest, from: Token, start: Token, _ context: CatchUpContext,
    limit: Duration, now: ContinuousClock.Instant
  ) throws(StoreError) -> Bool {
    let query = try query(for: request, context)
    let found: CaughtUp?
    do throws(StoreError) {
      found = try query.catchUp(
        request.viewKey, from: start, context, limit: .total(limit), now: now)
    } catch {
      // A query that did not reach the snapshot is dropped.
      if query.position != context.token.position, !query.isActive { drop(query) }
      throw error
    }
    guard let found else { return false }
    trim(query)
    if let body = found.body {
      send(body, of: found.view, from: from, to: request.waiter)
      makeRoom(for: query, now: now)
    } else if let deadline = request.deadline, deadline <= now {
      let body = query.emptyBody(for: found.view, context.token)
      send(.diff(body.diff(from: from, isEmpty: true)), to: request.waiter)
      makeRoom(for: query, now: now)
    } else {
      guard makeRoom(for: query, now: now) else { throw .overloaded }
      register(request, from: from, query, found.view)
    }
    return true
  }

  /// The query of a fetch, which may be behind the context's snapshot; a fresh one if the history
  /// since its position has a gap.
  private mutating func query(
    for request: FollowRequest, _ context: CatchUpContext
  ) throws(StoreError) -> LiveQuery {
    if let query = queries[request.key] {
      if query.isActive { return query }
      if try isHistoryComplete(since: query.position, context) { return query }
    }
    let query = LiveQuery(
      key: request.key, model: model, columns: columns, position: context.token.position,
      maxKeyBytes: configuration.maxBytes)
    keep(query)
    return query
  }

  mutating func register(
    _ request: FollowRequest, from: Token, _ query: LiveQuery, _ view: LiveView
  ) {
    nextTicket += 1
    let ticket = nextTicket
    let identity = ObjectIdentifier(request.waiter)
    view.waiters[from, default: [:]][ticket] = request.waiter
    registrations[ticket] = Registration(
      query: query, view: view, from: from, waiter: identity, caller: request.caller,
      deadline: request.deadline)
    if view.plan == nil {
      view.plan = request.plan
      // In the query's memory, which all of its views share.
      view.plan?.definition = query.key.definition
    }
    tickets[identity] = ticket
    request.waiter.groupMember?.register()
    query.waiterCount += 1
    query.callers.insert(request.caller)
    if !query.isActive {
      query.isActive = true
      index.insert(query)
    }
    if let deadline = request.deadline { deadlines.insert(ticket, at: deadline) }
  }

  mutating func send(
    _ body: AnswerBody, of view: LiveView, from: Token, to waiter: any LiveWaiter
  ) {
    let origin = AnswerOrigin(view: view, from: from)
    counters.delivered += 1
    if let last = undelivered.indices.last, undelivered[last].origin == origin {
      undelivered[last].waiters.append(waiter)
    } else {
      counters.diffs += 1
      let answer = LiveAnswer.diff(body.diff(from: from))
      add(OutgoingAnswer(answer: answer, waiters: [waiter], origin: origin))
    }
  }

  mutating func send(_ answer: LiveAnswer, to waiter: any LiveWaiter) {
    add(OutgoingAnswer(answer: answer, waiters: [waiter]))
    counters.delivered += 1
  }

  /// Removes a waiter without an answer.
  mutating func cancel(_ waiter: ObjectIdentifier) { cancel([waiter]) }

  /// Removes waiters without an answer.
  mutating func cancel(_ waiters: Set<ObjectIdentifier>) {
    cancelCatchUps(of: waiters)
    for waiter in waiters {
      guard let ticket = tickets[waiter], let registration = remove(ticket) else { continue }
      deactivateIfUnused(registration.query)
    }
    if deadlines.count > 64 + 2 * registrations.count {
      deadlines.sweep { registrations[$0] != nil }
    }
  }

  /// Answers the waiters whose deadline has passed with an empty diff.
  mutating func expire(_ now: ContinuousClock.Instant) {
    expire(deadlines.removeDue(now))
  }

  /// Answers all waiters with an empty diff.
  mutating func expireAll() {
    expire(Array(registrations.keys))
    deadlines = TicketDeadlines()
  }

  private mutating func expire(_ due: [UInt64]) {
    var groups: [AnswerOrigin: (Registration, [any LiveWaiter])] = [:]
    for ticket in due {
      guard let registration = registrations[ticket] else { continue }
      let waiter = registration.view.waiters[registration.from]?[ticket]
      _ = remove(ticket)
      let group = AnswerOrigin(view: registration.view, from: registration.from)
      groups[group, default: (registration, [])].1 += waiter.map { [$0] } ?? []
    }
    for (registration, waiters) in groups.values {
      guard let current else { continue }
      let body = registration.query.emptyBody(for: registration.view, current)
      let answer = LiveAnswer.diff(body.diff(from: registration.from, isEmpty: true))
      add(OutgoingAnswer(answer: answer, waiters: waiters))
      counters.delivered += waiters.count
      deactivateIfUnused(registration.query)
    }
  }

  private mutating func remove(_ ticket: UInt64) -> Registration? {
    guard let registration = registrations[ticket] else { return nil }
    registration.view.waiters[registration.from]?[ticket] = nil
    if registration.view.waiters[registration.from]?.isEmpty == true {
      registration.view.waiters[registration.from] = nil
    }
    remove(ticket: ticket)
    return registration
  }

  /// Drops the queries and views that were not used since `time`.
  mutating func dropIdle(unusedSince time: ContinuousClock.Instant) {
    for query in Array(queries.values) {
      query.dropViews(unusedSince: time)
      if query.views.isEmpty { drop(query) } else { measure(query) }
    }
  }

  /// If the engines need more than the limit of memory, drops this engine's queries that nobody waits for,
  /// the least recently used first.
  mutating func dropUnused(except kept: LiveQuery? = nil, now: ContinuousClock.Instant) {
    guard memory.byteCount > configuration.maxBytes else { return }
    let unused = queries.values.filter { $0.waiterCount == 0 && $0 !== kept }
      .map { (query: $0, lastUse: $0.lastUse ?? now) }.sorted { $0.lastUse < $1.lastUse }
    for other in unused {
      // Somewhat less, so that the next queries fit.
      guard memory.byteCount > configuration.maxBytes / 4 * 3 else { break }
      drop(other.query)
    }
  }

  /// Keeps all queries within the limit of memory: those that nobody waits for are dropped, the least
  /// recently used first. Their clients' next requests read the changes from the history.
  ///
  /// - Parameter query: the query that has grown last. If that does not suffice, what nobody waits for
  ///   of it is dropped too.
  /// - Returns: false if no more clients may wait for it.
  @discardableResult
  mutating func makeRoom(for query: LiveQuery, now: ContinuousClock.Instant) -> Bool {
    measure(query)
    dropUnused(except: query, now: now)
    guard memory.byteCount > configuration.maxBytes else { return true }
    query.dropViews(unusedSince: now)
    if query.waiterCount == 0 { drop(query) } else { measure(query) }
    return false
  }
}

extension FollowRequest {
  var viewKey: ViewKey { ViewKey(plan, only: key.only) }

  /// The token that the client starts from.
  func from(_ current: Token) -> Token {
    switch since {
    case .token(let token): token
    case .arrival(let token):
      token.epoch == current.epoch && token.position <= current.position ? token : current
    }
  }
}
