// The store's interface for the service: snapshots as bytes, saves, and the history of saves.

/// Properties of the store for `GET /v1`.
public struct StoreProperties: Sendable, Hashable {
  /// `sqlite` or `postgres`.
  public let kind: String
  /// True if the store refuses saves.
  public let isReadOnly: Bool
  /// The name of the database: of an SQLite file, the last part of its path. nil if it has none.
  public let name: String?
  /// How many connections to a database server read at the same time; 0 if the database is read in
  /// this process.
  public let connections: Int

  /// Makes store properties.
  public init(kind: String, isReadOnly: Bool, name: String? = nil, connections: Int = 0) {
    self.kind = kind
    self.isReadOnly = isReadOnly
    self.name = name
    self.connections = connections
  }
}

/// The time limit of a query.
public enum QueryClass: Sendable, Hashable {
  /// A few milliseconds, for threads that must not be blocked. Exceeding it throws
  /// ``StoreError/tooSlow``.
  case quick
  /// The store's own time limit. Exceeding it throws ``StoreError/queryTimeout``.
  case full
}

/// An object as JSON, with the hash of its stored values.
public struct ObjectSnapshot: Sendable, Hashable {
  /// The object as JSON, with the selected values.
  public let json: [UInt8]
  /// Without quotes.
  public let etag: String
  /// The position of the history at which the object was read.
  public let token: Token

  /// Makes an object snapshot.
  public init(json: [UInt8], etag: String, token: Token) {
    self.json = json
    self.etag = etag
    self.token = token
  }

  /// Makes a snapshot of a row whose last value is the hash, which it removes from the JSON:
  /// `…,"@etag":"9f3c…"}`. nil if the row has no values.
  package init?(_ row: Row, token: Token) {
    guard let etag = row.values.last else { return nil }
    var json = Array(row.json[..<(etag.lowerBound - ",\"@etag\":".utf8.count)])
    json.append(0x7D)
    let text = String(decoding: row.json[etag].dropFirst().dropLast(), as: UTF8.self)
    self.init(json: json, etag: text, token: token)
  }
}

/// A stored value as bytes.
public struct RawValue: Sendable, Hashable {
  /// nil if the attribute is nil.
  public let bytes: [UInt8]?
  /// The attribute's type, which determines the response's media type. `.string` for a value of a binary
  /// attribute that SQLite stores as text or as a number.
  public let type: AttributeType

  /// Makes a raw value.
  public init(bytes: [UInt8]?, type: AttributeType) {
    self.bytes = bytes
    self.type = type
  }
}

/// An open read transaction that also builds responses.
public protocol StoreReadTransaction: ReadTransaction {
  /// Returns a fetch's snapshot as the JSON of the HTTP API.
  func snapshot(of plan: FetchPlan) throws(StoreError) -> EncodedSnapshot
  /// Returns an object with the values of `plan.selection`; nil if it does not exist.
  func object(_ id: ObjectID, of plan: FetchPlan) throws(StoreError) -> ObjectSnapshot?
  /// Returns what a copy of the store has in addition to `model` and the objects.
  func copiedState(of model: ModelFile) throws(StoreError) -> CopiedState
}

/// A store that can be served.
public protocol Store: LiveStore, AnyObject {
  var properties: StoreProperties { get }

