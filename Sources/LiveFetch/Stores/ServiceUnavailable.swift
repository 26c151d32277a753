// The reason why a store cannot be used now, and when to try again. The only place with the HTTP statuses
// that are transient, and with those that a gateway sends for an address or a credential to be corrected.

/// The reason why a store cannot be used now: an error of the network, a gateway, a server or a file.
public struct ServiceUnavailable: Sendable, Hashable {
  /// The reason in words, such as `connection refused` or `status 502`.
  public let reason: String
  /// The HTTP status of the response: a gateway's 502, the server's own 503; 200 if the body is cut off
  /// or is not JSON; nil if there was no response. For a file, the status that a server of the file would
  /// send.
  public let status: Int?
  /// The stable code if the store itself refused: `overloaded`, `busy`, `disk-full`. A save that is
  /// refused with a code was not made.
  public let code: String?
  /// Seconds to wait before the next request (`Retry-After`); nil if the caller may choose.
  public let retryAfter: Double?
  /// True if the store has received nothing of the request, because there was no connection.
  var isUnsent = false

  /// Makes a reason.
  ///
  /// - Parameters:
  ///   - reason: in words, such as `connection refused`.
  ///   - status: the HTTP status of a response; nil if there was none.
  ///   - code: the stable code of a store's own refusal; nil for others.
  ///   - retryAfter: seconds to wait before the next request; nil if the caller may choose.
  public init(
    _ reason: String, status: Int? = nil, code: String? = nil, retryAfter: Double? = nil
  ) {
    self.reason = reason
    self.status = status
    self.code = code
    self.retryAfter = retryAfter
  }

  /// True if the store may have executed the request although its response was not received.
  var isAnswerLost: Bool { mayRepeat && !isUnsent }

  /// True if a request with an idempotency key is sent again at once, to receive the response that was
  /// lost. False for a response with a code or with status 429: the store has not executed the request,
  /// and the caller waits.
  var mayRepeat: Bool { code == nil && status != 429 }

  /// Reads a store's own refusal; nil if the refusal is final.
  ///
  /// - Parameter retryAfter: seconds to wait; nil takes the problem's own `Retry-After`.
  init?(_ problem: Problem, retryAfter: Double? = nil) {
    guard Self.transientStatuses.contains(problem.status) else { return nil }
    let requested = problem.headers.first { $0.name == "Retry-After" }.flatMap { Double($0.value) }
    self.init(
      problem.detail, status: problem.status, code: problem.code,
      retryAfter: retryAfter ?? requested)
  }

  /// Statuses with which the same request may succeed later.
  static let transientStatuses: Set = [408, 425, 429, 500, 502, 503, 504, 507]

  /// Statuses of a gateway that concern its address or a credential: the same request may succeed once
  /// these are corrected.
  static let correctableStatuses: Set = [401, 403, 404, 405, 407, 421]
}

extension ObjectStoreError {
  /// Reads a store's own refusal: `unreachable` if it is transient, otherwise `tokenExpired` or
  /// `refused`.
  ///
  /// - Parameter retryAfter: seconds to wait; nil takes the problem's own `Retry-After`.
  init(_ problem: Problem, retryAfter: Double? = nil) {
    if let unavailability = ServiceUnavailable(problem, retryAfter: retryAfter) {
      self = .unreachable(unavailability)
    } else {
      self = problem.code == "token-expired" ? .tokenExpired : .refused(problem)
    }
  }

  /// True if the same request may succeed later.
  var isTransient: Bool { unavailability != nil }
}

extension FetchError {
  /// True if the same request may succeed later.
  var isTransient: Bool { unavailability != nil }
}
