// Requests that wait for a change: the diff since a token, once or as a stream.

import FetchModel
import HTTPServer
import LiveQueries
import Threads

extension Service {
  /// Answers with the diff since the request's token, as soon as there is one or the wait is over.
  func follow(_ call: Call, _ fetch: ResolvedFetch, object: ObjectID? = nil) throws(Problem) {
    try checkObservable(fetch.plan)
    call.exchange.mark(RequestKind.poll.rawValue)
    let wait = fetch.request.wait ?? configuration.defaultWait
    let deadline = ContinuousClock.now + .seconds(wait)
    let start = start(since: fetch.request.since)
    let waiter = DiffWaiter(call)
    call.exchange.onDisconnect { [engine, weak waiter] in
      if let waiter { engine.cancel(waiter) }
    }
    engine.follow(fetch.plan, object: object, since: start, until: deadline, waiter)
  }

  /// Answers with a stream: a snapshot unless a token is given, then a diff for each change.
  func stream(_ call: Call, _ fetch: ResolvedFetch, object: ObjectID? = nil) throws(Problem) {
    try checkObservable(fetch.plan)
    var start = fetch.request.since.map(token(of:))
    if let last = call.request.header("Last-Event-ID") {
      guard let token = Token(last) else { throw .badToken }
      start = token
    }
    call.exchange.mark(RequestKind.stream.rawValue)
    let stream = EventStream(call, fetch.plan, object: object, start: start)
    call.exchange.stream(headers: EventOutput.headers + call.commonHeaders, stream)
  }
}

extension Service {
  /// From when a request that comes now wants to know.
  private func start(since: FetchRequest.Since?) -> LiveStart {
    if case .token(let token)? = since { .token(token) } else { .arrival(store.newestToken) }
  }

  /// The same as a token: what is committed before the engine comes to the request is after it.
  func token(of since: FetchRequest.Since) -> Token {
    if case .token(let token) = since { token } else { store.newestToken }
  }
}

extension LiveEngine {
  /// Follows one object where one is named, else the fetch.
  func follow(
    _ plan: FetchPlan, object: ObjectID?, since: LiveStart,
    until deadline: ContinuousClock.Instant?, _ waiter: any LiveWaiter
  ) {
    if let object {
      observe(object, of: plan, since: since, until: deadline, waiter)
    } else {
      follow(plan, since: since, until: deadline, waiter)
    }
  }
}

/// A request that waits for one diff.
final class DiffWaiter: LiveWaiter {
  let call: Call

  init(_ call: Call) { self.call = call }
}

extension LiveAnswer {
  /// Whether it holds a change.
  var isNews: Bool { if case .diff(_, _, false) = self { true } else { false } }
}

/// Hands the engine's answers on to the clients that wait for them.
final class Deliveries: LiveDelivery {
  /// Beyond this many, a thread of their own answers them: the engine has other work.
  private static let fewWaiters = 16
  /// How long so many are kept: letting go of them takes as long as answering them did, and is not
  /// to happen while their answers are sent.
  private static let keptSeconds = 0.2
  private let lane = ThreadPool(threads: 1, queue: .max)
  private let deadlines: Deadlines

  init(_ deadlines: Deadlines) { self.deadlines = deadlines }

  func deliver(_ answer: LiveAnswer, to waiters: [any LiveWaiter]) {
    if waiters.count <= Self.fewWaiters {
      Self.tell(answer, waiters)
    } else {
      _ = lane.run { [self] in
        Self.tell(answer, waiters)
        letGo(waiters)
      }
    }
  }

  func deliver(_ results: [GroupResult], at token: Token?, to waiter: any GroupWaiter) {
    let notify = { @Sendable in waiter.receive(results, at: token) }
    // A group gets one answer per request, so answers keep their order.
    if results.count > Self.fewWaiters, lane.run(notify) { return }
    notify()
  }

  private func letGo(_ waiters: [any LiveWaiter]) {
    deadlines.schedule(after: Self.keptSeconds) { [lane] in
      _ = lane.run { withExtendedLifetime(waiters) {} }
    }
  }

  /// Returns when everyone was told.
  func close() { lane.finish() }

  private static func tell(_ answer: LiveAnswer, _ waiters: [any LiveWaiter]) {
    // By the variant of the CORS headers.
    var prepared: [Int: PreparedResponse] = [:]
    let rings = WakeupBatch()
    defer { rings.ring() }
    for waiter in waiters {
      if let waiter = waiter as? DiffWaiter {
        if !answer.isNews, let problem = waiter.call.service.replacementProblem {
          waiter.call.refuse(problem)
          continue
        }
        let variant = waiter.call.service.corsOrigins.variant(of: waiter.call.request)
        let response = prepared[variant] ?? PreparedResponse(response(to: answer, waiter.call))
        prepared[variant] = response
        waiter.call.exchange.respond(response, rings)
      } else if let stream = waiter as? EventStream {
        stream.receive(answer)
      }
    }
  }

  private static func response(to answer: LiveAnswer, _ call: Call) -> HTTPResponse {
    var response =
      switch answer {
      case .diff(let json, _, _):
        HTTPResponse(
          headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
          body: .bytes(json))
      case .expired: Problem.tokenExpired.response
      case .failed(let error): Problem(error).response
      }
    response.headers += call.commonHeaders
    return response
  }
}
