// The engine's answers → responses of polls and events of streams.
//
// Promises: an answer for many clients is prepared once for each variant of the CORS headers; the
// engine's thread delivers to few clients only.

import FetchModel
import LiveFetchHTTPServer
import LiveQueries

/// A request that waits for one diff.
final class FetchPoll: LiveWaiter {
  let context: RequestContext

  init(_ context: RequestContext) { self.context = context }
}

extension FetchPoll: CredentialHolder {
  func end(_ problem: Problem) {
    context.service.engine.cancel(self)
    context.refuse(problem)
  }
}

/// Passes the engine's answers on to the clients that wait for them.
struct DiffDelivery: LiveDelivery {
  let pools: RequestPools

  func deliver(_ answer: LiveAnswer, to waiters: [any LiveWaiter]) {
    pools.deliver(count: waiters.count) { [pools] in
      Self.respond(answer, waiters)
      pools.release(waiters)
    }
  }

  /// A group gets nothing more until it follows again, so no delivery overtakes another.
  func deliver(_ results: [GroupResult], at token: Token?, to waiter: any GroupWaiter) {
    pools.deliver(count: results.count) { waiter.receive(results, at: token) }
  }

  private static func respond(_ answer: LiveAnswer, _ waiters: [any LiveWaiter]) {
    // By the variant of the CORS headers.
    var prepared: [Int: PreparedResponse] = [:]
    let wakeups = WakeupBatch()
    defer { wakeups.wake() }
    for waiter in waiters {
      if let poll = waiter as? FetchPoll {
        respond(answer, poll.context, &prepared, wakeups)
      } else if let stream = waiter as? FetchStream {
        stream.receive(answer)
      }
    }
  }

  private static func respond(
    _ answer: LiveAnswer, _ context: RequestContext, _ prepared: inout [Int: PreparedResponse],
    _ wakeups: WakeupBatch
  ) {
    context.begin(.respond)
    if !answer.hasChanges, let problem = context.service.replacementProblem {
      return context.refuse(problem)
    }
    let variant = context.service.corsOrigins.variant(of: context.request)
    let response = prepared[variant] ?? PreparedResponse(response(to: answer, context))
    prepared[variant] = response
    context.send(response, wakeups)
  }

  private static func response(to answer: LiveAnswer, _ context: RequestContext) -> HTTPResponse {
    var response =
      switch answer {
      case .diff(let json, _, _): HTTPResponse.json(json)
      case .expired: Problem.tokenExpired.response
      case .failed(let error): Problem(error).response
      }
    response.headers += context.commonHeaders
    return response
  }
}

extension LiveAnswer {
  /// True if it is a diff with changes.
  var hasChanges: Bool { if case .diff(_, _, false) = self { true } else { false } }
}
