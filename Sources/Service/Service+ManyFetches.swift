// `POST /v1/live`: many fetches, one answer or one stream for all.
//
// Where everything has a token the live engine answers, as soon as one fetch has something to say.
// Where a snapshot is wanted, or a token cannot be continued, one read moment answers everything.
// Either way the whole answer is true of one moment, which its token names.

import FetchModel
import HTTPServer
import LiveQueries
import Synchronization

extension Service {
  /// `POST /v1/live`.
  func followMany(_ call: Call) throws(Problem) {
    let live = try LiveFetches(call)
    if call.wantsStream {
      call.exchange.mark(RequestKind.stream.rawValue)
      try live.checkObservable(self)
      let stream = try LiveStream(call, live.fetches)
      return call.exchange.stream(headers: EventOutput.headers + call.commonHeaders, stream)
    }
    let deadline = ContinuousClock.now + .seconds(live.wait ?? configuration.defaultWait)
    LivePoll(call, live.fetches, until: deadline).begin()
  }
}

/// A request that waits for the next change of any of its fetches.
final class LivePoll: GroupWaiter {
  private let call: Call
  private let fetches: [LiveFetches.Named]
  private let until: ContinuousClock.Instant
  /// Ends the wait; guarded, as it is set while the engine may answer already.
  private let deadline = Mutex<Deadline?>(nil)

  init(_ call: Call, _ fetches: [LiveFetches.Named], until: ContinuousClock.Instant) {
    self.call = call
    self.fetches = fetches
    self.until = until
  }

  /// Whether every fetch has a token.
  private var isResumed: Bool { fetches.allSatisfy { $0.start != nil } }

  func begin() {
    guard isResumed else { return answerAtOneMoment() }
    let starts = fetches.enumerated().compactMap { index, named in
      named.start.map { GroupFetch(index: index, plan: named.fetch.plan, since: $0) }
    }
    let engine = call.service.engine
    let wait = ContinuousClock.now.duration(to: until) / .seconds(1)
    call.exchange.onDisconnect { [weak self] in self?.end() }
    engine.follow(starts, isFinal: wait <= 0, self)
    guard wait > 0 else { return }
    let end = call.service.deadlines.schedule(after: wait) { [weak self] in
      if let self { engine.follow([], isFinal: true, self) }
    }
    deadline.withLock { $0 = end }
  }

  /// Takes the engine's answer.
  func receive(_ results: [GroupResult], at token: Token?) {
    end()
    var body = LiveAnswerBody()
    var hasExpired = false
    if let problem = call.service.replacementProblem,
      !results.contains(where: \.answer.isNews) || token == nil
    {
      return call.refuse(problem)
    }
    for result in results {
      switch result.answer {
      case .diff(let json, _, _):
        body.append(json, under: fetches[result.index].name)
        let limit = call.service.configuration.maxAnswerBytes
        if body.size > limit {
          return call.refuse(Problem.answerTooLarge(limit).of(fetch: fetches[result.index].name))
        }
      case .expired: hasExpired = true
      case .failed(let error):
        return call.refuse(Problem(error).of(fetch: fetches[result.index].name))
      }
    }
    guard hasExpired else {
      return call.respond(json: body.finish(token ?? call.service.store.newestToken))
    }
    answerAtOneMoment()
  }

  private func end() {
    _ = deadline.withLock { $0 }?.cancel()
    call.service.engine.cancel(self)
  }
}

// MARK: - One moment

extension LivePoll {
  /// Answers with what there is to say now, on a thread where that may take its time.
  private func answerAtOneMoment() {
    call.service.lanes.gather(for: call.caller) { [self] refusal in
      switch refusal {
      case .overloaded(let problem): call.refuse(problem)
      case .closed: refuse(.shuttingDown, after: .busy)
      }
    } _: { [self] in
      guard !call.exchange.isMemoryExhausted else { return call.refuse(.memoryExhausted) }
      var reading = BatchedSnapshot(fetches, in: call.service)
      do throws(StoreError) {
        let json = try call.whileAwaited { () throws(StoreError) in
          try call.service.store.readAnswers { moment throws(StoreError) in
            try reading.answer(moment)
          }
        }
        json.map { call.respond(json: $0) } ?? call.refuse(reading.tooLarge)
      } catch {
        let isStopped = error == .queryTimeout && call.service.isStopping
        refuse(isStopped ? .shuttingDown : reading.problem(error), after: error)
      }
    }
  }

  /// Refuses the call, unless the service that knows the new schema can read its snapshots.
  private func refuse(_ problem: Problem, after error: StoreError) {
    if !isResumed, call.retry(after: error) { return }
    call.refuse(call.service.replacementProblem ?? problem)
  }
}
