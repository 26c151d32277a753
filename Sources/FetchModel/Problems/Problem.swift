// Errors → the problem details that clients receive (RFC 9457). Only this type knows HTTP statuses
// and problem codes.

/// A refusal as a client sees it.
public struct Problem: Error, Sendable {
  /// The HTTP status, 400 to 599.
  public var status: Int
  /// Stable and in kebab-case; listed in the manual.
  public var code: String
  /// A short summary, the same for every problem with this code.
  public var title: String
  /// The reason in this instance.
  public var detail: String
  /// The byte offset of the error in a predicate.
  public var offset: Int?
  /// A suggestion for the correction; nil if there is none.
  public var hint: String?
  /// Further members of the body, as JSON.
  public var members: [JSON.Member] = []
  /// The cause of a failure, for the log only: it is never sent.
  public var cause: String?
  /// Header fields of the response, in addition to those of every problem.
  public var headers: [(name: String, value: String)] = []

  /// Makes a problem.
  public init(
    _ status: Int, _ code: String, _ title: String, _ detail: String, offset: Int? = nil,
    hint: String? = nil
  ) {
    self.status = status
    self.code = code
    self.title = title
    self.detail = detail.shortened
    self.offset = offset
    self.hint = hint
  }

  /// The body as JSON: `type`, `title`, `status`, `detail`, `code`, and the members that the code
  /// adds.
  public var json: [UInt8] {
    let common: [JSON.Member] = .init([
      "type": .string("urn:livefetch:problem:\(code)"), "title": .string(title),
      "status": .number(String(status)), "detail": .string(detail), "code": .string(code),
      "offset": offset.map { .number(String($0)) }, "hint": hint.map { .string($0) },
    ])
    return JSON.object(common + members).bytes
  }
}

extension String {
  /// The text in a message: of a long text, the beginning and the end. A name that a client sends may
  /// be as long as its request.
  var shortened: String {
    guard utf8.count > 8_000 else { return self }
    return "\(String(unicodeScalars.prefix(1_000))) … \(String(unicodeScalars.suffix(500)))"
  }
}

// MARK: - The fixed ones

extension Problem {
  package static func badRequest(_ code: String, _ detail: String, hint: String? = nil) -> Problem {
    Problem(400, code, "Bad request", detail, hint: hint)
  }

  package static func notFound(_ code: String, _ detail: String, hint: String? = nil) -> Problem {
    Problem(404, code, "Not found", detail, hint: hint)
  }

  package static let noSuchPath = notFound("unknown-path", "There is nothing at this path.")

  package static func methodNotAllowed(_ allowed: String) -> Problem {
    var problem = Problem(
      405, "method-not-allowed", "Method not allowed", "This path takes \(allowed).")
    problem.headers = [("Allow", allowed)]
    return problem
  }

  package static let tokenExpired = Problem(
    410, "token-expired", "Token expired",
    "The history does not reach back to this token, or reading it takes too long; "
      + "fetch a new snapshot.")

  package static let catchUpTimedOut = Problem(
    410, "token-expired", "Token expired",
    "There was no time to find out what happened since this token; fetch a new snapshot.")

  package static let badToken = badRequest(
    "bad-token", "`since` takes a token of this API, or `now`.")

  package static func notObservable(_ entity: String) -> Problem {
    badRequest(
      "not-observable",
      "`\(entity)` cannot be followed: it is a view, has no primary key or only a DEFERRABLE one, is served "
        + "read only, or is one of the tables that the limits in the manual name.")
  }

  /// A 503 that the client repeats after a second.
  private static func unavailable(_ code: String, _ detail: String) -> Problem {
    var problem = Problem(503, code, "Service unavailable", detail)
    problem.headers = [("Retry-After", "1")]
    return problem
  }

  package static let locked = unavailable(
    "busy",
    "Another transaction holds a table, so that its changes cannot be followed yet; try again.")

  package static let volatilePredicate = badRequest(
    "not-observable", "`now()` changes without a save, so the fetch cannot be followed.")

  package static let explainDisabled = Problem(
    403, "explain-disabled", "Forbidden",
    "`explain` shows SQL, and this server was not started with `--explain`.")

  package static let readOnly = Problem(
    403, "read-only", "Read only",
    "This server does not save: its store is read only, or its role may not change this table.")

  package static let unauthorized: Problem = {
    var problem = Problem(
      401, "unauthorized", "Unauthorized",
      "A valid credential is required: `Authorization: Bearer …`.")
    problem.headers = [("WWW-Authenticate", "Bearer realm=\"LiveFetch\"")]
    return problem
  }()

  package static let shuttingDown = unavailable(
    "shutting-down", "The server is shutting down; try again.")

  package static func overloaded(_ detail: String) -> Problem {
    unavailable("overloaded", detail)
  }

