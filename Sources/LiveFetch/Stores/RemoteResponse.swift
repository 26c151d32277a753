// An HTTP response enters; its JSON leaves, or an error. The only place that distinguishes a server's
// refusals from what gateways and networks send in place of its response.

import Foundation
import HTTPClient

/// A response of a server or of a gateway in front of it.
struct RemoteResponse: Sendable {
  let status: Int
  let body: [UInt8]
  /// Seconds.
  let retryAfter: Double?

  init(status: Int, body: [UInt8], retryAfter: String? = nil) {
    self.status = status
    self.body = body
    self.retryAfter = retryAfter.flatMap(Self.seconds)
  }

  init(_ head: ResponseHead, body: [UInt8]) {
    self.init(status: head.status, body: body, retryAfter: head.headers["retry-after"])
  }

  /// The body as JSON.
  ///
  /// - Throws: ``error`` unless the status is of success; `unreachable` if the body was cut off or is
  ///   a gateway's page.
  func json() throws(ObjectStoreError) -> JSON {
    guard (200..<300).contains(status) else { throw error }
    guard let json = try? JSON(result: body) else {
      throw .unreachable(
        ServiceUnavailable("a response of \(body.count) bytes that is not JSON", status: status))
    }
    return json
  }

  /// The error that a status other than success represents.
  var error: ObjectStoreError {
    let json = try? JSON(result: body)
    if let problem = json.flatMap({ Problem(json: $0, status: status) }) {
      return ObjectStoreError(problem, retryAfter: retryAfter)
    }
    let reason = json?["detail"]?.string ?? "status \(status)"
    if status >= 500 || ServiceUnavailable.transientStatuses.contains(status) {
      return .unreachable(
        ServiceUnavailable(reason, status: status, retryAfter: retryAfter))
    }
    guard status >= 400, !ServiceUnavailable.correctableStatuses.contains(status) else {
      return .notUnderstood("status \(status) without a problem")
    }
    return .refused(Problem(status, "no-problem-object", "Refused by a gateway", reason))
  }

  /// The seconds of a `Retry-After`, which holds seconds or a date.
  private static func seconds(_ text: String) -> Double? {
    if let seconds = Double(text) { return seconds.isFinite ? max(0, seconds) : nil }
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
    return formatter.date(from: text).map { max(0, $0.timeIntervalSinceNow) }
  }
}
