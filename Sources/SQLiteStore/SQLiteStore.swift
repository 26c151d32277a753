// An SQLite file as a store. It is opened once, read by many threads and written by one. The protocols
// `Store`, `SerialStore` and `ReopenableStore` document the members that they require.

import FetchModel
import LiveFetchCSQLite
import LiveFetchThreads
import SQLComposer
import SQLResults
import Synchronization

/// The options with which a file is served.
public struct SQLiteStoreOptions: Sendable {
  /// The failures that an answered save survives.
  public enum Durability: Sendable {
    /// A power failure.
    case full
    /// A crash of the process. A power failure may lose the last saves.
    case normal
  }

  /// The time limit of a query, and of a save, in seconds.
  public var queryTimeout = 10.0
  /// The maximum number of bytes of a response: a snapshot, an object, a value, or the items of a diff.
  public var maxResponseBytes = Int.max
  /// True to serve the file without saves and `since`, and to leave it unchanged.
  public var isReadOnly = false
  /// True to exclude other serving processes even if the file is read-only. A process that writes
  /// the file always excludes them.
  public var isOnlyServer = false
  /// True to treat a file of 0 bytes as a new store. False to refuse it as a truncated one.
  public var acceptsEmptyFile = true
  /// The failures that an answered save survives.
  public var durability = Durability.full
  /// The maximum number of changed rows that the history keeps.
  public var keptPositions = 1_000_000
  /// The age of the oldest saves that the history keeps, in seconds.
  public var keptSeconds = 7 * 86_400.0
  /// The approximate size limit of the history, in bytes.
  public var keptBytes = 1 << 30
  /// The entities and their validation rules. In an empty file, the model's tables are created; any
  /// other file must have them. nil: the model stored in the file, or else one inferred from its
  /// tables.
  public var model: ModelFile?
  /// The program's transformers, by the names that the model's attributes use.
  public var transformers: [String: ValueTransformer] = [:]
  /// The maximum number of connections that read at the same time.
  public var readers = 32

  /// Creates the default options.
  public init() {}

  /// The time limit in nanoseconds, at most 30 years.
  var timeLimit: UInt64 { queryTimeout > 0 ? UInt64(min(queryTimeout * 1e9, 1e18)) : 0 }
}

/// A store on one SQLite file.
public final class SQLiteStore: ReopenableStore, SerialStore {
  /// The model of the tables.
  public let model: Model
  /// The kind of the store, and what it can do.
  public let properties: StoreProperties
  /// The result of setting up the file's history when it was opened; ``HistorySetup/continued`` for a
  /// read-only store.
  public let historySetup: HistorySetup
  let composer: FetchComposer
  /// The columns whose values are all of the declared type; nil for a read-only store, in which every
  /// column is compared by comparison keys.
  let homogeneousColumns: HomogeneousColumns?
  let history: History
  let readers: ReaderPool
  let executor: SQLiteSaveExecutor
  let objectStatements = ComposedStatements<ItemKind>()
  /// nil if the store is read-only.
  let writer: Writer?
  /// The exclusive right to serve the file, held until it is closed.
  private let lock: Mutex<FileLock?>
  private let observers: CommitObservers
  let watch: FileIdentityMonitor?
  private let notice: FileEvents?
  /// The path and the identity of the opened file.
  let file: (path: String, identity: FileIdentity?)
  /// The time limit of a query, in nanoseconds.
  let timeLimit: UInt64
  let maxResponseBytes: Int

  /// Opens the file at `path`, which must exist, and starts its history unless it is read-only.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` if another process serves the file, or the file does not
  ///   match the options' model.
  public init(path: String, options: SQLiteStoreOptions = .init()) throws(StoreError) {
    let file = try OpenFile(path: path, options: options)
    self.file = (path, FileStatus(path)?.identity)
    model = file.model
    history = file.history
    composer = FetchComposer(model: file.model, schema: file.schema)
    executor = SQLiteSaveExecutor(
      model: file.model, schema: file.schema, timeLimit: options.timeLimit)
    let watch = file.watch
    self.watch = watch
    let files = watch?.files
    readers = ReaderPool(
      path: path, access: file.readAccess, capacity: options.readers, files: files)
    properties = StoreProperties(
      kind: "sqlite", isReadOnly: file.writeConnection == nil,
      name: path.split(separator: "/").last.map(String.init))
    historySetup = file.historySetup
    homogeneousColumns = try file.writeConnection.map { connection throws(StoreError) in
      try HomogeneousColumns(file.history, on: connection)
    }
    lock = Mutex(file.lock)
    timeLimit = options.timeLimit
    maxResponseBytes = options.maxResponseBytes
    let observers = CommitObservers()
    self.observers = observers
    let writer = try file.writeConnection.map { connection throws(StoreError) in
      try Writer(
        connection: connection, history: file.history, settings: WriterSettings(options),
        watch: watch
      ) { commit in observers.notify(commit) }
    }
    self.writer = writer
    notice = writer.flatMap { writer in FileEvents(path: path) { writer.hint() } }
    homogeneousColumns?.checkAll(with: readers)
  }

