// What the service asks of a store: snapshots as bytes, saves, and the history of saves. Whoever
// implements this can be served.

/// What kind of store it is, for `GET /v1`.
public struct StoreProperties: Sendable, Hashable {
  /// `sqlite` or `postgres`.
  public let kind: String
  public let isReadOnly: Bool

  public init(kind: String, isReadOnly: Bool) {
    self.kind = kind
    self.isReadOnly = isReadOnly
  }
}

/// How long a query may take.
public enum Effort: Sendable, Hashable {
  /// A few milliseconds: for threads that others wait for. Past that: ``StoreError/tooSlow``.
  case quick
  /// The store's own time limit. Past that: ``StoreError/queryTimeout``.
  case full
}

/// An answer as JSON and the moment it is true of.
public struct EncodedSnapshot: Sendable {
  public let json: [UInt8]
  public let token: Token

  public init(json: [UInt8], token: Token) {
    self.json = json
    self.token = token
  }
}

/// One object as JSON, with the hash of its stored values.
public struct ObjectSnapshot: Sendable, Hashable {
  public let json: [UInt8]
  /// Without quotes.
  public let etag: String
  public let token: Token

  public init(json: [UInt8], etag: String, token: Token) {
    self.json = json
    self.etag = etag
    self.token = token
  }
}

/// One stored value as bytes.
public struct RawValue: Sendable, Hashable {
  /// nil: the attribute is nil.
  public let bytes: [UInt8]?
  public let type: AttributeType

  public init(bytes: [UInt8]?, type: AttributeType) {
    self.bytes = bytes
    self.type = type
  }
}

/// One open read transaction that gives answers as well.
public protocol StoreMoment: LiveMoment {
  /// A fetch's snapshot as the JSON of API.md section 4.
  func snapshot(of plan: FetchPlan) throws(StoreError) -> EncodedSnapshot
  /// One object with the values of `plan.selection`; nil where there is none.
  func object(_ id: ObjectID, of plan: FetchPlan) throws(StoreError) -> ObjectSnapshot?
}

/// A store that can be served.
public protocol Store: LiveStore, AnyObject {
  var properties: StoreProperties { get }
  /// The newest token that this process knows of; costs no query.
  var newestToken: Token { get }

  /// Runs `body` in one read transaction at the newest committed state: for answers that have to
  /// be true of the same moment.
  func readAnswers<Result>(
    _ body: (any StoreMoment) throws(StoreError) -> Result
  ) throws(StoreError) -> Result

  /// Runs `body` on this thread; a question of full effort in it that is being answered when `isOver`
  /// comes true ends soon after with ``StoreError/queryTimeout``.
  func unless<Result>(
    _ isOver: @escaping @Sendable () -> Bool, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result

  /// A fetch's snapshot as the JSON of API.md section 4.
  func snapshot(of plan: FetchPlan, effort: Effort) throws(StoreError) -> EncodedSnapshot
  /// The same of a form's plan. What was prepared for the form may be used again.
  func snapshot(of filled: FilledForm, effort: Effort) throws(StoreError) -> EncodedSnapshot
  /// How the store goes about a fetch's snapshot, without running it.
  func explain(_ plan: FetchPlan, effort: Effort) throws(StoreError) -> Explanation
  /// One object with the values of `plan.selection`; nil where there is none.
  func object(
    _ id: ObjectID, of plan: FetchPlan, effort: Effort
  ) throws(StoreError) -> ObjectSnapshot?
  /// One attribute of one object; nil where there is no such object.
  func rawValue(
    of id: ObjectID, entity: Int, attribute: Int
  ) throws(StoreError) -> RawValue?
  /// Whether nothing of `entities` was touched after `last`, and history still reaches back to
  /// `token`.
  func isUntouched(
    _ entities: Set<Int>, since last: Token, holding token: Token
  ) throws(StoreError) -> Bool
  /// The saves after `token` (nil: all that history holds), oldest first, at most `limit`; nil
  /// where the token cannot be continued from.
  func changes(after token: Token?, limit: Int) throws(StoreError) -> ChangeHistory?

  /// What the store counts and holds.
  var metrics: [MetricFamily] { get }

  /// Has `body` called after every commit that touched something, of this process or another.
  func onChange(_ body: @escaping @Sendable () -> Void)

  /// Carries a save out and then calls `completion`, on a thread of the store's.
  func save(
    _ request: SaveRequest,
    completion: @escaping @Sendable (Result<SaveResult, SaveError>) -> Void)

  /// Carries a save out unless it was made before under the same key; either way `completion` gets
  /// the answer that was made when it was. Of saves with one key at the same time one is made.
  func save(
    _ request: SaveRequest, once: SaveOnce,
    completion: @escaping @Sendable (Result<KeptAnswer, SaveError>) -> Void)

  /// The answer of the save that was made under `key`; nil where none was.
  ///
  /// - Throws: ``SaveError/keyReused`` where it was another one.
  func keptAnswer(under key: String, fingerprint: String) throws(SaveError) -> KeptAnswer?
}

/// Why a store has to be opened again.
public enum OutdatedReason: Sendable, Hashable {
  /// The schema is another one than was opened, or was changed so that history has a hole.
  case schemaChanged
  /// Another file has taken the place of the one that was opened.
  case fileReplaced
}

/// A store whose schema, or whole file, other programs may replace while it is open.
public protocol ReopenableStore: Store {
  /// Calls `body` once when the store is no longer what was opened: close it then and open it again.
  func onOutdated(_ body: @escaping @Sendable (OutdatedReason) -> Void)
  /// Carries out the saves that wait and lets go of the storage.
  func close()
}

extension Store {
  public func keptAnswer(
    under key: String, fingerprint: String
  ) throws(SaveError) -> KeptAnswer? { nil }

  /// A store that breaks nothing off.
  public func unless<Result>(
    _ isOver: @escaping @Sendable () -> Bool, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result { try body() }

  /// Nothing to tell.
  public var metrics: [MetricFamily] { [] }
}

extension Store {
  public func snapshot(
    of filled: FilledForm, effort: Effort
  ) throws(StoreError) -> EncodedSnapshot {
    try snapshot(of: filled.plan, effort: effort)
  }

  /// A store that has nothing to tell of how it works.
  public func explain(_ plan: FetchPlan, effort: Effort) throws(StoreError) -> Explanation {
    Explanation(entity: model.entities[plan.definition.entity].name, statements: [])
  }
}

/// A part of the history of saves.
public struct ChangeHistory: Sendable {
  /// The moment after which `saves` tells everything, up to `to`.
  public let from: Token
  public let to: Token
  public let saves: [SaveRecord]

  public init(from: Token, to: Token, saves: [SaveRecord]) {
    self.from = from
    self.to = to
    self.saves = saves
  }
}

/// What one save touched, by entity index.
public struct SaveRecord: Sendable {
  public let token: Token
  public let at: Instant
  public let inserted: [Int: [ObjectID]]
  /// The names of the properties that changed stand with each id.
  public let updated: [Int: [(id: ObjectID, properties: [String])]]
  public let deleted: [Int: [ObjectID]]

  public init(
    token: Token, at: Instant, inserted: [Int: [ObjectID]],
    updated: [Int: [(id: ObjectID, properties: [String])]], deleted: [Int: [ObjectID]]
  ) {
    self.token = token
    self.at = at
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
  }
}
