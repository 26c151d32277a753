// What a results controller and a context ask of a store. The words are those of the HTTP API, so
// a file in this process and a server far away answer the same to the same.

/// A store of objects, in this process or elsewhere.
public protocol ObjectStore: Sendable {
  /// The answer to a fetch, as `POST /v1/fetch` gives it: a snapshot, or with `since` the diff
  /// from there as soon as there is one or `wait` seconds are over.
  ///
  /// - Throws: ``ObjectStoreError``; ``ObjectStoreError/tokenExpired`` where `since` cannot be
  ///   continued from.
  func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON

  /// Makes the changes of a save, as `POST /v1/save` takes them, all or none.
  func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt

  /// The saves after the moment `token`, oldest first, as `GET /v1/changes` gives them: some of them,
  /// up to the moment `to`; none where there are no more.
  ///
  /// - Throws: ``ObjectStoreError/tokenExpired`` where history does not reach back. A store without a
  ///   history refuses, as the default does; contexts then take over their own saves alone.
  func changes(since token: String) async throws(ObjectStoreError) -> JSON

  /// Where the model's relationships lead, so that a context can refuse classes that say otherwise; nil,
  /// as the default has it, where that is not known.
  func relationshipDestinations() async -> RelationshipDestinations?

  /// What happens in a fetch, told by and by. As the default has it, one fetch with `since` and `wait`
  /// after the other.
  ///
  /// - Parameter request: as ``fetch(_:)`` takes it, without `since`.
  func feed(of request: JSON) -> any FetchFeed
}

extension ObjectStore {
  public func relationshipDestinations() async -> RelationshipDestinations? { nil }

  public func changes(since token: String) async throws(ObjectStoreError) -> JSON {
    throw .refused(
      Problem(501, "not-implemented", "Not implemented", "This store keeps no history."))
  }
}

/// Why a store did not do what it was asked.
public enum ObjectStoreError: Error, Sendable {
  /// The store understood and refused, and will do so again; the problem says what and why.
  case refused(Problem)
  /// The history does not reach back to the token; a new snapshot is needed.
  case tokenExpired
  /// Nobody answers: no network, no server, a gateway that cannot reach it, a server with too much to
  /// do, a file that somebody else holds or a full disk. Asking again later may help. Of a save it
  /// says that it may have been made or not, unless ``Outage/code`` is there.
  case unreachable(Outage)
  /// What came is no answer of this API.
  case notUnderstood(String)
  /// The task that asked was cancelled, or the store was closed.
  case cancelled
}

extension ObjectStoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .refused(let problem): problem.detail
    case .tokenExpired: "the history does not reach back to this token"
    case .unreachable(let outage): "the store cannot be reached: \(outage.reason)"
    case .notUnderstood(let reason): "the store's answer was not understood: \(reason)"
    case .cancelled: "cancelled"
    }
  }

  /// The stable code of a refusal: `type-mismatch`, `conflict`.
  public var code: String? {
    switch self {
    case .refused(let problem): problem.code
    case .tokenExpired: "token-expired"
    case .unreachable(let outage): outage.code
    case .notUnderstood, .cancelled: nil
    }
  }

  /// Whether the history that a token belongs to has ended, by age or by a change of the schema: a
  /// client fetches again then.
  var endsHistory: Bool { code == "token-expired" || code == "schema-changed" }

  /// Why the store does not answer now, where it may later; nil of every other error.
  public var outage: Outage? {
    switch self {
    case .unreachable(let outage): outage
    // A store of one's own may say it so.
    case .refused(let problem): Outage(problem)
    case .tokenExpired, .notUnderstood, .cancelled: nil
    }
  }

  /// The HTTP status of a refusal, or of what came in an answer's place; nil where nothing came.
  public var status: Int? {
    switch self {
    case .refused(let problem): problem.status
    case .tokenExpired: 410
    case .unreachable(let outage): outage.status
    case .notUnderstood, .cancelled: nil
    }
  }
}

/// What a save did.
public struct SaveReceipt: Sendable, Hashable {
  /// A moment that contains the save.
  public let token: String
  /// The permanent ids of inserts, by temporary id.
  public let ids: [String: ObjectID]
  public let inserted: Int
  public let updated: Int
  public let deleted: Int

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

  /// Reads a save's answer; nil if it has not the form of one.
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
