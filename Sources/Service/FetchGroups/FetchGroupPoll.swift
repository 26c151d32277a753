// A group of fetches → one response that is true of one position of the store, which its token names.
//
// If every fetch has a token, the live engine answers as soon as one fetch has changes. If a snapshot
// is needed, or a token cannot be continued, one read transaction answers for all.

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
    let deadline = ContinuousClock.now + .seconds(group.wait ?? configuration.defaultWait)
    let poll = FetchGroupPoll(context, group.fetches, until: deadline)
    context.endsWithCredential(poll)
    poll.begin()
  }
}

/// A request that waits for the next change of any of its fetches.
final class FetchGroupPoll: GroupWaiter, CredentialHolder {
  private let context: RequestContext
  private let fetches: [FetchGroup.Named]
  private let until: ContinuousClock.Instant
  /// Ends the wait. Protected, because it is set while the engine may answer already.
  private let deadline = Mutex<Deadline?>(nil)

  init(
    _ context: RequestContext, _ fetches: [FetchGroup.Named], until: ContinuousClock.Instant
  ) {
    self.context = context
    self.fetches = fetches
    self.until = until
  }

  /// True if every fetch has a token.
  private var isResumed: Bool { fetches.allSatisfy { $0.start != nil } }

  func begin() {
    guard isResumed else { return querySnapshots() }
    context.begin(.wait)
    let starts = fetches.enumerated().compactMap { index, named in
      named.start.map { GroupFetch(index: index, plan: named.plan, since: $0) }
    }
    let engine = context.service.engine
    let wait = ContinuousClock.now.duration(to: until) / .seconds(1)
    context.exchange.onDisconnect { [weak self] in self?.end() }
    engine.follow(starts, isFinal: wait <= 0, for: context.callerID.name, self)
    guard wait > 0 else { return }
    let end = context.service.deadlines.schedule(after: wait) { [weak self] in
      if let self { engine.endWait(of: self) }
    }
    deadline.withLock { $0 = end }
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
      let newest = token ?? context.service.store.newestToken
      context.respond(json: body.finish(newest.tagged(context.tokenTag)))
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
    _ = deadline.withLock { $0 }?.cancel()
    context.service.engine.cancel(self)
  }
}

// MARK: - One read transaction

extension FetchGroupPoll {
  private func querySnapshots() {
    context.begin(.wait)
    context.service.pools.readLong(for: context.callerID) { [self] refusal in
      switch refusal {
      case .overloaded(let problem): context.refuse(problem)
      case .closed: refuse(.shuttingDown, after: .busy)
      }
    } _: { [self] in
      context.perform { () throws(Problem) in
        guard !context.exchange.isMemoryExhausted else { throw .memoryExhausted }
        context.begin(.query)
        try respondWithSnapshots()
      }
    }
  }

  private func respondWithSnapshots() throws(Problem) {
    var reading = BatchedSnapshot(fetches, context)
    do throws(StoreError) {
      let json = try context.withCancellation { () throws(StoreError) in
        try context.service.store.readResponses { transaction throws(StoreError) in
          try reading.read(transaction)
        }
      }
      context.begin(.respond)
      json.map { context.respond(json: $0) } ?? context.refuse(reading.tooLarge)
    } catch {
      let isStopped = error == .queryTimeout && context.service.isStopping
      refuse(isStopped ? .shuttingDown : reading.problem(error), after: error)
    }
  }

  /// Refuses the request, unless a service that replaces this one can read its snapshots.
  private func refuse(_ problem: Problem, after error: StoreError) {
    if !isResumed, context.retry(after: error) { return }
    context.refuse(context.service.replacementProblem ?? problem)
  }
}
