// Every code of a problem, with its status and its meaning. Promises: the OpenAPI document and the
// manual list all of them, which tests check.

/// The codes of problems.
public enum ProblemCatalog {
  /// One code. A code with two statuses has two entries.
  public struct Entry: Sendable, Hashable {
    /// The HTTP status.
    public let status: Int
    /// The member `code` of the problem.
    public let code: String
    /// A phrase.
    public let meaning: String

    init(_ status: Int, _ code: String, _ meaning: String) {
      self.status = status
      self.code = code
      self.meaning = meaning
    }
  }

  /// Every code, by status.
  public static let entries: [Entry] = requests + predicates + objects + saves + server

  /// The statuses, ascending.
  public static let statuses: [Int] = Set(entries.map(\.status)).sorted()

  /// Returns the entries with a status.
  public static func codes(of status: Int) -> [Entry] { entries.filter { $0.status == status } }

  private static func codes(
    _ status: Int, _ meanings: KeyValuePairs<String, String>
  ) -> [Entry] {
    meanings.map { Entry(status, $0.key, $0.value) }
  }

  private static let requests =
    codes(
      400,
      [
        "bad-request": "malformed HTTP, or `Content-Range` in a PUT",
        "malformed-json": "the body is not JSON",
        "malformed-encoding": "a path or query that is not percent-encoded UTF-8",
        "malformed-save": "JSON that has not the form of a save",
        "unknown-parameter": "there is no such parameter",
        "repeated-parameter": "a parameter that may be given once",
        "bad-parameter": "a value that its parameter does not take",
        "bad-token": "not a token's form",
        "bad-cursor": "not a cursor of this order",
        "bad-etag": "a precondition that cannot be read",
        "missing-where": "a batch without `where`",
        "too-many-affected": "a save that would change more objects than `max-affected`",
        "unknown-entity": "an entity, named in a body, that is not there",
        "unknown-key-path": "a property that its entity does not have",
        "not-observable": "a fetch that cannot be followed",
        "too-many-fetches": "more than 1,000 fetches for one connection",
        "too-many-terms": "a list with more terms than its parameter takes",
        "answer-too-large": "an answer with more bytes than the server's limit",
        "bad-preference": "a `Prefer` header that cannot be read",
        "bad-idempotency-key": "not 1 to 255 printable ASCII characters",
      ])

  private static let predicates =
    codes(
      400,
      [
        "syntax-error": "a predicate that cannot be parsed",
        "type-mismatch": "types that cannot be compared",
        "missing-argument": "fewer arguments than the predicate asks for",
        "unused-argument": "more arguments than the predicate asks for",
        "missing-variable": "a variable without a value",
        "unused-variable": "a value for no variable",
        "unknown-function": "a function that is not there",
        "to-many-without-quantifier": "many values where one is expected",
        "quantifier-without-to-many": "a quantifier before a single value",
        "unordered-relationship": "a place in a relationship that has no order",
        "bad-pattern": "a regular expression that cannot be read",
        "predicate-too-long": "more than 64 KiB",
        "predicate-too-complex": "deeper or larger than the limits",
      ])

  private static let objects =
    codes(
      401,
      [
        "unauthorized": "a valid credential is required"
      ])
    + codes(
      403,
      [
        "forbidden": "the credential lacks the scope that the request needs",
        "read-only": "the store, or the entity, cannot be saved to",
        "explain-disabled": "the server was started without `--explain`",
      ])
    + codes(
      404,
      [
        "unknown-path": "nothing is at this path",
        "unknown-entity": "an entity, named in the path, that is not there",
        "unknown-id": "no object has this id",
        "unknown-attribute": "the entity has no such attribute",
        "unknown-template": "the model has no such fetch template",
      ])
    + codes(
      405,
      [
        "method-not-allowed": "the path takes other methods; `Allow` names them"
      ])
    + codes(
      410,
      [
        "token-expired": "history does not reach back to the token",
        "schema-changed": "the schema of the store has changed: fetch again",
      ])

  private static let saves =
    codes(
      409,
      [
        "conflict": "what is stored contradicts the save; `errors` lists each"
      ])
    + codes(
      412,
      [
        "precondition-failed": "the object is not as it was expected"
      ])
    + codes(
      413,
      [
        "body-too-large": "more bytes than the server takes"
      ])
    + codes(
      414,
      [
        "uri-too-long": "a target of 7 KiB or more"
      ])
    + codes(
      415,
      [
        "not-json": "a body that is not declared as JSON",
        "unsupported-encoding": "a body with a `Content-Encoding`",
      ])
    + codes(
      416,
      [
        "range-not-satisfiable": "a range outside the value"
      ])
    + codes(
      421,
      [
        "unknown-host": "a `Host` that the server is not known under; `--allow-host` adds one"
      ])
    + codes(
      422,
      [
        "idempotency-key-reused": "the key was used for another request before",
        "validation-failed": "values that do not fit; `errors` lists each",
      ])
    + codes(
      431,
      [
        "headers-too-large": "a head of more than 7 KiB"
      ])

  private static let server =
    codes(
      429,
      [
        "too-many-requests": "the caller has used up one of its quotas; try again"
      ])
    + codes(
      500,
      [
        "file-damaged": "the content of the database file is damaged",
        "internal-error": "the store failed",
        "unanswered": "the server ended the request without a response",
      ])
    + codes(
      501,
      [
        "not-implemented": "understood, and not carried out yet"
      ])
    + codes(
      503,
      [
        "busy": "another process holds the store; try again",
        "not-ready": "the store cannot be used now; `reasons` lists why",
        "overloaded": "too much waits already, or fills the memory; try again",
        "shutting-down": "the server is ending",
        "storage-failed": "the storage could not be read or written; try again",
      ])
    + codes(
      504,
      [
        "query-timeout": "the query ran past its time limit"
      ])
    + codes(
      505,
      [
        "http-version-not-supported": "neither HTTP/1.1 nor HTTP/1.0"
      ])
    + codes(
      507,
      [
        "disk-full": "there is no room left"
      ])
}