  public var columns: (any ColumnTraits)? { SchemaColumns(schema: history.schema, model: model) }

  public var newestToken: Token { writer?.newestToken ?? .untracked }

  public func onChange(_ body: @escaping @Sendable () -> Void) { observers.add(body) }

  public func demand(_ demand: RetentionDemand, of reader: ObjectIdentifier) {
    writer?.demand(demand, of: reader)
  }

  public func onOutdated(_ body: @escaping @Sendable (OutdatedReason) -> Void) {
    observers.addOutdated(body)
    writer?.watchFile()
  }

  /// Calls `body` once, when the first commit of another process is detected.
  public func onExternalCommit(_ body: @escaping @Sendable () -> Void) {
    observers.addExternal(body)
  }

  /// True if two connections that write or checkpoint at the same time can damage the log. SQLite
  /// fixed that in 3.51.3.
  public static var mayCorruptSharedWAL: Bool { sqlite3_libversion_number() < 3_051_003 }

  /// The version of the SQLite library.
  public static var libraryVersion: String { String(cString: sqlite3_libversion()) }

  /// Executes the waiting saves and closes the file. Connections that are still reading are closed when they
  /// have finished.
  public func close() {
    notice?.stop()
    homogeneousColumns?.stop()
    writer?.close { readers.close() }
    readers.close()
    watch?.files.removeStaleLog()
    watch?.files.invalidateTruncatedIndex()
    lock.withLock { $0 = nil }
  }

  /// Writes the address at which the store is served to `FILE-livefetch`, for other processes.
  public func announce(address: String) {
    lock.withLock { $0?.write(address: address) }
  }

  /// Returns the process that serves the file at `path`; nil if there is none.
  public static func server(of path: String) -> ServingProcess? {
    FileLock.holder(beside: path)
  }

  /// Creates the tables of `model` in the empty file at `path`, without a history, so that data can
  /// be loaded before the file is served.
  public static func createTables(of model: ModelFile, at path: String) throws(StoreError) {
    let lock = try FileLock(beside: path)
    defer { withExtendedLifetime(lock) {} }
    let connection = try Connection(path: path, access: .write)
    defer { connection.close() }
    _ = try ModelOpening(connection: connection, given: model).open()
  }

  /// Rewrites the file at `path` so that its pages are full and in order. O(size of the file).
  public static func compact(path: String) throws(StoreError) {
    let lock = try FileLock(beside: path)
    defer { withExtendedLifetime(lock) {} }
    let connection = try Connection(path: path, access: .write)
    defer { connection.close() }
    try connection.execute("VACUUM")
  }

  /// Removes the history's tables and triggers from the file at `path`. Returns false if there were
  /// none.
  public static func detach(path: String) throws(StoreError) -> Bool {
    let lock = try FileLock(beside: path)
    defer { withExtendedLifetime(lock) {} }
    return try History.detach(on: Connection(path: path, access: .write))
  }
}

// MARK: - Saving

extension SQLiteStore {
  public func save(
    _ request: SaveRequest,
    completion: @escaping @Sendable (Result<SaveResult, SaveError>) -> Void
  ) {
    guard let writer else { return completion(.failure(.store(.readOnly))) }
    let arrival = monotonicNanoseconds()
    writer.save(
      { [executor] connection, token throws(SaveError) in
        try executor.execute(request, on: connection, token: token, since: arrival)
      },
      cost: WriterQueue.SaveCost(request),
      completion: { result in completion(result.mapError { $0.asSchemaChange }) })
  }

  public func endSaves(cancellingRunning: Bool) {
    writer?.endSaves(cancellingRunning: cancellingRunning)
  }
}

extension StoreError {
  /// The error of a statement that was composed from a plan. Its names existed when the model was
  /// read, so a missing name means that the schema changed.
  var asSchemaChange: StoreError {
    guard case .failed(let text) = self, text.hasPrefix("SQLite 1:"),
      text.contains("no such table") || text.contains("no such column")
        || text.contains("has no column named")
    else { return self }
    return .schemaChanged(entity: "")
  }
}

extension SaveError {
  fileprivate var asSchemaChange: SaveError {
    if case .store(let error) = self { .store(error.asSchemaChange) } else { self }
  }
}
