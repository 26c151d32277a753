// Every code that a problem can have, with its status and what it means. The document and the README
// are made and checked from it.

/// The codes of problems.
public enum ProblemCatalogue {
  /// One code. A code that has two statuses stands twice.
  public struct Entry: Sendable, Hashable {
    public let status: Int
    public let code: String
    /// A phrase.
    public let meaning: String

    init(_ status: Int, _ code: String, _ meaning: String) {
      self.status = status
      self.code = code
      self.meaning = meaning
    }
  }

  /// By status.
  public static let entries: [Entry] = requests + predicates + objects + saves + server

  /// The statuses, ascending.
  public static let statuses: [Int] = Set(entries.map(\.status)).sorted()

  public static func codes(of status: Int) -> [Entry] { entries.filter { $0.status == status } }

  private static let requests = [
    Entry(400, "bad-request", "malformed HTTP"),
    Entry(400, "malformed-json", "the body is not JSON"),
    Entry(400, "malformed-encoding", "a path or query that is not percent-encoded UTF-8"),
    Entry(400, "malformed-save", "JSON that has not the form of a save"),
    Entry(400, "unknown-parameter", "there is no such parameter"),
    Entry(400, "repeated-parameter", "a parameter that may be given once"),
    Entry(400, "bad-parameter", "a value that its parameter does not take"),
    Entry(400, "bad-token", "not a token's form"),
    Entry(400, "bad-cursor", "not a cursor of this order"),
    Entry(400, "bad-etag", "a precondition that cannot be read"),
    Entry(400, "missing-where", "a batch without `where`"),
    Entry(400, "too-many-affected", "a batch that would touch more than `max-affected`"),
    Entry(400, "unknown-entity", "an entity, named in a body, that is not there"),
    Entry(400, "unknown-key-path", "a property that its entity does not have"),
    Entry(400, "not-observable", "a fetch that cannot be followed"),
    Entry(400, "too-many-fetches", "more than 1,000 fetches for one connection"),
    Entry(400, "answer-too-large", "snapshots of many fetches that are too much for one answer"),
    Entry(400, "bad-idempotency-key", "not 1 to 255 printable ASCII characters"),
  ]

  private static let predicates = [
    Entry(400, "syntax-error", "a predicate that cannot be parsed"),
    Entry(400, "type-mismatch", "types that cannot be compared"),
    Entry(400, "missing-argument", "fewer arguments than the predicate asks for"),
    Entry(400, "unused-argument", "more arguments than the predicate asks for"),
    Entry(400, "missing-variable", "a variable without a value"),
    Entry(400, "unused-variable", "a value for no variable"),
    Entry(400, "unknown-function", "a function that is not there"),
    Entry(400, "to-many-without-quantifier", "many values where one is expected"),
    Entry(400, "quantifier-without-to-many", "a quantifier before a single value"),
    Entry(400, "unordered-relationship", "a place in a relationship that has no order"),
    Entry(400, "bad-pattern", "a regular expression that cannot be read"),
    Entry(400, "predicate-too-long", "more than 64 KiB"),
    Entry(400, "predicate-too-complex", "deeper or larger than the limits"),
  ]

  private static let objects = [
    Entry(401, "unauthorized", "a bearer token is required"),
    Entry(403, "explain-disabled", "`explain` where the server was not started with `--explain`"),
    Entry(403, "read-only", "the store, or the entity, cannot be saved to"),
    Entry(403, "explain-disabled", "the server was started without `--explain`"),
    Entry(404, "unknown-path", "nothing is at this path"),
    Entry(404, "unknown-entity", "an entity, named in the path, that is not there"),
    Entry(404, "unknown-id", "no object has this id"),
    Entry(404, "unknown-attribute", "the entity has no such attribute"),
    Entry(404, "unknown-template", "the model has no such fetch template"),
    Entry(405, "method-not-allowed", "the path takes other methods; `Allow` names them"),
    Entry(410, "token-expired", "history does not reach back to the token"),
    Entry(410, "schema-changed", "the table has changed or is gone"),
  ]

  private static let saves = [
    Entry(409, "conflict", "what is stored contradicts the save; `errors` lists each"),
    Entry(412, "precondition-failed", "the object is not as it was expected"),
    Entry(413, "body-too-large", "more bytes than the server takes"),
    Entry(415, "not-json", "a body that is not declared as JSON"),
    Entry(416, "range-not-satisfiable", "a range outside the value"),
    Entry(422, "idempotency-key-reused", "the key was used for another request before"),
    Entry(422, "validation-failed", "values that do not fit; `errors` lists each"),
    Entry(431, "headers-too-large", "a head of more than 7 KiB"),
  ]

  private static let server = [
    Entry(500, "internal-error", "the store failed"),
    Entry(500, "unanswered", "the request was given up"),
    Entry(501, "not-implemented", "understood, and not carried out yet"),
    Entry(503, "busy", "another process holds the store; try again"),
    Entry(503, "overloaded", "too much waits already; try again"),
    Entry(503, "shutting-down", "the server is ending"),
    Entry(503, "storage-failed", "the storage could not be read or written; try again"),
    Entry(504, "query-timeout", "the query ran past its time limit"),
    Entry(505, "http-version-not-supported", "neither HTTP/1.1 nor HTTP/1.0"),
    Entry(507, "disk-full", "there is no room left"),
  ]
}
