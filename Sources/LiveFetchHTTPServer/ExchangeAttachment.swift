// An object that a handler attaches to a request until the request is completed, for logs and quotas.

/// A completed request.
public struct HTTPCompletion: Sendable {
  /// `X-Request-Id` of the request if it had a usable one, otherwise one of the server's; empty if the
  /// server gives none.
  public var requestID = ""
  /// Empty if the request line was not understood.
  public var method = ""
  /// The status that was sent; 499 if the client left before.
  public var status = 0
  /// From the end of the request's head to the end of the response.
  public var nanoseconds: UInt64 = 0
  /// The bytes of the body that were passed to the socket.
  public var bodyBytes = 0
  /// The client's address in numbers.
  public var clientAddress = ""

  /// Makes an HTTP completion.
  public init() {}
}

/// A handler's own object for one request.
public protocol ExchangeAttachment: AnyObject, Sendable {
  /// Called on a worker before bytes of the response's body are sent.
  func willSend(bytes: Int)
  /// Called once on a worker when the response was sent or the client has left.
  func completed(_ completion: HTTPCompletion)
}
