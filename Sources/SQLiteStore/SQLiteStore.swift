// An SQLite file as a store: opened once, read by many threads, written by one.

import CSQLite
import FetchModel
import Synchronization

/// How a file is served.
public struct SQLiteStoreOptions: Sendable {
  /// How long a save that was answered is safe for.
  public enum Durability: Sendable {
    /// It survives the loss of power.
    case full
    /// It survives a crash of the process; the last ones may be lost with the power.
    case normal
  }

  /// Seconds that a query may take.
  public var queryTimeout = 10.0
  /// The most bytes of an answer: a snapshot, an object, a value, or what a diff shows.
  public var maxAnswerBytes = Int.max
  /// Whether it is served without saves and `since`, and left as it is.
  public var isReadOnly = false
  /// Whether no other process may serve the file, also where it is only read. One that writes it is
  /// always the only one.
  public var isOnlyServer = false
  /// Whether a file of 0 bytes is a new store. Otherwise it is refused, as one that was cut short.
  public var acceptsEmptyFile = true
  public var durability = Durability.full
  /// How many touched rows the history keeps.
  public var keptPositions = 1_000_000
  /// How many seconds the history keeps.
  public var keptSeconds = 7 * 86_400.0
  /// How many bytes the history keeps, about.
  public var keptBytes = 1 << 30
  /// What the objects are and which rules they keep. An empty file gets its tables; another one
  /// has to have them. nil: the model that the file remembers, or else what its tables say.
  public var model: ModelFile?
  /// Transformers of the program's own, by the names that the model's attributes give.
  public var transformers: [String: ValueTransformer] = [:]
  /// The most connections that read.
  public var readers = 32

  public init() {}
}

/// A store on one SQLite file.
public final class SQLiteStore: ReopenableStore {
  public let model: Model
  public let properties: StoreProperties
  /// Whether this process added the history's tables and triggers to the file.
  public let isNewlyFollowed: Bool
  let composer: FetchComposer
  /// nil where nothing is followed: then every column is compared by its stand-ins.
  private let forms: HomogeneousColumns?
  let history: History
  let readers: ReaderPool
  let executor: SaveExecutor
  private let objectStatements = ObjectStatements()
  /// nil where the store is read only.
  let writer: Writer?
  /// The right to serve the file, held until it is closed.
  private let lock: Mutex<FileLock?>
  private let observers: Observers
  let watch: FileIdentityMonitor?
  private let notice: FileEvents?
  /// The file that was opened.
  let file: (path: String, identity: FileIdentity?)
  private let timeLimit: UInt64
  private let maxAnswerBytes: Int

  /// Opens the file at `path`, which has to exist, and begins to follow it.
  public init(path: String, options: SQLiteStoreOptions = .init()) throws(StoreError) {
    let file = try OpenFile(path: path, options: options)
    self.file = (path, FileStatus(path)?.identity)
    model = file.model
    history = file.history
    composer = FetchComposer(model: file.model, schema: file.schema)
    executor = SaveExecutor(
      model: file.model, schema: file.schema, batchLimit: UInt64(options.queryTimeout * 1e9))
    let watch = file.watch
    self.watch = watch
    let files = watch?.files
    readers = ReaderPool(
      path: path, access: file.readAccess, capacity: options.readers, files: files)
    properties = StoreProperties(kind: "sqlite", isReadOnly: file.writeConnection == nil)
    isNewlyFollowed = file.isNewlyFollowed
    forms = try file.writeConnection.map { connection throws(StoreError) in
      try HomogeneousColumns(file.history, on: connection)
    }
    lock = Mutex(file.lock)
    timeLimit = UInt64(options.queryTimeout * 1e9)
    maxAnswerBytes = options.maxAnswerBytes
    let observers = Observers()
    self.observers = observers
    let writer = try file.writeConnection.map { connection throws(StoreError) in
      try Writer(
        connection: connection, history: file.history, settings: WriterSettings(options),
        watch: watch
      ) { commit in observers.notify(commit) }
    }
    self.writer = writer
    notice = writer.flatMap { writer in FileEvents(path: path) { writer.hint() } }
    forms?.look(with: readers)
  }

  public var columns: (any ColumnTraits)? { SchemaColumns(schema: history.schema, model: model) }

  public var newestToken: Token { writer?.newestToken ?? .unfollowed }

  public func onChange(_ body: @escaping @Sendable () -> Void) { observers.add(body) }

  public func demand(_ demand: RetentionDemand, of reader: ObjectIdentifier) {
    writer?.demand(demand, of: reader)
  }

  public func onOutdated(_ body: @escaping @Sendable (OutdatedReason) -> Void) {
    observers.addOutdated(body)
    writer?.watchFile()
  }

