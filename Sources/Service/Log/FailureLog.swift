// Problems of status 500 → events of the log.
//
// Promises: each such problem that a client receives is logged, with the request's id, and has the same
// id as its member `requestID`. A problem that several waiting requests share has the id of one of
// them.

import FetchModel
import LiveFetchHTTPServer
import Logging

/// The members of an event about the request that failed.
struct RequestIdentity: Sendable {
  /// nil if the request has none yet.
  let id: String?
  let method: String
  let route: String

  init(_ context: RequestContext) {
    id = context.exchange.requestID
    method = context.request.method
    route = context.route.template
  }
}

extension Problem {
  /// Logs the problem if the server is to blame. Returns it as it is sent.
  func logged(for request: RequestIdentity, _ logger: Logger) -> Problem {
    guard status == 500 else { return self }
    let id = request.id ?? RequestID.new
    let problem = identified(by: id, isNew: request.id == nil)
    logger.error(
      "\(cause ?? detail)",
      metadata: [
        "id": "\(id)", "method": "\(request.method)", "route": "\(request.route)",
        "status": .stringConvertible(status), "code": "\(code)",
      ])
    return problem
  }

  /// - Parameter isNew: true if no other header of the response names the id.
  private func identified(by id: String, isNew: Bool) -> Problem {
    var problem = self
    problem.members.append(.init(name: "requestID", value: .string(id)))
    if isNew { problem.headers.append(("X-Request-Id", id)) }
    return problem
  }

  /// The response to a request that the HTTP layer refuses; one with status 500 is logged.
  public static func response(to refusal: HTTPProblem, _ logger: Logger) -> HTTPResponse {
    var problem = Problem(refusal)
    if let id = refusal.requestID {
      problem = problem.identified(by: id, isNew: refusal.isNewRequestID)
      logger.error(
        "\(problem.detail)",
        metadata: [
          "id": "\(id)", "status": .stringConvertible(problem.status), "code": "\(problem.code)",
        ])
    }
    return problem.response
  }
}

extension RequestContext {
  /// Logs the problem if the server is to blame. Returns it as it is sent.
  func logged(_ problem: Problem) -> Problem {
    service.checkReadiness(ifStoreFailed: problem)
    return problem.status == 500
      ? problem.logged(for: RequestIdentity(self), service.configuration.errorLogger) : problem
  }
}
