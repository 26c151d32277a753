// A service's part of quotas: which requests count, and for how much.

import FetchModel
import LiveFetchHTTPServer

extension Service {
  /// Counts a request against its caller's quotas. Probes, files and OPTIONS do not count: they are
  /// cheap, and a probe that is refused would have a healthy server restarted.
  ///
  /// - Parameter isCounted: false for a head whose request is counted once its body is read.
  /// - Throws: 429 if a quota is used up.
  func admit(_ context: RequestContext, isCounted: Bool = true) throws(Problem) {
    guard let quotas = configuration.quotas, context.attempt == 0 else { return }
    switch context.route {
    case .liveness, .readiness, .file, .options: return
    default: break
    }
    try quotas.admit(
      context.callerID.name, isSave: context.route.isSave, isCounted: isCounted)
  }

  /// Counts an operation that waits for a change.
  ///
  /// - Throws: 429 if the caller has too many of them.
  func hold(_ operation: Operation, _ context: RequestContext) throws(Problem) {
    guard let quotas = configuration.quotas, let fetches = operation.waitingFetches else { return }
    context.tracker?.keep(nil)
    guard let hold = try quotas.hold(context.callerID.name, fetches: fetches)
    else { return }
    context.tracker?.keep(hold)
  }
}

extension Operation {
  /// The number of fetches that the operation follows; nil if it does not wait for a change.
  fileprivate var waitingFetches: Int? {
    switch self {
    case .poll, .stream: 1
    case .fetchGroup(let group): group.fetches.count
    case .changes: 0
    default: nil
    }
  }
}