  /// Has `body` called once, when the first commit of another program is noticed.
  public func onForeignCommit(_ body: @escaping @Sendable () -> Void) {
    observers.addForeign(body)
  }

  /// Whether two connections that write or checkpoint at the same moment can damage the log: SQLite
  /// has mended that in 3.51.3.
  public static var hasFragileLog: Bool { sqlite3_libversion_number() < 3_051_003 }

  /// The version of the SQLite library.
  public static var libraryVersion: String { String(cString: sqlite3_libversion()) }

  /// Carries out the saves that wait and closes the file.
  public func close() {
    notice?.stop()
    writer?.close { readers.close() }
    readers.close()
    watch?.files.removeStaleLog()
    lock.withLock { $0 = nil }
  }

  /// Writes the address at which the store is served beside its file, for other processes to find.
  public func announce(address: String) {
    lock.withLock { $0?.write(address: address) }
  }

  /// Who serves the file at `path`; nil where nobody does.
  public static func server(of path: String) -> ServingProcess? {
    FileLock.holder(beside: path)
  }

  /// Makes the tables of `model` in the empty file at `path`, without a history: for what is loaded
  /// before anyone follows it.
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

  /// Takes the history's tables and triggers out of the file at `path`; false if there were none.
  public static func detach(path: String) throws(StoreError) -> Bool {
    let lock = try FileLock(beside: path)
    defer { withExtendedLifetime(lock) {} }
    return try History.detach(on: Connection(path: path, access: .write))
  }
}

extension Token {
  /// The token of a store without a history.
  static let unfollowed = Token(epoch: "r", position: 0, nonce: 0)
}

/// Whom to tell of commits.
private final class Observers: Sendable {
  // Guards the list; never held while one is told.
  private let bodies = Mutex<[@Sendable () -> Void]>([])

  func add(_ body: @escaping @Sendable () -> Void) { bodies.withLock { $0.append(body) } }

  private struct Outdated {
    var bodies: [@Sendable (OutdatedReason) -> Void] = []
    var reason: OutdatedReason?
  }

  // Protects the observers of a file that is outdated, and the reason once there is one.
  private let outdated = Mutex(Outdated())
  // Guards who wants to know of the first commit of others; nil once they were told.
  private let foreign = Mutex<[@Sendable () -> Void]?>([])

  func addOutdated(_ body: @escaping @Sendable (OutdatedReason) -> Void) {
    let reason = outdated.withLock { outdated in
      outdated.bodies.append(body)
      return outdated.reason
    }
    if let reason { body(reason) }
  }

  func addForeign(_ body: @escaping @Sendable () -> Void) {
    let isOver = foreign.withLock { foreign in
      foreign?.append(body)
      return foreign == nil
    }
    if isOver { body() }
  }

  func notify(_ commit: Writer.Commit) {
    switch commit {
    case .saves: break
    case .others: notifyOfExternalCommit()
    case .restarted: notifyOfExternalCommit()
    case .outdated(let reason):
      notifyOfExternalCommit()
      let bodies = outdated.withLock { outdated in
        outdated.reason = reason
        return outdated.bodies
      }
      for body in bodies { body(reason) }
      return
    }
    for body in bodies.withLock({ $0 }) { body() }
  }

  private func notifyOfExternalCommit() {
    let bodies = foreign.withLock { foreign in
      defer { foreign = nil }
      return foreign ?? []
    }
    for body in bodies { body() }
  }
}

// MARK: - Reading

extension SQLiteStore {
  /// How long a query may take on a thread that others wait for, in nanoseconds.
  private static let quickLimit: UInt64 = 3_000_000

