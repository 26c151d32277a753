// An HTTP answer enters; its JSON leaves, or why there is none. The only place that tells a server's
// refusals from what gateways and networks put in an answer's place.

import Foundation

/// An answer as it came.
struct RemoteAnswer: Sendable {
  let status: Int
  let body: [UInt8]
  let retryAfter: Double?

  init(status: Int, body: [UInt8], retryAfter: String? = nil) {
    self.status = status
    self.body = body
    self.retryAfter = retryAfter.flatMap(Self.seconds)
  }

  /// - Throws: ``error`` unless the status is of success; `unreachable` where the body was cut off
  ///   or is a page of somebody's in between.
  func json() throws(ObjectStoreError) -> JSON {
    guard (200..<300).contains(status) else { throw error }
    guard let json = try? JSON(parsing: body) else {
      throw .unreachable(
        Outage("an answer of \(body.count) bytes that is no JSON", status: status))
    }
    return json
  }

  /// What a status that is not of success means.
  var error: ObjectStoreError {
    let json = try? JSON(parsing: body)
    if let problem = json.flatMap({ Problem(json: $0, status: status) }) {
      return ObjectStoreError(problem, retryAfter: retryAfter)
    }
    guard status >= 500 || Outage.passing.contains(status) else {
      return .notUnderstood("status \(status) without a problem")
    }
    return .unreachable(
      Outage(
        json?["detail"]?.string ?? "status \(status)", status: status, retryAfter: retryAfter))
  }

  /// `Retry-After`: seconds, or a date.
  private static func seconds(_ text: String) -> Double? {
    if let seconds = Double(text) { return seconds.isFinite ? max(0, seconds) : nil }
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
    return formatter.date(from: text).map { max(0, $0.timeIntervalSinceNow) }
  }
}
