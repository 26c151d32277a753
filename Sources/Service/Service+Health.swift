// `/health/live` and `/health/ready` → 200, or 503 with the reasons as JSON.

import FetchModel
import HTTPServer

extension Service {
  /// Seconds after which a store that has not answered is not ready.
  private static let healthTimeout = 2.0

  func health(_ call: Call, _ route: Route) {
    guard route == .isReady else { return call.respond(json: Health.isWell) }
    if isDraining {
      return call.refuse(Health.notReady([isStopping ? Health.draining : Health.reopening]))
    }
    // The first answer counts.
    let deadline = deadlines.schedule(after: Self.healthTimeout) {
      call.refuse(Health.notReady([Health.slow]))
    }
    store.checkHealth { [weak self] faults in
      deadline.cancel()
      let all = self?.isDraining == true ? [Health.draining] + faults : faults
      all.isEmpty ? call.respond(json: Health.isWell) : call.refuse(Health.notReady(all))
    }
  }
}

/// The answers of the probes.
enum Health {
  static let isWell = Array("{\"status\":\"ok\"}".utf8)

  static let draining = StoreFault("draining", "The server is shutting down.")
  static let reopening = StoreFault("reopening", "The store is being opened again.")
  static let slow = StoreFault("busy", "Saves wait for more than two seconds.")

  static func notReady(_ faults: [StoreFault]) -> Problem {
    var problem = Problem(
      503, "not-ready", "Service unavailable", faults.map(\.detail).joined(separator: " "))
    let reasons = faults.map { fault in
      JSON.object([
        .init(name: "code", value: .string(fault.code)),
        .init(name: "detail", value: .string(fault.detail)),
      ])
    }
    problem.members = [.init(name: "reasons", value: .array(reasons))]
    problem.headers = [("Retry-After", "1")]
    return problem
  }

  /// The answer to a probe while no store is open; nil for other requests.
  static func answer(to request: HTTPRequest, isDraining: Bool, _ fault: StoreFault?)
    -> HTTPResponse?
  {
    guard request.method == "GET" || request.method == "HEAD" else { return nil }
    switch try? Route(path: request.path) {
    case .isLive:
      let headers = [
        (name: "Content-Type", value: "application/json"),
        (name: "Cache-Control", value: "no-store"),
      ]
      return HTTPResponse(headers: headers, body: .bytes(isWell))
    case .isReady: return notReady([isDraining ? draining : fault ?? reopening]).response
    default: return nil
    }
  }
}
