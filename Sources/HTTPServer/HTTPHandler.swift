// The one thing that the embedding code implements.

/// Answers requests.
public protocol HTTPHandler: Sendable {
  /// Called on one of the server's workers with each request, after its body has been read.
  ///
  /// Answer through `exchange`, inside this call or later from any thread. An answer inside the
  /// call costs no suspension. Nothing slow belongs here: the worker serves other connections.
  func handle(_ request: HTTPRequest, _ exchange: HTTPExchange)

  /// Called on one of the server's workers when the head of a request with a body has been read. The
  /// request is refused with the response, and its connection closed, before its body is read and
  /// before `100 Continue` is sent. Nil accepts the body; then ``handle(_:_:)`` is called after it.
  ///
  /// - Parameter head: the request without its body.
  func refusal(of head: HTTPRequest) -> HTTPResponse?

  /// Called on a worker when an answer begins to be sent, for counting.
  ///
  /// - Parameters:
  ///   - mark: what ``HTTPExchange/mark(_:)`` was given; 0 where no handler saw the request.
  ///   - nanoseconds: from the request's last byte on.
  func answered(_ mark: UInt8, status: Int, nanoseconds: UInt64)
}

extension HTTPHandler {
  public func refusal(of head: HTTPRequest) -> HTTPResponse? { nil }

  public func answered(_ mark: UInt8, status: Int, nanoseconds: UInt64) {}
}

/// What an exchange was answered with.
public enum HTTPAnswer: Sendable {
  case response(HTTPResponse)
  case prepared(PreparedResponse)
  case notModified(PreparedResponse)
  case stream(status: Int, headers: [(name: String, value: String)], HTTPStream)

  var status: Int {
    switch self {
    case .response(let response): response.status
    case .prepared(let prepared): prepared.status
    case .notModified: 304
    case .stream(let status, _, _): status
    }
  }

  var stream: HTTPStream? {
    if case .stream(_, _, let stream) = self { stream } else { nil }
  }
}
