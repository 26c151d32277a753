// A PostgreSQL database as a store. Any number of processes serve the same database. The protocols
// `Store` and `ReopenableStore` document the members that they require.

import FetchModel
import SQLComposer
import SQLResults
import Synchronization

/// The options with which a database is served.
public struct PostgresStoreOptions: Sendable {
  /// The time limit of a query, in seconds.
  public var queryTimeout = 10.0
  /// The maximum number of bytes of a response: a snapshot, an object, a value, or the items of a diff.
  public var maxResponseBytes = Int.max
  /// True to serve the database without saves and `since`, and to leave it unchanged.
  public var isReadOnly = false
  /// The age of the oldest changes that the history keeps, in seconds.
  public var keptSeconds = 7 * 86_400.0
  /// The model of the database; nil for the model that the database stores, or that its tables
  /// imply. In a database without tables its tables are created.
  public var model: ModelFile?
  /// The maximum number of connections for reads and saves. The store opens two more, which watch for commits
  /// and compare the tables, and each minute one to prune the history.
  public var connections = 16
  /// The age of the last successful poll for commits after which the store is not healthy.
  var maxMonitorAge = Duration.seconds(10)

  /// Creates the default options.
  public init() {}

  var timeLimit: Duration { Self.duration(queryTimeout) }
  var keptTime: Duration { Self.duration(keptSeconds) }

  /// Converts seconds, at most 1e9, about 32 years. Negative values and NaN become 0.
  private static func duration(_ seconds: Double) -> Duration {
    .seconds(seconds > 0 ? min(seconds, 1e9) : 0)
  }
}

/// A store on one PostgreSQL database.
public final class PostgresStore: ReopenableStore {
  /// The model of the tables.
  public let model: Model
  /// The kind of the store, and what it can do.
  public let properties: StoreProperties
  /// The tables for which this process created a history; empty if it was in place.
  public let newlyTracked: [String]
  /// The tables whose changes cannot be recorded until other transactions release them.
  public let lockedTables: [String]
  /// The reason why the store is read-only although the options allow saves; nil if it is not.
  public let readOnlyReason: String?
  let composer: FetchComposer
  let objectStatements = ComposedStatements<ItemKind>()
  /// The statements of windows that one SELECT reads.
  let windowStatements = ComposedStatements<ParameterizedPlan>()
  let changeQueries: ChangeQueries
  let pool: PostgresPool
  /// The tables whose changes are recorded; nil for a store without a history.
  let tracked: [PostgresTrackedTable]?
  /// Their names.
  let trackedNames: Set<String>
  /// The tables and views that a read or a save locks.
  let lockable: [LockedTable]
  let timeLimit: Duration
  let maxResponseBytes: Int
  let newest: NewestToken
  /// The tables for which the next read of each thread of the live engine waits.
  let replacedTables = Mutex<[ObjectIdentifier: [LockedTable]]>([:])
  let watch: DatabaseWatch
  /// nil if the store is read-only.
  let saves: PostgresSaveExecutor?

  /// Connects to the database, which must exist, and starts its history unless it is read-only.
  ///
  /// - Parameter target: a URL such as `postgres://host/database`, or libpq's `keyword=value` pairs.
  /// - Throws: ``StoreError/storageFailed(_:)`` if no connection can be opened, ``StoreError/unusable(_:)`` if the
  ///   database cannot be served.
  public init(_ target: String, options: PostgresStoreOptions = .init()) throws(StoreError) {
    let opening = try DatabaseOpening(target, options)
    model = opening.introspection.model
    tracked = opening.tracked
    trackedNames = Set(opening.tracked?.map(\.name) ?? [])
    lockable = opening.catalog.lockable
    newlyTracked = opening.newlyTracked
    lockedTables = opening.locked.map(\.name)
    readOnlyReason = opening.readOnlyReason
    composer = FetchComposer(model: model, schema: opening.introspection.schema)
    changeQueries = ChangeQueries(
      model: model, schema: opening.introspection.schema, tracked: opening.tracked ?? [])
    properties = StoreProperties(
      kind: "postgres", isReadOnly: opening.tracked == nil, name: opening.databaseName,
      connections: options.connections)
    timeLimit = options.timeLimit
    maxResponseBytes = options.maxResponseBytes
    // The server stops a query by itself a little after its deadline, if this process does not cancel it.
    let timeout = Int(min(timeLimit / .milliseconds(1) + 1_000, 2_000_000_000))
    let pool = PostgresPool(
      target, connections: options.connections,
      setup: "\(opening.connectionSetup); SET statement_timeout = \(timeout)")
    self.pool = pool
    let newest = NewestToken()
    self.newest = newest
    watch = try withStoreErrors { () throws(PostgresError) in
      try DatabaseWatch(target, opening, options, newest, pool)
    }
    saves =
      tracked == nil
      ? nil : PostgresSaveExecutor(pool, opening, changeQueries, options)
    saves?.onCommit { [weak self] token in self?.recordSave(token) }
    do throws(StoreError) {
      let token = try read { transaction throws(StoreError) in transaction.token }
      saves?.earlierToken.withLock { $0 = token }
    } catch {
      close()
      throw error
    }
  }

  public var columns: (any ColumnTraits)? {
    PostgresColumns(schema: composer.schema, model: model)
  }

  public var newestToken: Token { newest.value }

  public func onChange(_ body: @escaping @Sendable () -> Void) { watch.onChange(body) }

  public func onOutdated(_ body: @escaping @Sendable (OutdatedReason) -> Void) {
    watch.onOutdated(body)
  }

  /// Records whether `reader` waits for changes. A demand does not delay pruning: the history is kept for
  /// ``PostgresStoreOptions/keptSeconds``.
  public func demand(_ demand: RetentionDemand, of reader: ObjectIdentifier) {
    watch.record(hasWaiters: demand != .nothing, reader)
  }

  public func checkHealth(_ completion: @escaping @Sendable ([StoreFault]) -> Void) {
    watch.checkHealth(completion)
  }

  public func close() {
    saves?.end(cancellingRunning: false)
    watch.close()
    pool.close()
  }
}

extension PostgresStore {
  /// Removes the schema `livefetch` from a database: the history with its triggers, the model and the API keys.
  /// Returns false if there was none.
  public static func detach(_ target: String) throws(StoreError) -> Bool {
    try connected(target) { connection throws(PostgresError) in
      let found = try connection.query(
        "SELECT count(*) > 0 FROM pg_catalog.pg_namespace WHERE nspname = 'livefetch'")
      try PostgresHistory.detach(on: connection)
      return try found.bool(0, 0)
    }
  }

  /// Runs `body` on a connection of its own.
  static func connected<Result>(
    _ target: String, _ body: (PostgresConnection) throws(PostgresError) -> Result
  ) throws(StoreError) -> Result {
    try withStoreErrors { () throws(PostgresError) in
      let connection = try PostgresConnection(target)
      defer { connection.close() }
      connection.deadline = .now + .seconds(60)
      return try body(connection)
    }
  }
}
