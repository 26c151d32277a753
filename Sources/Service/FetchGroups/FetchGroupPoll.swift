// A group of fetches → one response that is true of one position of the store, which its token names.
//
// If every fetch has a token, the live engine answers as soon as one fetch has changes. If a snapshot
// is needed, or a token cannot be continued, one read transaction answers for all.
//
// Promises: one deadline for the whole call, however many fetches it has. Resumed fetches that are not up
// to date by then are named with a problem.

import FetchModel
import LiveFetchHTTPServer
import LiveQueries
import Synchronization

extension Service {
  /// `POST /v1/live`.
  func follow(_ group: FetchGroup, _ context: RequestContext) throws(Problem) {
    if context.wantsStream {
      return context.respond(FetchGroupStream(context, group.fetches))
    }
    let wait = Duration.seconds(group.wait ?? configuration.defaultWait)
    let poll = FetchGroupPoll(context, group.fetches, wait: wait)
    poll.begin()
    context.endWhenCredentialExpires(poll)
  }
}

/// A request that waits for the next change of any of its fetches.
final class FetchGroupPoll: GroupWaiter, CredentialHolder {
  private let context: RequestContext
  private let fetches: [FetchGroup.Named]
  /// True if every fetch has a token.
  private let isResumed: Bool
  private let wait: Duration
  /// When the first catch-ups and snapshots end: the deadline of a query.
  private let deadline: ContinuousClock.Instant
  /// End the catch-ups and the wait. Protected, because they are set while the engine may answer already.
  private let timers = Mutex<[Deadline]>([])

  init(_ context: RequestContext, _ fetches: [FetchGroup.Named], wait: Duration) {
    isResumed = fetches.allSatisfy { $0.start != nil }
    // Another service may need the body of a request that does not wait.
    self.context = isResumed ? context.withoutBody : context
    self.fetches = fetches
    self.wait = wait
    deadline = context.deadline ?? .now + context.service.pools.timeLimit
  }

  func begin() {
    guard isResumed else { return querySnapshots() }
    context.begin(.wait)
    let starts = fetches.enumerated().compactMap { index, named in
      named.start.map { GroupFetch(index: index, plan: named.plan, since: $0) }
    }
    let engine = context.service.engine
    engine.follow(starts, mustAnswer: wait <= .zero, for: context.callerID.name, self)
    // Called at once if the client has left; a cancellation before `follow` would have no effect.
    context.exchange.onDisconnect { [weak self] in self?.end() }
    schedule(after: ContinuousClock.now.duration(to: deadline)) { engine.endCatchUps(of: $0) }
    guard wait > .zero else { return }
    schedule(after: wait) { engine.endWait(of: $0) }
    schedule(after: wait + context.service.pools.timeLimit) { engine.endCatchUps(of: $0) }
  }

  private func schedule(
    after time: Duration, _ body: @escaping @Sendable (FetchGroupPoll) -> Void
  ) {
    let timer = context.service.deadlines.schedule(after: time / .seconds(1)) { [weak self] in
      if let self { body(self) }
    }
    timers.withLock { $0.append(timer) }
  }

  func receive(_ results: [GroupResult], at token: Token?) {
    end()
    context.perform { () throws(Problem) in
      if let problem = context.service.pollProblem,
        token == nil || !results.contains(where: \.answer.hasChanges)
      {
        throw problem
      }
      guard let body = try body(of: results) else { return querySnapshots() }
      context.begin(.respond)
      context.tracker?.record(items: results.reduce(0) { $0 + ($1.answer.itemCount ?? 0) })
      let newest = token ?? context.service.store.newestToken
      context.respond(json: body.finish(newest.tagged(context.tokenTag)), at: newest)
    }
  }

  /// Returns nil if a token has expired.
  private func body(of results: [GroupResult]) throws(Problem) -> FetchGroupBody? {
    var body = FetchGroupBody()
    var hasExpired = false
    let limit = context.service.configuration.maxResponseBytes
    for result in results {
      let (name, tags) = (fetches[result.index].name, fetches[result.index].tags)
      switch result.answer {
      case .diff(let diff):
        body.append(diff.json(tags: tags), under: name)
        if body.size > limit { throw Problem.answerTooLarge(limit).of(fetch: name) }
      case .expired: hasExpired = true
      // Its client fetches it again. A fetch that is not named would count as unchanged.
      case .failed(.queryTimeout): body.append(Problem.catchUpTimedOut.json, under: name)
      case .failed(let error): throw Problem(error).of(fetch: name)
      }
    }
    return hasExpired ? nil : body
  }

  func end(_ problem: Problem) {
    end()
    context.refuse(problem)
  }

  private func end() {
    for timer in timers.withLock({ $0 }) { timer.cancel() }
    context.service.engine.cancel(self)
  }
}

// MARK: - One read transaction

extension FetchGroupPoll {
  private func querySnapshots() {
    context.begin(.wait)
    let limit = context.service.pools.timeLimit
    // A token may expire at the end of a wait.
    let end = wait > .zero ? max(deadline, ContinuousClock.now + limit / 2) : deadline
    context.service.pools.readLong(for: context.callerID, until: end) { [self] refusal in
      switch refusal {
      case .overloaded(let problem): context.refuse(problem)
      case .closed: refuse(.shuttingDown, after: .busy)
      }
    } _: { [self] in
      context.perform { () throws(Problem) in
        guard !context.exchange.isMemoryExhausted else { throw .memoryExhausted }
        context.begin(.query)
        try respondWithSnapshots(until: end)
      }
    }
  }

  private func respondWithSnapshots(until end: ContinuousClock.Instant) throws(Problem) {
    var reading = BatchedSnapshot(fetches, context)
    let time = ContinuousClock.now.duration(to: end)
    let isLate = !isResumed && time < context.service.pools.timeLimit / 2
    do throws(StoreError) {
      let body = try context.withCancellation { () throws(StoreError) in
        try context.service.store.readResponses { transaction throws(StoreError) in
          try reading.read(transaction, until: end)
        }
      }
      context.begin(.respond)
      guard let body else { return context.refuse(reading.tooLarge) }
      context.tracker?.record(items: reading.itemCount)
      context.respond(json: body.json, at: body.token)
    } catch {
      let problem: Problem =
        switch error {
        case .queryTimeout where context.service.isStopping: .shuttingDown
        case .queryTimeout where isLate: Problem(StoreError.overloaded)
        default: reading.problem(error)
        }
      refuse(problem, after: error)
    }
  }

  /// Refuses the request, unless a service that replaces this one can read its snapshots.
  private func refuse(_ problem: Problem, after error: StoreError) {
    if !isResumed, context.retry(after: error) { return }
    context.refuse(context.service.replacementProblem ?? problem)
  }
}
