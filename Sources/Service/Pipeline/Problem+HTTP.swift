// Problems → HTTP responses, and the HTTP layer's own refusals → problems.

import FetchModel
import LiveFetchHTTPServer

extension Problem {
  /// The complete response.
  public var response: HTTPResponse {
    let fixed = [
      (name: "Content-Type", value: "application/problem+json"),
      (name: "Cache-Control", value: "no-store"),
    ]
    return HTTPResponse(status: status, headers: fixed + headers, body: .bytes(json))
  }

  /// A refusal of the HTTP layer, before any handler was called.
  public init(_ problem: HTTPProblem) {
    self.init(problem.status, problem.code, problem.title, problem.detail)
    if let seconds = problem.retryAfter { headers = [("Retry-After", String(seconds))] }
  }
}
