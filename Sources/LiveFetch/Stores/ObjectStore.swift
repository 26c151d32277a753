// The requests of results controllers and contexts to a store. Requests and answers are those of the HTTP
// API, so a file in this process and a remote server answer the same request alike.

/// A store of objects, in this process or on a server.
public protocol ObjectStore: Sendable {
  /// Returns the answer to a fetch, as `POST /v1/fetch` gives it: a snapshot, or with `since` the diff
  /// from there as soon as there is one or `wait` seconds are over.
  ///
  /// - Throws: ``ObjectStoreError``; ``ObjectStoreError/tokenExpired`` if history does not reach back
  ///   to `since`.
  func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON

  /// Makes all changes of a save, in the form of `POST /v1/save`, or none.
  func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt

  /// Makes a save that may be submitted again under the same key, or keeps it in order to make it
  /// later, as an ``OfflineStore`` does. The default makes it by ``save(_:)``, without the key.
  ///
  /// - Parameters:
  ///   - request: the changes, as ``save(_:)`` takes them.
  ///   - idempotencyKey: unique to these changes.
  func submit(
    _ request: JSON, idempotencyKey: String
  ) async throws(ObjectStoreError) -> SubmittedSave

  /// Returns saves after `token`, oldest first, as `GET /v1/changes` gives them, up to the token `to`:
  /// at most 1,000, and fewer if they are large. An answer without saves is the end of the history.
  ///
  /// - Throws: ``ObjectStoreError/tokenExpired`` if history does not reach back to `token`. A store
  ///   without a history refuses, as the default does; contexts then merge their own saves only.
  func changes(since token: String) async throws(ObjectStoreError) -> JSON

  /// Returns the changes of a fetch as they happen. The default makes one fetch with `since` and `wait`
  /// after the other.
  ///
  /// - Parameter request: in the form of ``fetch(_:)``, without `since`.
  func feed(of request: JSON) -> any FetchFeed
}

extension ObjectStore {
  public func submit(
    _ request: JSON, idempotencyKey: String
  ) async throws(ObjectStoreError) -> SubmittedSave {
    .made(try await save(request))
  }

  public func changes(since token: String) async throws(ObjectStoreError) -> JSON {
    throw .refused(
      Problem(501, "not-implemented", "Not implemented", "This store keeps no history."))
  }
}

extension ObjectStore {
  /// Makes a save and waits for the answer. A store with a queue keeps a key of its own for each save.
  ///
  /// - Parameter key: unique to these changes.
  func save(_ request: JSON, key: String) async throws(ObjectStoreError) -> SaveReceipt {
    guard !(self is OfflineStore) else { return try await save(request) }
    switch try await submit(request, idempotencyKey: key) {
    case .made(let receipt): return receipt
    case .queued(let save):
      // The store passes saves on to one with a queue.
      guard let answer = await save.waitForAnswer() else { throw .cancelled }
      return try answer.get()
    }
  }

  /// Fetches a snapshot. A file in this process gives its items as rows.
  func state(
    of request: JSON
  ) async throws(ObjectStoreError) -> (answer: JSON, state: ResultState) {
    let answer: JSON
    var rows: [Item] = []
    if let store = self as? LocalStore {
      let read = try await store.snapshot(of: request, as: ItemRows.self)
      (answer, rows) = (read.answer, read.rows.items)
    } else {
      answer = try await fetch(request)
    }
    guard let state = ResultState(json: answer, rows: rows) else {
      throw .notUnderstood("no snapshot")
    }
    return (answer, state)
  }
}

/// Why a store did not carry out a request.
public enum ObjectStoreError: Error, Sendable {
  /// The store refused the request, and will do so again; the problem has the reason.
  case refused(Problem)
  /// The history does not reach back to the token. Fetch a new snapshot.
  case tokenExpired
  /// There is no answer for now: no network, no server, a gateway that cannot reach it, an overloaded
  /// server, a file that another process holds, a full disk. The same request may succeed later. A save
  /// may have been made, unless there is a ``ServiceUnavailable/code``.
  case unreachable(ServiceUnavailable)
  /// The answer is not one of this API.
  case notUnderstood(String)
  /// The requesting task was cancelled, or the store was closed.
  case cancelled
}

extension ObjectStoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .refused(let problem): problem.detail
    case .tokenExpired: "the history does not reach back to this token"
    case .unreachable(let unavailability):
      unavailability.code == nil
        ? "the store cannot be reached: \(unavailability.reason)"
        : "the store refuses for now: \(unavailability.reason)"
    case .notUnderstood(let reason): "the store's answer was not understood: \(reason)"
    case .cancelled: "cancelled"
    }
  }

  /// The stable code of a refusal: `type-mismatch`, `conflict`.
  public var code: String? {
    switch self {
    case .refused(let problem): problem.code
    case .tokenExpired: "token-expired"
    case .unreachable(let unavailability): unavailability.code
    case .notUnderstood, .cancelled: nil
    }
  }

  /// The reasons of a refused save, each with the number of its change; nil for every other error.
  var refusedChanges: [JSON]? {
    guard case .refused(let problem) = self,
      case .array(let errors)? = problem.members.first(where: { $0.name == "errors" })?.value
    else { return nil }
    return errors
  }

  /// True if the history that a token belongs to ended, by age or by a change of the schema. The
  /// client then fetches again.
  var isTokenExpired: Bool { code == "token-expired" || code == "schema-changed" }

  /// The reason why the store does not answer now but may answer later; nil for every other error.
  public var unavailability: ServiceUnavailable? {
    switch self {
    case .unreachable(let unavailability): unavailability
    // A store outside this package may report it in this form.
    case .refused(let problem): ServiceUnavailable(problem)
    case .tokenExpired, .notUnderstood, .cancelled: nil
    }
  }

  /// The HTTP status of a refusal, or of the response in place of an answer; nil if there was none.
  public var status: Int? {
    switch self {
    case .refused(let problem): problem.status
    case .tokenExpired: 410
    case .unreachable(let unavailability): unavailability.status
    case .notUnderstood, .cancelled: nil
    }
  }
}

/// The result of a save.
public struct SaveReceipt: Sendable, Hashable {
  /// A token whose snapshots contain the save.
  public let token: String
  /// The permanent ids of inserts, by temporary id.
  public let ids: [String: ObjectID]
  /// The number of inserted objects.
  public let inserted: Int
  /// The number of updated objects.
  public let updated: Int
  /// The number of deleted objects.
  public let deleted: Int

  /// - Parameters:
  ///   - token: of the state after the save.
  ///   - ids: the permanent ids of inserts, by temporary id.
  ///   - inserted: the number of inserted objects.
  ///   - updated: the number of updated objects.
  ///   - deleted: the number of deleted objects.
  public init(
    token: String, ids: [String: ObjectID] = [:], inserted: Int = 0, updated: Int = 0,
    deleted: Int = 0
  ) {
    self.token = token
    self.ids = ids
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
  }

  /// Reads a save's answer; nil if it does not have the form of one.
  public init?(json: JSON) {
    guard let token = json["token"]?.string, case .object(let members)? = json["ids"] else {
      return nil
    }
    var ids: [String: ObjectID] = [:]
    for member in members {
      guard let id = ObjectID(json: member.value) else { return nil }
      ids[member.name] = id
    }
    func number(_ name: String) -> Int { Int(clamping: json[name]?.integer ?? 0) }
    self.init(
      token: token, ids: ids, inserted: number("inserted"), updated: number("updated"),
      deleted: number("deleted"))
  }
}
