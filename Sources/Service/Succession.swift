// A service that ends while the server goes on → the one after it, for everyone whose request the
// first could not finish.

import FetchModel
import HTTPServer
import Synchronization

/// What comes after a service.
final class Succession: Sendable {
  typealias Outcome = Result<Service, Problem>
  typealias Heir = @Sendable (Outcome) -> Void

  private struct State {
    var heirs: [Heir] = []
    var hasBegun = false
    var outcome: Outcome?
  }

  // Guards the state; never held while an heir is called.
  private let state = Mutex(State())

  /// Whether the service has ended for another one to come.
  var hasBegun: Bool { state.withLock { $0.hasBegun } }

  /// The service has ended.
  func begin() { state.withLock { $0.hasBegun = true } }

  /// Has `heir` called with what comes after, at once where that is known.
  func then(_ heir: @escaping Heir) {
    let outcome = state.withLock { state in
      if state.outcome == nil { state.heirs.append(heir) }
      return state.outcome
    }
    if let outcome { heir(outcome) }
  }

  /// Tells everyone who waits, and whoever comes later. The first call counts.
  func settle(_ outcome: Outcome) {
    let heirs: [Heir] = state.withLock { state in
      guard state.outcome == nil else { return [] }
      state.outcome = outcome
      defer { state.heirs = [] }
      return state.heirs
    }
    for heir in heirs { heir(outcome) }
  }

  /// Tells those who wait for the end of a service that goes on.
  func disappoint(_ problem: Problem) {
    let heirs: [Heir] = state.withLock { state in
      guard !state.hasBegun else { return [] }
      defer { state.heirs = [] }
      return state.heirs
    }
    for heir in heirs { heir(.failure(problem)) }
  }
}

/// A request that goes on in another service: from when, until when, and what to say if it cannot.
final class Continuation: Sendable {
  /// The token that it starts from.
  let start: Token?
  let deadline: ContinuousClock.Instant
  /// Why its token cannot be continued from; nil: as for any other.
  let reason: Problem?
  /// Why it cannot be asked any more.
  let refusal: Problem

  init(
    start: Token?, deadline: ContinuousClock.Instant, reason: Problem?, refusal: Problem
  ) {
    self.start = start
    self.deadline = deadline
    self.reason = reason
    self.refusal = refusal
  }

  /// Seconds that are left.
  var seconds: Double { max(0, ContinuousClock.now.duration(to: deadline) / .seconds(1)) }
}

extension Service {
  /// Whether another service follows this one.
  var isRetired: Bool { isDraining && succession.hasBegun }

  /// How long a table may be changed before that is noticed, in seconds.
  private static let notice = 5.0

  /// Whether what failed is for the service that follows to answer: this one has ended, or is about
  /// to, as tables are not what it knows.
  func isOver(after error: StoreError) -> Bool {
    if isRetired { return error != .queryTimeout }
    if case .schemaChanged = error { return isHosted && !isDraining }
    return false
  }

  /// Has `heir` called with the service that follows.
  func whenSucceeded(_ heir: @escaping Succession.Heir) {
    succession.then(heir)
    guard !succession.hasBegun else { return }
    deadlines.schedule(after: Self.notice) { [succession] in
      succession.disappoint(Problem(StoreError.schemaChanged(entity: "")))
    }
  }

  /// What ended `plan` where it cannot go on: the table of it that is gone or changed; nil where
  /// none of its own did.
  func lossReason(of plan: FetchPlan) -> Problem? {
    let entities = plan.dependencies(in: store.model)
    return changed.withLock { $0 }.first(where: entities.contains).map(schemaChanged)
  }

  /// What ends `plan` when nothing of that name is there any more.
  func refusalReason(of plan: FetchPlan) -> Problem {
    lossReason(of: plan) ?? schemaChanged(plan.definition.entity)
  }

  func schemaChanged(_ entity: Int) -> Problem {
    Problem(StoreError.schemaChanged(entity: store.model.entities[entity].name))
  }

  /// Has a request that came from another service answered here.
  func rejoin(_ request: HTTPRequest, _ exchange: HTTPExchange, _ continuation: Continuation) {
    let call = Call(
      request: request, exchange: exchange, service: self, continuation: continuation)
    do throws(Problem) {
      try answer(call, Route(path: request.path))
    } catch {
      call.refuse(error.status < 500 ? continuation.refusal : error)
    }
  }
}

extension Call {
  /// Has the service that follows answer, from `start` on.
  func move(from start: Token, until deadline: ContinuousClock.Instant) {
    let plan = try? service.requested(request).fetch.plan
    let gone = Problem(StoreError.schemaChanged(entity: ""))
    let continuation = Continuation(
      start: start, deadline: deadline, reason: plan.flatMap(service.lossReason),
      refusal: plan.map(service.refusalReason) ?? gone)
    whenSucceeded { $0.rejoin(request, exchange, continuation) }
  }

  /// Has `heir` called with the service that follows; refused where none does.
  func whenSucceeded(_ heir: @escaping @Sendable (Service) -> Void) {
    service.whenSucceeded { outcome in
      switch outcome {
      case .success(let service): heir(service)
      case .failure(let problem): refuse(problem)
      }
    }
  }

  /// Has the service that follows answer as if the request came to it; false where `error` is not
  /// for it to answer.
  func redo(after error: StoreError = .busy) -> Bool {
    guard service.isOver(after: error) else { return false }
    whenSucceeded { service in
      if let continuation { return service.rejoin(request, exchange, continuation) }
      service.handle(request, exchange)
    }
    return true
  }
}
