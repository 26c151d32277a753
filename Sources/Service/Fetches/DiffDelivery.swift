// The engine's answers → responses of polls and events of streams.
//
// Promises: an answer for many clients is prepared once for those with equal CORS headers and tags of
// tokens; the engine's thread delivers to few clients only.

import FetchModel
import LiveFetchHTTPServer
import LiveQueries

/// A client that waits for the diff of one fetch.
protocol DiffWaiter: LiveWaiter {
  /// Receives the answer, for which `responses` has those that its clients share.
  func receive(_ answer: LiveAnswer, _ responses: SharedResponses)
}

/// Passes the engine's answers on to the clients that wait for them.
struct DiffDelivery: LiveDelivery {
  let pools: RequestPools

  func deliver(_ answer: LiveAnswer, to waiters: [any LiveWaiter]) {
    pools.deliver(count: waiters.count) { [pools] in
      let responses = SharedResponses()
      for case let waiter as any DiffWaiter in waiters { waiter.receive(answer, responses) }
      responses.wakeups.wake()
      pools.release(waiters)
    }
  }

  /// A group receives one result per request, so deliveries need no order.
  func deliver(_ results: [GroupResult], at token: Token?, to waiter: any GroupWaiter) {
    pools.deliver(count: results.count) { waiter.receive(results, at: token) }
  }
}

/// The responses that the clients of one answer share. Used on one thread.
final class SharedResponses {
  /// Two clients with equal variants share a response.
  struct Variant: Hashable {
    /// The variant of the CORS headers.
    let cors: Int
    let tags: TokenTags
  }

  let wakeups = WakeupBatch()
  private var prepared: [Variant: PreparedResponse] = [:]

  /// The response for a variant, prepared for its first client.
  func response(for variant: Variant, _ make: () -> HTTPResponse) -> PreparedResponse {
    if let known = prepared[variant] { return known }
    let response = PreparedResponse(make())
    prepared[variant] = response
    return response
  }
}

/// A request that waits for one diff.
final class FetchPoll: DiffWaiter {
  let context: RequestContext
  private let tags: TokenTags

  init(_ context: RequestContext, _ tags: TokenTags) {
    self.context = context
    self.tags = tags
  }

  func receive(_ answer: LiveAnswer, _ responses: SharedResponses) {
    context.begin(.respond)
    if !answer.hasChanges, let problem = context.service.pollProblem {
      return context.refuse(problem)
    }
    context.tracker?.record(items: answer.itemCount)
    let variant = SharedResponses.Variant(
      cors: context.service.corsOrigins.variant(of: context.request), tags: tags)
    let response = responses.response(for: variant) { self.response(to: answer) }
    context.send(response, responses.wakeups)
  }

  private func response(to answer: LiveAnswer) -> HTTPResponse {
    var token: Token?
    var response: HTTPResponse
    switch answer {
    case .diff(let diff): (response, token) = (.json(diff.json(tags: tags)), diff.to)
    case .expired: response = Problem.tokenExpired.response
    case .failed(let error): response = context.logged(Problem(error)).response
    }
    response.headers += context.commonHeaders(at: token)
    return response
  }
}

extension FetchPoll: CredentialHolder {
  func end(_ problem: Problem) {
    context.service.engine.cancel(self)
    context.refuse(problem)
  }
}

extension LiveAnswer {
  /// True if it is a diff with changes.
  var hasChanges: Bool { if case .diff(let diff) = self { !diff.isEmpty } else { false } }

  /// The number of items of a diff; nil for another answer.
  var itemCount: Int? { if case .diff(let diff) = self { diff.itemCount } else { nil } }
}
