// Who may ask: the bearer token, and browsers of other origins.

import FetchModel
import HTTPServer

extension Service {
  /// Whether the request carries the token that the service wants, if it wants one.
  func isAuthorized(_ request: HTTPRequest) -> Bool {
    guard let wanted = configuration.bearerToken else { return true }
    guard let header = request.header("Authorization"), header.utf8.count <= 8192 else {
      return false
    }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return false }
    return Self.isSame(parts[1].utf8, wanted.utf8)
  }

  /// Compares in a time that does not tell where the difference is.
  private static func isSame(_ given: Substring.UTF8View, _ wanted: String.UTF8View) -> Bool {
    var difference = given.count ^ wanted.count
    for (left, right) in zip(given, wanted) { difference |= Int(left ^ right) }
    return difference == 0
  }

  /// `LiveFetch-Token`, and the headers that browsers of other origins need.
  func commonHeaders(for request: HTTPRequest) -> [(name: String, value: String)] {
    [("LiveFetch-Token", store.newestToken.description)] + corsOrigins.headers(for: request)
  }

  /// Answers OPTIONS: what the path takes, and to browsers what they may send.
  ///
  /// - Throws: 404 for an entity that is not there, to those who may know.
  func allow(_ call: Call, _ route: Route) throws(Problem) {
    if isAuthorized(call.request), let entity = route.entity { _ = try entityIndex(named: entity) }
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
