// Why nobody answered: what a network, a gateway, a server or a file said instead, and when to come
// back. The only place that tells a refusal that passes from one that lasts.

/// What stands between a program and its store for now.
public struct Outage: Sendable, Hashable {
  /// For a person: `connection refused`, `status 502`.
  public let reason: String
  /// The HTTP status of what came in place of an answer, a gateway's 502 or the server's own 503, and
  /// of a file what a server on it would say; 200 where the answer was cut off or is a page; nil where
  /// nothing came.
  public let status: Int?
  /// The stable code where it is the store itself that said no: `overloaded`, `busy`, `disk-full`. A
  /// save it says this of was not made.
  public let code: String?
  /// The seconds that were asked to be waited (`Retry-After`); nil: as long as one likes.
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

  /// What a store's own refusal says of it; nil of a refusal that lasts.
  ///
  /// - Parameter retryAfter: the seconds that are asked to be waited; nil: as the problem says.
  init?(_ problem: Problem, retryAfter: Double? = nil) {
    guard Self.passing.contains(problem.status) else { return nil }
    let asked = problem.headers.first { $0.name == "Retry-After" }.flatMap { Double($0.value) }
    self.init(
      problem.detail, status: problem.status, code: problem.code, retryAfter: retryAfter ?? asked)
  }

  /// Statuses that say nothing of the request but that now is not the time.
  static let passing: Set = [408, 425, 429, 500, 502, 503, 504, 507]
}

extension ObjectStoreError {
  /// What a store's own refusal is: one that passes, or one that lasts.
  ///
  /// - Parameter retryAfter: the seconds that are asked to be waited; nil: as the problem says.
  init(_ problem: Problem, retryAfter: Double? = nil) {
    if let outage = Outage(problem, retryAfter: retryAfter) {
      self = .unreachable(outage)
    } else {
      self = problem.code == "token-expired" ? .tokenExpired : .refused(problem)
    }
  }

  /// Whether the same request may succeed later.
  var mayPass: Bool { outage != nil }
}

extension FetchError {
  /// Whether the same request may succeed later.
  var mayPass: Bool { outage != nil }
}
