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
final class LivePoll: LiveWaiter {
  private let call: Call
  private let fetches: [LiveFetches.Named]
  /// Fetches that are over, with why; then it is answered at once.
  private let ended: [EndedFetch]
  private let until: ContinuousClock.Instant
  /// Ends the wait; guarded, as it is set while the engine may answer already.
  private let deadline = Mutex<Deadline?>(nil)

  init(
    _ call: Call, _ fetches: [LiveFetches.Named], ended: [EndedFetch] = [],
    until: ContinuousClock.Instant
  ) {
    self.call = call
    self.fetches = fetches
    self.ended = ended
    self.until = until
  }

  func begin() {
    let starts = fetches.enumerated().compactMap { index, named in
      named.start.map { GroupFetch(index: index, plan: named.fetch.plan, since: $0) }
    }
    guard starts.count == fetches.count, ended.isEmpty else { return answerAtOneMoment() }
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
    if call.service.isRetired, !results.contains(where: \.answer.isNews) || token == nil {
      return move(at: token)
    }
    if results.contains(where: { call.service.isOver(after: $0.answer) }) { return move(at: nil) }
    for result in results {
      switch result.answer {
      case .diff(let json, _, _): body.append(json, under: fetches[result.index].name)
      case .expired: hasExpired = true
      case .failed(.schemaChanged):
        let reason = call.service.refusalReason(of: fetches[result.index].fetch.plan)
        body.append(reason.json, under: fetches[result.index].name)
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

/// A fetch that cannot be asked any more.
struct EndedFetch: Sendable {
  let name: String
  let reason: Problem
}

// MARK: - Another service

extension LivePoll {
  /// Has the service that follows the one that has ended go on.
  ///
  /// - Parameter token: the moment up to which there was nothing to tell; nil where that is not
  ///   known.
  private func move(at token: Token?) {
    call.service.whenSucceeded { [self] outcome in
      switch outcome {
      case .success(let service): goOn(in: service, at: token)
      case .failure(let problem): call.refuse(problem)
      }
    }
  }

  private func goOn(in service: Service, at token: Token?) {
    let old = call.service
    var fetches: [LiveFetches.Named] = []
    var ended = ended
    for named in self.fetches {
      let start = named.start.map { start -> LiveStart in
        start == .now ? .token(token ?? old.store.newestToken) : start
      }
      do throws(Problem) {
        fetches.append(try named.moved(to: service, from: start))
      } catch {
        let reason = old.refusalReason(of: named.fetch.plan)
        ended.append(EndedFetch(name: named.name, reason: reason))
      }
    }
    let call = Call(
      request: call.request, exchange: call.exchange, service: service,
      continuation: call.continuation)
    LivePoll(call, fetches, ended: ended, until: until).begin()
  }
}

// MARK: - One moment

extension LivePoll {
  /// Answers with what there is to say now, on a thread where that may take its time.
  private func answerAtOneMoment() {
    let isTaken = call.service.slowLane.run { [self] in
      var reading = MomentReading(
        fetches: fetches, ended: ended, service: call.service,
        maxBytes: call.service.configuration.maxLiveBytes)
      do throws(StoreError) {
        let json = try call.service.store.readAnswers { moment throws(StoreError) in
          try reading.answer(moment)
        }
        json.map { call.respond(json: $0) } ?? call.refuse(reading.tooLarge)
      } catch {
        call.service.isOver(after: error) ? move(at: nil) : call.refuse(reading.problem(error))
      }
    }
    guard !isTaken else { return }
    call.service.isRetired ? move(at: nil) : call.refuse(.overloaded)
  }
}

/// Reads an answer to many fetches at one moment.
private struct MomentReading {
  let fetches: [LiveFetches.Named]
  let ended: [EndedFetch]
  let service: Service
  let maxBytes: Int
  /// Which fetch is being read.
  var index = 0

  /// nil where it would be larger than an answer may be.
  mutating func answer(_ moment: any StoreMoment) throws(StoreError) -> [UInt8]? {
    let diffs = MomentDiffs(moment, model: service.store.model)
    for (token, plans) in resumed {
      try diffs.prepare(plans, since: token, columns: service.store.columns)
    }
    var body = LiveAnswerBody()
    for fetch in ended { body.append(fetch.reason.json, under: fetch.name) }
    for (index, named) in fetches.enumerated() {
      self.index = index
      guard let json = try json(of: named, diffs, moment) else { continue }
      body.append(json, under: named.name)
      if body.count > maxBytes { return nil }
    }
    return body.finish(moment.token)
  }

  /// The fetches that are asked from a token on, by that.
  private var resumed: [Token: [FetchPlan]] {
    var plans: [Token: [FetchPlan]] = [:]
    for named in fetches {
      if case .token(let token)? = named.start {
        plans[token, default: []].append(named.fetch.plan)
      }
    }
    return plans
  }

  /// A snapshot, a diff, or nil where nothing has changed.
  private func json(
    of named: LiveFetches.Named, _ diffs: MomentDiffs, _ moment: any StoreMoment
  ) throws(StoreError) -> [UInt8]? {
    switch named.start {
    case .now, .arrival: return nil
    case .token(let token):
      switch try diffs.diff(of: named.fetch.plan, since: token) {
      case .unchanged: return nil
      case .diff(let json): return json
      case .expired: break
      }
    case nil: break
    }
    return try moment.snapshot(of: named.fetch.plan).json
  }

  func problem(_ error: StoreError) -> Problem {
    fetches.indices.contains(index)
      ? Problem(error).of(fetch: fetches[index].name) : Problem(error)
  }

  var tooLarge: Problem {
    Problem(
      400, "answer-too-large", "Bad request",
      "The snapshots of these fetches have more than \(maxBytes) bytes together.",
      hint: "a stream sends them one after the other"
    ).of(fetch: fetches[index].name)
  }
}

/// `{"token":"…","results":{"a":{…}}}`
struct LiveAnswerBody {
  private var results: [UInt8] = []

  var count: Int { results.count }

  mutating func append(_ json: [UInt8], under name: String) {
    if !results.isEmpty { results.append(0x2C) }
    results.append(jsonString: name)
    results.append(0x3A)
    results.append(contentsOf: json)
  }

  func finish(_ token: Token) -> [UInt8] {
    var json: [UInt8] = []
    json.reserveCapacity(results.count + 96)
    json.append(json: "{\"token\":")
    json.append(jsonString: token.description)
    json.append(json: ",\"results\":{")
    json.append(contentsOf: results)
    json.append(json: "}}")
    return json
  }
}