  package static let notJSON = Problem(
    415, "not-json", "Unsupported media type",
    "The body has to be JSON, declared `Content-Type: application/json`.",
    hint: "curl --json '{…}' sets the header")

  package static let unsupportedEncoding = Problem(
    415, "unsupported-encoding", "Unsupported content coding",
    "The body has a `Content-Encoding`, and bodies are read as they are.",
    hint: "send it uncompressed, without the header")

  package static func notImplemented(_ feature: String) -> Problem {
    Problem(
      501, "not-implemented", "Not implemented", "\(feature) is understood but not carried out yet."
    )
  }

  package static func malformedJSON(_ error: JSONError) -> Problem {
    Problem(
      400, "malformed-json", "Bad request",
      "The body is not JSON: expected \(error.expected) at byte \(error.offset).",
      offset: error.offset)
  }
}

// MARK: - From the stages' own errors

extension Problem {
  /// - Parameter isPath: true if the request's path named the entity; then the path was not found.
  package init(_ error: FetchRequestError, isPath: Bool) {
    switch error {
    case .unknownParameter(let name, let hint):
      self = .badRequest("unknown-parameter", "There is no parameter `\(name)`.", hint: hint)
    case .repeatedParameter(let name):
      self = .badRequest("repeated-parameter", "`\(name)` may be given once.")
    case .tooManyTerms(let parameter, let limit):
      self = .badRequest("too-many-terms", "`\(parameter)` takes at most \(limit) terms.")
    case .badValue(let parameter, let detail):
      self = .badRequest("bad-parameter", "`\(parameter)`: \(detail)")
    case .badToken: self = .badToken
    case .badCursor:
      self = .badRequest("bad-cursor", "`after` takes the `next` cursor of the same order.")
    case .malformedEncoding(let detail): self = .badRequest("malformed-encoding", detail)
    case .unknownEntity(let name, let hint):
      self = Problem(
        isPath ? 404 : 400, "unknown-entity", isPath ? "Not found" : "Bad request",
        "There is no entity `\(name)`.", hint: hint)
    case .unknownKeyPath(let parameter, let error):
      self = .badRequest(
        "unknown-key-path",
        "`\(parameter)`: `\(error.entity)` has no property `\(error.name)`.", hint: error.hint)
    case .predicate(let parameter, let error): self.init(error, parameter: parameter)
    case .notImplemented(let feature): self = .notImplemented(feature)
    }
  }

  /// - Parameter limit: the most bytes of a response.
  package static func answerTooLarge(_ limit: Int) -> Problem {
    .badRequest(
      "answer-too-large", "The answer has more than \(limit) bytes.",
      hint: "a smaller `limit`, or a `select` of fewer values, makes it smaller")
  }

  package init(_ error: StoreError) {
    switch error {
    case .answerTooLarge(let limit): self = .answerTooLarge(limit)
    case .tooManyTables:
      self = .badRequest(
        "too-many-terms",
        "The fetch and its access rules join more tables than the store can in one query.",
        hint: "a to-many step between tables with a join table counts twice")
    case .queryTimeout, .tooSlow:
      self.init(
        504, "query-timeout", "Query timeout", "The query ran past the server's time limit.")
    case .busy, .inUse:
      self = .unavailable("busy", "The store is busy; try again.")
    case .overloaded:
      self = .overloaded("The server has too much to do; try again.")
    case .shuttingDown: self = .shuttingDown
    case .diskFull:
      self.init(507, "disk-full", "Insufficient storage", "There is no room left to save.")
    case .damaged(let text):
      self.init(
        500, "file-damaged", "Internal server error", "The content of the database file is damaged."
      )
      cause = text
    case .storageFailed, .unusable:
      self.init(
        503, "storage-failed", "Service unavailable",
        "The storage could not be read or written; try again.")
      headers = [("Retry-After", "1")]
    case .readOnly: self = .readOnly
    case .schemaChanged(let entity):
      self.init(
        410, "schema-changed", "Gone",
        entity.isEmpty
          ? "The schema of the store has changed; fetch again."
          : "The table of `\(entity)` has changed or is gone.")
    case .unsupported(let feature): self = .notImplemented(feature)
    case .failed(let text):
      self.init(500, "internal-error", "Internal server error", "The store failed; see the log.")
      cause = text
    }
  }
}

extension Problem {
  package init(_ error: PredicateError, parameter: String) {
    guard error.code != .notImplemented else {
      self = .notImplemented("`\(parameter)`: \(error.found)")
      offset = error.offset
      return
    }
    self.init(
      400, error.code.rawValue, "Bad predicate", "`\(parameter)` \(error)", offset: error.offset,
      hint: error.hint)
    if !error.found.isEmpty { members.append(.init(name: "found", value: .string(error.found))) }
    members.append(.init(name: "expected", value: .string(error.expected)))
  }
}
