// Why nobody answered: what a network, a gateway or a server said instead, and when to come back.

/// What stands between a program and its store for now.
public struct Outage: Sendable, Hashable {
  /// For a person: `connection refused`, `status 502`.
  public let reason: String
  /// The HTTP status of what came in place of an answer, a gateway's 502 or the server's own 503;
  /// 200 where the answer was cut off or is a page; nil where nothing came.
  public let status: Int?
  /// The stable code where it is the server itself that said no: `overloaded`. A save it says this of
  /// was not made.
  public let code: String?
  /// The seconds that were asked to be waited (`Retry-After`).
  public let retryAfter: Double?

  public init(
    _ reason: String, status: Int? = nil, code: String? = nil, retryAfter: Double? = nil
  ) {
    self.reason = reason
    self.status = status
    self.code = code
    self.retryAfter = retryAfter
  }

  /// Whether what was asked may have been done all the same.
  var isAnswerLost: Bool { code == nil && status != 429 }
}
