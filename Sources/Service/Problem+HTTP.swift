// Problems ↔ the HTTP layer.

import FetchModel
import HTTPServer

extension Problem {
  /// The whole answer.
  public var response: HTTPResponse {
    let fixed = [
      (name: "Content-Type", value: "application/problem+json"),
      (name: "Cache-Control", value: "no-store"),
    ]
    return HTTPResponse(status: status, headers: fixed + headers, body: .bytes(json))
  }

  /// What the HTTP layer refused before any handler saw it.
  public init(_ problem: HTTPProblem) {
    self.init(problem.status, problem.code, problem.title, problem.detail)
    if let seconds = problem.retryAfter { headers = [("Retry-After", String(seconds))] }
  }
}
