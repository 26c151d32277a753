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
  public static let entries = catalog.split(separator: "\n").compactMap { line -> Entry? in
    let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
    guard parts.count == 3, let status = Int(parts[0]) else { return nil }
    return Entry(status, parts[1], parts[2])
  }

  /// The statuses, ascending.
  public static let statuses: [Int] = Set(entries.map(\.status)).sorted()

  /// Returns the entries with a status.
  public static func codes(of status: Int) -> [Entry] { entries.filter { $0.status == status } }

  /// Status, code and meaning, one code a line.
  private static let catalog = """
    400 bad-request malformed HTTP, or `Content-Range` in a PUT
    400 malformed-json the body is not JSON
    400 malformed-encoding a path or query that is not percent-encoded UTF-8
    400 malformed-save JSON that has not the form of a save
    400 unknown-parameter there is no such parameter
    400 repeated-parameter a parameter that may be given once
    400 bad-parameter a value that its parameter does not take
    400 bad-token not a token's form
    400 bad-cursor not a cursor of this order
    400 bad-etag a precondition that cannot be read
    400 missing-where a batch without `where`
    400 too-many-affected a save that would change more objects than `max-affected`
    400 unknown-entity an entity, named in a body, that is not there
    400 unknown-key-path a property that its entity does not have
    400 not-observable a fetch that cannot be followed
    400 too-many-fetches more than 1,000 fetches for one connection
    400 too-many-terms a list with more terms than its parameter takes
    400 answer-too-large an answer with more bytes than the server's limit
    400 bad-preference a `Prefer` header that cannot be read
    400 bad-idempotency-key not 1 to 255 printable ASCII characters
    400 syntax-error a predicate that cannot be parsed
    400 type-mismatch types that cannot be compared
    400 missing-argument fewer arguments than the predicate asks for
    400 unused-argument more arguments than the predicate asks for
    400 missing-variable a variable without a value
    400 unused-variable a value for no variable
    400 unknown-function a function that is not there
    400 to-many-without-quantifier many values where one is expected
    400 quantifier-without-to-many a quantifier before a single value
    400 unordered-relationship a place in a relationship that has no order
    400 bad-pattern a regular expression that cannot be read
    400 predicate-too-long more than 64 KiB
    400 predicate-too-complex deeper or larger than the limits
    401 unauthorized a valid credential is required
    403 forbidden the credential lacks the scope that the request needs
    403 read-only the store, or the entity, cannot be saved to
    403 explain-disabled the server was started without `--explain`
    404 unknown-path nothing is at this path
    404 unknown-entity an entity, named in the path, that is not there
    404 unknown-id no object has this id
    404 unknown-attribute the entity has no such attribute
    404 unknown-template the model has no such fetch template
    405 method-not-allowed the path takes other methods; `Allow` names them
    410 token-expired history does not reach back to the token
    410 schema-changed the schema of the store has changed: fetch again
    409 conflict what is stored contradicts the save; `errors` lists each
    412 precondition-failed the object is not as it was expected
    413 body-too-large more bytes than the server takes
    414 uri-too-long a target of 7 KiB or more
    415 not-json a body that is not declared as JSON
    415 unsupported-encoding a body with a `Content-Encoding`
    416 range-not-satisfiable a range outside the value
    421 unknown-host a `Host` that the server is not known under; `--allow-host` adds one
    422 idempotency-key-reused the key was used for another request before
    422 validation-failed values that do not fit; `errors` lists each
    431 headers-too-large a head of more than 7 KiB
    429 too-many-requests the caller has used up one of its quotas; try again
    500 file-damaged the content of the database file is damaged
    500 internal-error the store failed
    500 unanswered the server ended the request without a response
    501 not-implemented understood, and not carried out yet
    503 busy another process holds the store; try again
    503 not-ready the store cannot be used now; `reasons` lists why
    503 overloaded too much waits already, or fills the memory; try again
    503 shutting-down the server is ending
    503 storage-failed the storage could not be read or written; try again
    504 query-timeout the query ran past its time limit
    505 http-version-not-supported neither HTTP/1.1 nor HTTP/1.0
    507 disk-full there is no room left
    """
}
