// `/health/live` and `/health/ready` → 200, or 503 with the reasons as JSON; `/metrics`, of which
// readiness is one.

import FetchModel
import LiveFetchHTTPServer
import LiveFetchMetrics
import LiveFetchThreads

extension Service {
  /// Seconds after which a store that has not responded is not ready.
  private static let healthTimeout = 2.0

  /// Seconds between two checks of a server that is not ready, for the line of the log when it is.
  private static let checkInterval = 5.0
  /// The codes of problems after which the server may not be ready.
  private static let storeProblems: Set<String> = [
    "busy", "disk-full", "file-damaged", "storage-failed",
  ]

  func queryHealth(_ context: RequestContext, _ route: Route) {
    switch route {
    case .readiness:
      checkReadiness { faults in
        faults.isEmpty ? context.respond(json: Health.ok) : context.refuse(Health.notReady(faults))
      }
    case .metrics:
      checkReadiness { [self] faults in
        context.respond(metricsResponse(isReady: faults.isEmpty))
      }
    default: context.respond(json: Health.ok)
    }
  }

  /// Calls `body` with the reasons why the server is not ready, within ``healthTimeout``. It may be
  /// called again later: the first response counts.
  private func checkReadiness(_ body: @escaping @Sendable ([StoreFault]) -> Void) {
    if isDraining { return body([isStopping ? Health.draining : Health.reopening]) }
    let deadline = deadlines.schedule(after: Self.healthTimeout) { [weak self] in
      self?.logReadiness([Health.slow])
      body([Health.slow])
    }
    store.checkHealth { [weak self] faults in
      deadline.cancel()
      var all = self?.isDraining == true ? [Health.draining] + faults : faults
      if let fault = self?.configuration.audit?.fault { all.append(fault) }
      if let fault = self?.accessFault { all.append(fault) }
      self?.logReadiness(all)
      body(all)
    }
  }

  // MARK: The log

  private func logReadiness(_ faults: [StoreFault]) {
    guard !isDraining else { return }
    configuration.readinessLog.record(faults, configuration.errorLogger)
    if !faults.isEmpty { checkReadiness(after: Self.checkInterval) }
  }

  /// Checks for the log, on a thread of its own, since a check may have to wait for the disk. Does
  /// nothing if a check is due already.
  func checkReadiness(after seconds: Double) {
    guard !isCheckDue.exchange(true, ordering: .relaxed) else { return }
    deadlines.schedule(after: seconds) { [weak self] in
      startThread { [self] in
        self?.isCheckDue.store(false, ordering: .relaxed)
        self?.checkReadiness { _ in }
      }
    }
  }

  /// Has the log say soon whether the server is ready, if a request has failed because of the store.
  func checkReadiness(ifStoreFailed problem: Problem) {
    if Self.storeProblems.contains(problem.code) { checkReadiness(after: 0.25) }
  }
}

/// The responses of the probes and of `/metrics`.
enum Health {
  static let ok = Array("{\"status\":\"ok\"}".utf8)

  static let draining = StoreFault("draining", "The server is shutting down.")
  static let reopening = StoreFault("reopening", "The store is being opened again.")
  static let slow = StoreFault("busy", "Saves wait for more than two seconds.")

  static func notReady(_ faults: [StoreFault]) -> Problem {
    var problem = Problem(
      503, "not-ready", "Service unavailable", faults.map(\.detail).joined(separator: " "))
    let reasons = faults.map { ["code": "\($0.code)", "detail": "\($0.detail)"] as JSONNode }
    problem.members = [.init(name: "reasons", value: JSONNode(reasons).json)]
    problem.headers = [("Retry-After", "1")]
    return problem
  }

  /// The response of `/metrics`, with the readiness and these families.
  static func metrics(_ families: [MetricFamily], isReady: Bool) -> HTTPResponse {
    let ready = MetricFamily(
      "livefetch_ready", "1 if the server is ready, as /health/ready says.", .gauge,
      isReady ? 1 : 0)
    var text = ""
    for family in [ready] + families { family.append(to: &text) }
    let headers = [
      (name: "Content-Type", value: "text/plain; version=0.0.4; charset=utf-8"),
      (name: "Cache-Control", value: "no-store"),
    ]
    return HTTPResponse(headers: headers, body: .text(text))
  }

  /// The route of a request while no store is open; nil for one that has none.
  static func route(of request: HTTPRequest) -> Route? {
    (try? Resource(target: request.target))?.route(request.method)
  }

  /// The response to a probe while no store is open; nil for other requests.
  static func response(to route: Route?, isDraining: Bool, _ fault: StoreFault?) -> HTTPResponse? {
    switch route {
    case .liveness: return .json(ok)
    case .readiness: return notReady([isDraining ? draining : fault ?? reopening]).response
    default: return nil
    }
  }
}
