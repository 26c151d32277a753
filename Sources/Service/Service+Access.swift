// The headers for browsers of other origins, and the answer to OPTIONS.

import FetchModel
import HTTPServer

extension Service {
  /// `LiveFetch-Token`, and the headers that browsers of other origins need.
  func commonHeaders(for request: HTTPRequest) -> [(name: String, value: String)] {
    [("LiveFetch-Token", store.newestToken.description)] + corsOrigins.headers(for: request)
  }

  /// Answers OPTIONS: what the path takes, and to browsers what they may send.
  ///
  /// - Throws: 404 for an entity that is not there, to those who may know.
  func allow(_ call: Call, _ route: Route) throws(Problem) {
    if call.caller != nil, let entity = route.entity { _ = try entityIndex(named: entity) }
    let methods = route.allowedMethods.joined(separator: ", ")
    var headers = [(name: "Allow", value: methods)]
    if !configuration.corsOrigins.isEmpty,
      call.request.header("Access-Control-Request-Method") != nil
    {
      headers += [
        ("Access-Control-Allow-Methods", methods),
        (
          "Access-Control-Allow-Headers",
          "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Prefer, "
            + "Last-Event-ID"
        ),
        ("Access-Control-Max-Age", "86400"),
      ]
    }
    call.respond(HTTPResponse(status: 204, headers: headers))
  }
}