  /// Runs `body` in a read transaction on the newest committed state, for responses that have to be
  /// consistent with each other.
  func readResponses<Result>(
    _ body: (any StoreReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result

  /// Runs `body` on this thread. When `isCancelled` becomes true, a running query with the full time
  /// limit ends soon with ``StoreError/queryTimeout``.
  ///
  /// - Parameter deadline: when such queries end at the latest; nil for the store's own time limit.
  func withCancellation<Result>(
    _ isCancelled: @escaping @Sendable () -> Bool, until deadline: ContinuousClock.Instant?,
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result

  /// Returns a fetch's snapshot as the JSON of the HTTP API.
  func snapshot(of plan: FetchPlan, queryClass: QueryClass) throws(StoreError) -> EncodedSnapshot
  /// Returns the snapshot of a bound plan. Statements prepared for the same parameterized plan are
  /// reused.
  func snapshot(of bound: BoundPlan, queryClass: QueryClass) throws(StoreError) -> EncodedSnapshot
  /// Returns how the store would execute a fetch, without running it.
  func explain(_ plan: FetchPlan, queryClass: QueryClass) throws(StoreError) -> Explanation
  /// Returns an object with the values of `plan.selection`; nil if it does not exist.
  func object(
    _ id: ObjectID, of plan: FetchPlan, queryClass: QueryClass
  ) throws(StoreError) -> ObjectSnapshot?
  /// Returns one attribute of an object; nil if the object does not exist.
  ///
  /// - Parameter plan: A fetch of which the object has to be a result too; nil for none.
  func rawValue(
    of id: ObjectID, entity: Int, attribute: Int, within plan: FetchPlan?, queryClass: QueryClass
  ) throws(StoreError) -> RawValue?
  /// True if no object of `entities` changed after `last`. False if `token`, which a client has sent, has
  /// expired.
  func isUnchanged(
    _ entities: Set<Int>, since last: Token, ifKnown token: Token
  ) throws(StoreError) -> Bool
  /// Returns at most `limit` saves after `token` that changed an object, oldest first; nil if the token
  /// has expired. Without a token: from the beginning of the history.
  func changes(after token: Token?, limit: Int) throws(StoreError) -> ChangeHistory?

  /// Calls `completion` once, on any thread, possibly much later, with the reasons why the store
  /// cannot read, write (unless it is read-only) or be followed; empty if it can.
  func checkHealth(_ completion: @escaping @Sendable ([StoreFault]) -> Void)

  /// Returns every stored API key, revoked and expired ones included. O(keys).
  func apiKeys() throws(StoreError) -> [APIKeyRecord]

  /// Calls `body` after every commit with changes, of this process or another.
  func onChange(_ body: @escaping @Sendable () -> Void)

  /// Executes a save, then calls `completion` on a thread of the store.
  func save(
    _ request: SaveRequest,
    completion: @escaping @Sendable (Result<SaveResult, SaveError>) -> Void)

  /// Executes a save unless one with the same key was executed before. In both cases `completion`
  /// receives the response of the executed save. Of concurrent saves with the same key one is
  /// executed.
  func save(
    _ request: SaveRequest, once: IdempotentSave,
    completion: @escaping @Sendable (Result<StoredResponse, SaveError>) -> Void)

  /// Refuses the saves that wait, and every later one, with ``StoreError/shuttingDown``. Returns
  /// after their completions were called.
  ///
  /// - Parameter cancellingRunning: whether the saves that run are rolled back and refused as well.
  ///   A save that is already being committed is not.
  func endSaves(cancellingRunning: Bool)

  /// The response to the save that was made under `key`; nil if there was none.
  ///
  /// - Parameter fingerprint: identifies the content of the request.
  /// - Throws: ``SaveError/keyReused`` if the key belongs to a different save.
  func storedResponse(under key: String, fingerprint: String) throws(SaveError) -> StoredResponse?
}

/// A store that executes one save after another. So that other saves need not wait, the objects of a batch
/// update or delete are found before it is executed; see ``SaveRequest/found``.
package protocol SerialStore: Store {
  /// Returns the ids of each plan's objects, by the index of the change in the save. Plans with too many
  /// objects are left out. After a slow search, objects that changed during it are tested again.
  func objects(
    of plans: [Int: FetchPlan], queryClass: QueryClass
  ) throws(StoreError) -> FoundObjects
}

/// Why a store has to be opened again.
public enum OutdatedReason: Sendable, Hashable {
  /// The schema is another one than was opened, or was changed so that history has a hole.
  case schemaChanged
  /// Another file has taken the place of the one that was opened.
  case fileReplaced
  /// The file was cut short: it cannot be opened before its content is back.
  case fileTruncated
}

/// A store whose schema, or whole file, other programs may replace while it is open.
public protocol ReopenableStore: Store {
  /// Calls `body` once when the file or its schema is no longer the one that was opened. The store
  /// must then be closed and opened again.
  func onOutdated(_ body: @escaping @Sendable (OutdatedReason) -> Void)
  /// Executes the waiting saves and closes the storage.
  func close()
}

extension Store {
  public func read<Result>(
    _ body: (any ReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try readResponses { transaction throws(StoreError) in try body(transaction) }
  }

  /// The default for a store without stored responses.
  public func storedResponse(
    under key: String, fingerprint: String
  ) throws(SaveError) -> StoredResponse? { nil }

  /// Sets ``QueryCancellation/current``, which a store's queries read.
  public func withCancellation<Result>(
    _ isCancelled: @escaping @Sendable () -> Bool, until deadline: ContinuousClock.Instant?,
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let cancellation = QueryCancellation(isCancelled: isCancelled, deadline: deadline)
    return try QueryCancellation.$current.withValue(cancellation) {
      Swift.Result { () throws(StoreError) in try body() }
    }.get()
  }

  /// The default for a store that executes each save before `save` returns. It refuses no later save.
  public func endSaves(cancellingRunning: Bool) {}

  /// A store that is always ready.
  public func checkHealth(_ completion: @escaping @Sendable ([StoreFault]) -> Void) {
    completion([])
  }

  /// The default for a store without API keys.
  public func apiKeys() throws(StoreError) -> [APIKeyRecord] { [] }
}

extension Store {
  /// The default for a store that does not reuse prepared statements.
  public func snapshot(
    of bound: BoundPlan, queryClass: QueryClass
  ) throws(StoreError) -> EncodedSnapshot {
    try snapshot(of: bound.plan, queryClass: queryClass)
  }

  /// The default for a store that cannot explain its queries.
  public func explain(_ plan: FetchPlan, queryClass: QueryClass) throws(StoreError) -> Explanation {
    Explanation(entity: model.entities[plan.definition.entity].name, statements: [])
  }
}

/// A part of the history of saves.
public struct ChangeHistory: Sendable {
  /// `saves` lists the saves after this token, up to `to`, that changed an object.
  public let from: Token
  /// The token from which the next saves follow.
  public let to: Token
  /// The saves, oldest first.
  public let saves: [SaveRecord]

  /// Makes a change history.
  public init(from: Token, to: Token, saves: [SaveRecord]) {
    self.from = from
    self.to = to
    self.saves = saves
  }
}

/// The objects that one save changed, by entity index.
public struct SaveRecord: Sendable {
  /// The token after the save.
  public let token: Token
  /// The time of the save.
  public let at: Instant
  /// The ids of inserted objects.
  public let inserted: [Int: [ObjectID]]
  /// Each id has the names of its changed properties.
  public let updated: [Int: [(id: ObjectID, properties: [String])]]
  /// The ids of deleted objects.
  public let deleted: [Int: [ObjectID]]

  /// The number of objects that it changed.
  public var objectCount: Int {
    inserted.values.reduce(0) { $0 + $1.count } + updated.values.reduce(0) { $0 + $1.count }
      + deleted.values.reduce(0) { $0 + $1.count }
  }

  /// Makes a save record.
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
