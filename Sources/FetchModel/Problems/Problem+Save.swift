// Refused saves → problems with every failure listed.

extension Problem {
  /// The problem of a refused save.
  package init(_ error: SaveError) {
    switch error {
    case .malformed(let detail): self = .badRequest("malformed-save", detail)
    case .condition(let error): self.init(error, isPath: false)
    case .invalid(let problems) where problems.allSatisfy({ $0.code == .readOnlyEntity }):
      self.init(403, "read-only", "Read only", Self.summary(problems), listing: problems)
    case .invalid(let problems):
      self.init(
        422, "validation-failed", "Validation failed", Self.summary(problems), listing: problems)
    case .conflicts(let problems):
      self.init(409, "conflict", "Conflict", Self.summary(problems), listing: problems)
    case .forbidden(let problems):
      self.init(403, "forbidden", "Forbidden", Self.summary(problems), listing: problems)
    case .preconditionFailed(let problem):
      self.init(
        412, "precondition-failed", "Precondition failed", problem.detail, listing: [problem])
    case .notFound(let problems):
      self.init(
        404, "unknown-id", "Not found", Self.summary(problems), listing: problems)
    case .tooManyAffected(let limit):
      self = .badRequest(
        "too-many-affected", "The save would change more than \(limit) objects.")
    case .keyReused:
      self.init(
        422, "idempotency-key-reused", "Idempotency key reused",
        "This `Idempotency-Key` was used for another request before.")
    case .store(let error): self.init(error)
    }
  }

  private init(
    _ status: Int, _ code: String, _ title: String, _ detail: String,
    listing problems: [ChangeProblem]
  ) {
    self.init(status, code, title, detail)
    let listed = Self.listed(problems).map(\.json)
    members.append(.init(name: "errors", value: .array(listed)))
  }

  private static func summary(_ problems: [ChangeProblem]) -> String {
    if problems.count == 1 { return problems[0].detail }
    let listed = listed(problems).count
    let list = listed == problems.count ? "them" : "the first \(listed)"
    return "\(problems.count) failures; `errors` lists \(list)."
  }

  /// The maximum number of failures that are listed.
  private static let maxListed = 1_000
  /// No more failures are listed after this many bytes.
  private static let maxListedBytes = 1 << 20

  /// Returns the first failures, up to both limits.
  private static func listed(_ problems: [ChangeProblem]) -> ArraySlice<ChangeProblem> {
    var bytes = 0
    return problems.prefix(maxListed).prefix { problem in
      defer { bytes += problem.byteCount }
      return bytes < maxListedBytes
    }
  }
}

extension ChangeProblem {
  fileprivate var byteCount: Int {
    detail.utf8.count + (property?.utf8.count ?? 0) + (stored?.count ?? 0) + (given?.count ?? 0)
  }

  fileprivate var json: JSON {
    .object(
      .init([
        "change": .number(String(change)), "entity": entity.map { .string($0) },
        "property": property.map { .string($0) }, "code": .string(code.rawValue),
        "detail": .string(detail), "hint": hint.map { .string($0) },
        "stored": stored.flatMap { try? JSON(stored: $0) },
        "given": given.flatMap { try? JSON(stored: $0) },
      ]))
  }
}
