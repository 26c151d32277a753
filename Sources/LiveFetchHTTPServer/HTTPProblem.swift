// Refusals by the server itself, before any handler sees the request.
//
// Input: a reason. Output: the members of an `application/problem+json` body (RFC 9457), from which
// the closure of ``HTTPServerConfiguration/renderProblem`` makes a response.

/// A refusal by the server itself.
public struct HTTPProblem: Error, Sendable, Equatable {
  /// The HTTP status, 400 to 599.
  public var status: Int
  /// Stable and in kebab-case: `bad-request`, `body-too-large`, `uri-too-long`, `headers-too-large`,
  /// `http-version-not-supported`, `unknown-host`, `unanswered`, `shutting-down`, `overloaded`.
  public var code: String
  /// A short summary that is the same for every occurrence of the code.
  public var title: String
  /// The reason in this instance; never repeats bytes of the request.
  public var detail: String
  /// The seconds after which the client may try again; nil if the condition does not end by itself.
  public var retryAfter: Int?
  /// The request's id; nil unless the status is 500.
  public var requestID: String?
  /// True if no header of the response names ``requestID`` yet.
  public var isNewRequestID = false

  /// Makes an HTTP problem.
  public init(status: Int, code: String, title: String, detail: String) {
    self.status = status
    self.code = code
    self.title = title
    self.detail = detail
  }

  static func badRequest(_ detail: String) -> HTTPProblem {
    HTTPProblem(status: 400, code: "bad-request", title: "Bad request", detail: detail)
  }

  static func bodyTooLarge(limit: Int) -> HTTPProblem {
    HTTPProblem(
      status: 413, code: "body-too-large", title: "Body too large",
      detail: "A body may have at most \(limit) bytes.")
  }

  static func targetTooLong(limit: Int) -> HTTPProblem {
    HTTPProblem(
      status: 414, code: "uri-too-long", title: "URI too long",
      detail: "A request line with its header lines may have at most \(limit) bytes.")
  }

  static func headersTooLarge(limit: Int) -> HTTPProblem {
    headersTooLarge("A request's head may have at most \(limit) bytes.")
  }

  static func headersTooLarge(_ detail: String) -> HTTPProblem {
    HTTPProblem(
      status: 431, code: "headers-too-large", title: "Headers too large", detail: detail)
  }

  static let unknownHost = HTTPProblem(
    status: 421, code: "unknown-host", title: "Misdirected request",
    detail: "This server is not known under the host name of the request.")

  static let versionNotSupported = HTTPProblem(
    status: 505, code: "http-version-not-supported", title: "HTTP version not supported",
    detail: "This server speaks HTTP/1.1 and HTTP/1.0.")

  static let unanswered = HTTPProblem(
    status: 500, code: "unanswered", title: "Internal server error",
    detail: "The server ended the request without a response.")

  static let shuttingDown = unavailable("shutting-down", "The server is shutting down.")

  static let overloaded = unavailable(
    "overloaded",
    "Other requests and answers take all the memory that there is for them; try again.")

  private static func unavailable(_ code: String, _ detail: String) -> HTTPProblem {
    var problem = HTTPProblem(
      status: 503, code: code, title: "Service unavailable", detail: detail)
    problem.retryAfter = 1
    return problem
  }

  /// The default rendering: `application/problem+json`, not stored by caches.
  public func response() -> HTTPResponse {
    let text = """
      {"type":"about:blank","title":\(quoted(title)),"status":\(status),\
      "detail":\(quoted(detail)),"code":\(quoted(code))}
      """
    var headers = [
      (name: "Content-Type", value: "application/problem+json"),
      (name: "Cache-Control", value: "no-store"),
    ]
    if let retryAfter { headers.append(("Retry-After", String(retryAfter))) }
    return HTTPResponse(status: status, headers: headers, body: .text(text))
  }
}

/// The text as a JSON string.
private func quoted(_ text: String) -> String {
  var quoted = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"", "\\": quoted += "\\\(scalar)"
    case _ where scalar.value < 0x20: quoted += " "
    default: quoted.unicodeScalars.append(scalar)
    }
  }
  return quoted + "\""
}
