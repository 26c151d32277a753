// The protocol that the embedding code implements: requests → responses.

/// Responds to requests.
public protocol HTTPHandler: Sendable {
  /// Called on one of the server's workers with each request, after its body has been read.
  ///
  /// Respond through `exchange`, during this call or later from any thread. A response during the
  /// call avoids suspending the connection. Do nothing slow here: the worker serves other
  /// connections.
  func handle(_ request: HTTPRequest, _ exchange: HTTPExchange)

  /// Called on one of the server's workers when the head of a request with a body has been read.
  /// Returns a response that refuses the request: the connection is closed before the body is read
  /// and before `100 Continue` is sent. Returns nil to accept the body; then ``handle(_:_:)`` is
  /// called after it.
  ///
  /// - Parameters:
  ///   - head: the request without its body.
  ///   - attach: attaches an object to the request that is refused.
  func refusal(
    of head: HTTPRequest, attach: (any ExchangeAttachment) -> Void
  ) -> HTTPResponse?

  /// Returns headers that the server adds to a response that it makes itself.
  ///
  /// - Parameter origin: the header `Origin` of the request; nil without one or if it is not known.
  func commonHeaders(origin: String?) -> [(name: String, value: String)]

  /// Called on a worker when the sending of a response begins, for metrics.
  ///
  /// - Parameters:
  ///   - tag: the argument of ``HTTPExchange/setTag(_:)``; 0 if no handler saw the request.
  ///   - nanosecondsSinceRequest: the time since the request's last byte.
  func didBeginResponse(tag: UInt8, status: Int, nanosecondsSinceRequest: UInt64)

  /// Called on a worker for a completed request without an attachment, if
  /// ``HTTPServerConfiguration/reportsCompletions`` is set.
  func completed(_ completion: HTTPCompletion)
}

extension HTTPHandler {
  public func commonHeaders(origin: String?) -> [(name: String, value: String)] { [] }

  public func refusal(
    of head: HTTPRequest, attach: (any ExchangeAttachment) -> Void
  ) -> HTTPResponse? { nil }

  public func didBeginResponse(tag: UInt8, status: Int, nanosecondsSinceRequest: UInt64) {}

  public func completed(_ completion: HTTPCompletion) {}
}

/// A response in one of its forms.
public enum AnyHTTPResponse: Sendable {
  /// A response to one request.
  case response(HTTPResponse)
  /// A response that several exchanges share.
  case prepared(PreparedResponse)
  /// A response whose body is written piece by piece.
  case stream(status: Int, headers: [(name: String, value: String)], HTTPStream)

  var status: Int {
    switch self {
    case .response(let response): response.status
    case .prepared(let prepared): prepared.status
    case .stream(let status, _, _): status
    }
  }

  var stream: HTTPStream? {
    if case .stream(_, _, let stream) = self { stream } else { nil }
  }
}