  public func read<Result>(
    _ body: (any ReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try read(.full) { transaction throws(StoreError) in try body(transaction) }
  }

  public func read<Result>(
    cancelledWhen isOver: @escaping @Sendable () -> Bool,
    _ body: (any ReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try read(.full) { transaction throws(StoreError) in
      try transaction.connection.withCancellation(isOver) { () throws(StoreError) in
        try body(transaction)
      }
    }
  }

  public func readAnswers<Result>(
    _ body: (any StoreReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try read(.full) { transaction throws(StoreError) in try body(transaction) }
  }

  /// What ends the queries of this thread before their time limit.
  private struct Cancellation: Sendable {
    let isOver: @Sendable () -> Bool
    let deadline: ContinuousClock.Instant?

    /// Nanoseconds until the deadline.
    var timeLeft: UInt64 {
      guard let deadline else { return .max }
      let left = ContinuousClock.now.duration(to: deadline) / .nanoseconds(1)
      return UInt64(min(max(left, 1), 1e18))
    }
  }

  @TaskLocal private static var cancellation: Cancellation?

  public func withCancellation<Result>(
    _ isOver: @escaping @Sendable () -> Bool, until deadline: ContinuousClock.Instant?,
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let cancellation = Cancellation(isOver: isOver, deadline: deadline)
    return try Self.$cancellation.withValue(cancellation) {
      Swift.Result { () throws(StoreError) in try body() }
    }.get()
  }

  func read<Result>(
    _ queryClass: QueryClass, _ body: (SQLiteReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    do throws(StoreError) {
      let cancellation = queryClass == .full ? Self.cancellation : nil
      let limit = min(
        timeLimit, queryClass == .quick ? Self.quickLimit : cancellation?.timeLeft ?? .max)
      return try readers.read(limit: limit) { connection throws(StoreError) in
        let token = writer == nil ? .unfollowed : try history.newestToken(on: connection)
        var composer = composer
        composer.homogeneous = try forms?.homogeneous(at: token, on: connection) ?? []
        let transaction = SQLiteReadTransaction(
          connection: connection, composer: composer, history: history,
          objectStatements: objectStatements, token: token, timeLimit: limit)
        connection.queryClass = queryClass
        defer { connection.queryClass = .full }
        return try connection.withAnswerLimit(maxAnswerBytes) { () throws(StoreError) in
          try connection.withCancellation(cancellation?.isOver) { () throws(StoreError) in
            try body(transaction)
          }
        }
      }
    } catch .queryTimeout where queryClass == .quick {
      throw .tooSlow
    } catch {
      throw error.ofPlan
    }
  }

  /// The state that `connection` sees, inside a transaction of its own.
  func readTransaction(of connection: Connection, at token: Token) -> SQLiteReadTransaction {
    SQLiteReadTransaction(
      connection: connection, composer: composer, history: history,
      objectStatements: objectStatements, token: token)
  }

  public func snapshot(
    of plan: FetchPlan, queryClass: QueryClass
  ) throws(StoreError) -> EncodedSnapshot {
    try read(queryClass) { transaction throws(StoreError) in try transaction.snapshot(of: plan) }
  }

  public func snapshot(
    of filled: BoundPlan, queryClass: QueryClass
  ) throws(StoreError) -> EncodedSnapshot {
    try read(queryClass) { transaction throws(StoreError) in try transaction.snapshot(of: filled) }
  }

  public func explain(
    _ plan: FetchPlan, queryClass: QueryClass
  ) throws(StoreError) -> Explanation {
    try read(queryClass) { transaction throws(StoreError) in try transaction.explanation(of: plan) }
  }

  public func object(
    _ id: ObjectID, of plan: FetchPlan, queryClass: QueryClass
  ) throws(StoreError) -> ObjectSnapshot? {
    try read(queryClass) { transaction throws(StoreError) in try transaction.object(id, of: plan) }
  }

  public func rawValue(
    of id: ObjectID, entity: Int, attribute: Int, queryClass: QueryClass
  ) throws(StoreError) -> RawValue? {
    try read(queryClass) { transaction throws(StoreError) in
      try transaction.rawValue(of: id, entity: entity, attribute: attribute)
    }
  }

  public func isUnchanged(
    _ entities: Set<Int>, since last: Token, holding token: Token
  ) throws(StoreError) -> Bool {
    guard writer != nil else { return false }
    return try read(.quick) { transaction throws(StoreError) in
      guard try transaction.validity(of: token) == .known else { return false }
      return try transaction.isUnchanged(entities, since: last)
    }
  }

  public func changes(
    after token: Token?, limit: Int
  ) throws(StoreError) -> ChangeHistory? {
    try read(.full) { transaction throws(StoreError) in
      let connection = transaction.connection
      var limit = limit
      // The rows of all saves are in memory at the same time. If they are too large, the answer has
      // fewer saves, at least one.
      while limit > 1 {
        do throws(StoreError) {
          return try history.changes(after: token, limit: limit, on: connection)
        } catch {
          guard case .answerTooLarge = error else { throw error }
          limit /= 2
        }
      }
      return try connection.withAnswerLimit(.max) { () throws(StoreError) in
        try history.changes(after: token, limit: limit, on: connection)
      }
    }
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
      turn: WriterQueue.Turn(request),
      completion: { result in completion(result.mapError { $0.ofPlan }) })
  }

  public func endSaves(cancellingRunning: Bool) {
    writer?.endSaves(cancellingRunning: cancellingRunning)
  }
}

extension StoreError {
  /// What a statement that was made of a plan failed with: it names what was there when the model
  /// was read, so a name that is missing is one that somebody took away.
  var ofPlan: StoreError {
    guard case .failed(let text) = self, text.hasPrefix("SQLite 1:"),
      text.contains("no such table") || text.contains("no such column")
        || text.contains("has no column named")
    else { return self }
    return .schemaChanged(entity: "")
  }
}

extension SaveError {
  fileprivate var ofPlan: SaveError {
    if case .store(let error) = self { .store(error.ofPlan) } else { self }
  }
}
