// The one thing that the embedding code implements.

/// Answers requests.
public protocol HTTPHandler: Sendable {
  /// Called on one of the server's workers with each request, after its body has been read.
  ///
  /// Answer through `exchange`, inside this call or later from any thread. An answer inside the
  /// call costs no suspension. Nothing slow belongs here: the worker serves other connections.
  func handle(_ request: HTTPRequest, _ exchange: HTTPExchange)
}

/// What an exchange was answered with.
public enum HTTPAnswer: Sendable {
  case response(HTTPResponse)
  case prepared(PreparedResponse)
  case notModified(PreparedResponse)
  case stream(status: Int, headers: [(name: String, value: String)], HTTPStream)

  var stream: HTTPStream? {
    if case .stream(_, _, let stream) = self { stream } else { nil }
  }
}
