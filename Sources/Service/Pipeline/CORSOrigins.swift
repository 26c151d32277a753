// The origins whose pages may call the server, and a request → the CORS headers of its response.

import LiveFetchHTTPServer

/// The allowed origins of CORS: none, some, or `*` for all.
struct CORSOrigins: Sendable {
  typealias Headers = [(name: String, value: String)]

  /// The allowed origins, in the order of ``headers``; only `*` if that is among them.
  private let origins: [String]
  /// One entry for each origin; then one for requests of any other origin.
  private let headers: [Headers]

  init(_ origins: [String]) {
    self.origins = origins.contains("*") ? ["*"] : origins
    headers = self.origins.map { Self.headers(allowing: $0) } + [[("Vary", "Origin")]]
  }

  /// The headers of a response to `request`. With one allowed origin they are the same for every request:
  /// a browser compares the origin itself.
  func headers(for request: HTTPRequest) -> Headers {
    headers { request.hasHeader("Origin", $0) }
  }

  /// The headers of a response to a request with the header `Origin: origin`; nil for one without.
  func headers(forOrigin origin: String?) -> Headers { headers { $0 == origin } }

  private func headers(_ isRequested: (String) -> Bool) -> Headers {
    switch origins.count {
    case 0: []
    case 1: headers[0]
    default: headers[index(isRequested)]
    }
  }

  /// A number that is equal for requests whose responses have equal headers, so that they can share a
  /// response.
  func variant(of request: HTTPRequest) -> Int {
    origins.count > 1 ? index { request.hasHeader("Origin", $0) } : 0
  }

  /// The index in ``headers`` of the requested origin.
  private func index(_ isRequested: (String) -> Bool) -> Int {
    origins.firstIndex(where: isRequested) ?? origins.count
  }

  /// The headers of a preflight response.
  static func preflightHeaders(_ methods: String) -> Headers {
    [
      ("Access-Control-Allow-Methods", methods),
      (
        "Access-Control-Allow-Headers",
        "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Prefer, "
          + "Last-Event-ID, X-Request-Id"
      ),
      ("Access-Control-Max-Age", "86400"),
    ]
  }

  private static func headers(allowing origin: String) -> Headers {
    let exposed =
      "LiveFetch-Token, ETag, Location, Allow, Date, Retry-After, Accept-Ranges, Content-Range, "
      + "Idempotency-Replayed, Preference-Applied, RateLimit, RateLimit-Policy, Server-Timing, "
      + "WWW-Authenticate, X-Request-Id"
    let headers = [
      (name: "Access-Control-Allow-Origin", value: origin),
      (name: "Access-Control-Expose-Headers", value: exposed),
    ]
    return origin == "*" ? headers : headers + [("Vary", "Origin")]
  }
}
