// A path → an open connection with LiveFetch's settings, functions and prepared statements.

import FetchModel
import LiveFetchCSQLite
import LiveFetchThreads
import SQLComposer

/// A connection to the file. One thread uses it at a time.
final class Connection: @unchecked Sendable {
  enum Access: Sendable {
    /// May write and checkpoint. A process has at most one.
    case write
    /// Reads a file that another connection writes.
    case read
    /// Reads a file that this process may not write, without changing it.
    case readOnlyFile
    /// Reads a file that cannot even be locked, in a read-only directory.
    case immutableFile
  }

  let handle: OpaquePointer
  let access: Access
  /// The milliseconds to wait for another process's lock.
  let busyTimeout: Int32
  private var isClosed = false
  private var statements = StatementCache(capacity: 256)
  /// Rows that this connection has recently encoded as JSON.
  var items = RowJSONCache()
  /// Statements composed for this connection.
  var preparedPlans = PreparedPlanCache()
  /// True while everything must be read in the open transaction. SQLite may end a transaction after
  /// an error; later queries would read another snapshot.
  var holdsReadTransaction = false
  /// The history overlays that are materialized for the current read transaction.
  var past = MaterializedHistory()
  /// The class of the running query, which determines its limits.
  var queryClass = QueryClass.full
  /// The limits of the response that is being written.
  var responseLimit = ResponseLimit()
  /// The lengths of the file for which the log had all pages that the file lacks.
  private var knownLengths = csqlite_lengths()
  /// The bytes that SQLite has allocated in large blocks since the query began.
  var heldBytes = 0
  /// The deadline in nanoseconds of the monotonic clock; 0 for none.
  private(set) var deadline: UInt64 = 0
  /// Returns true if the running query is cancelled, for example because its client has
  /// disconnected.
  private var isCancelled: (@Sendable () -> Bool)?

  /// Opens a file, which must exist, or a new database in memory if `path` is nil.
  init(path: String?, access: Access, busyTimeout: Int32 = 5_000) throws(StoreError) {
    SQLiteStore.prepareLibrary()
    if let path, access != .immutableFile { try OrphanedLog.check(path) }
    var pointer: OpaquePointer?
    let name = try path.map { path throws(StoreError) in try Self.name(of: path, access) }
    let code = sqlite3_open_v2(name ?? ":memory:", &pointer, Self.flags(access), nil)
    guard code == SQLITE_OK, let pointer else {
      let error = pointer.map { StoreError(of: $0) } ?? .failed("out of memory")
      sqlite3_close_v2(pointer)
      throw code & 0xFF == SQLITE_CANTOPEN ? .unusable("the file cannot be opened") : error
    }
    handle = pointer
    self.access = access
    self.busyTimeout = busyTimeout
    try configure()
  }

  /// The file's name as SQLite takes it. A relative one begins with `./`: `:memory:` and `file:x` are files
  /// too.
  static func name(of path: String, _ access: Access) throws(StoreError) -> String {
    guard !path.isEmpty else { throw .unusable("the path is empty") }
    if access == .immutableFile { return immutableURI(path) }
    return path.hasPrefix("/") ? path : "./" + path
  }

  deinit { close() }

  /// Closes the connection at once. It must not be used afterwards.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    statements.removeAll()
    sqlite3_close_v2(handle)
  }

  private static func flags(_ access: Access) -> Int32 {
    let mode =
      switch access {
      case .write, .read: SQLITE_OPEN_READWRITE
      case .readOnlyFile: SQLITE_OPEN_READONLY
      case .immutableFile: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      }
    return mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
  }

  private static func immutableURI(_ path: String) -> String {
    let escaped = path.utf8.flatMap { byte -> [UInt8] in
      switch byte {
      case 0x23: Array("%23".utf8)
      case 0x25: Array("%25".utf8)
      case 0x3F: Array("%3f".utf8)
      default: [byte]
      }
    }
    return "file:\(String(decoding: escaped, as: UTF8.self))?immutable=1"
  }

  private func configure() throws(StoreError) {
    sqlite3_busy_timeout(handle, busyTimeout)
    registerETag(on: handle)
    registerFunctions(on: handle)
    try execute("PRAGMA mmap_size = 0; PRAGMA wal_autocheckpoint = 0")
    try disableTrustedSchemaIfPossible()
    if access == .write {
      try execute("PRAGMA foreign_keys = ON; PRAGMA secure_delete = OFF")
    } else {
      try execute("PRAGMA query_only = ON")
    }
    // Only the writer copies the log into the file.
    if access == .read { keepLogOnClose() }
    setWatchesDeadline(true)
  }

  /// The number of bytes that the log must have; nil if unknown. The log's index must have its full
  /// length.
  var requiredLogBytes: Int? {
    let bytes = csqlite_log_bytes(handle)
    return bytes < 0 ? nil : Int(bytes)
  }

  /// True if the file is shorter than its header says, and the missing pages are not in the log
  /// either.
  var lacksPages: Bool { csqlite_lacks_pages(handle, &knownLengths) != 0 }

  /// Copies the open log to a new file at `path`. Returns true on success.
  func copyLog(to path: String) -> Bool { csqlite_copy_log(handle, path) == 0 }

  /// Makes closing this connection leave the log unchanged.
  func keepLogOnClose() { _ = csqlite_keep_log_on_close(handle) }

  /// SQLite 3.40 counts its own JSON functions, and virtual tables such as those of FTS5, among those
  /// that an untrusted schema may not use. A table with a CHECK that calls one could then not be read, a
  /// file with such a generated column not be opened, and a table whose triggers maintain a full-text
  /// index not be written, so this looks for them first. All functions that a schema can call here only
  /// compute.
  private func disableTrustedSchemaIfPossible() throws(StoreError) {
    try enableTrustedSchema()
    let needsTrust = try first(
      """
      SELECT 1 FROM main.sqlite_schema WHERE sql LIKE '%json%' OR sql LIKE 'CREATE VIRTUAL TABLE%'
      LIMIT 1
      """
    ) { _ in true }
    if needsTrust != true { try execute("PRAGMA trusted_schema = OFF") }
  }

  func enableTrustedSchema() throws(StoreError) { try execute("PRAGMA trusted_schema = ON") }

  /// Runs `body` with another busy timeout, in milliseconds.
  func withBusyTimeout<Result>(
    _ milliseconds: Int32, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    sqlite3_busy_timeout(handle, milliseconds)
    defer { sqlite3_busy_timeout(handle, busyTimeout) }
    return try body()
  }

  /// Runs statements without bindings and results.
  func execute(_ sql: String) throws(StoreError) {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
      throw StoreError(of: handle)
    }
  }

  /// True if no transaction is open. SQLite may end a transaction by itself after an error.
  var isInAutocommit: Bool { sqlite3_get_autocommit(handle) != 0 }
}

// MARK: - Statements

extension Connection {
  /// Calls `body` with a prepared statement from the cache, and resets it afterwards.
  func withStatement<Result>(
    _ sql: String, _ body: (Statement) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    if holdsReadTransaction, isInAutocommit { throw .busy }
    let entry = try checkOutEntry(sql)
    defer { statements.putBack(entry) }
    do throws(StoreError) {
      return try body(Statement(pointer: entry.pointer))
    } catch {
      throw responseLimit.takeFailure() ?? error
    }
  }

  /// Returns the first row of `sql`, read by `row`; nil without rows.
  func first<Result>(
    _ sql: String, _ bindings: [SQLValue] = [], _ row: (Statement) -> Result
  ) throws(StoreError) -> Result? {
    try withStatement(sql) { statement throws(StoreError) in
      try statement.bind(bindings)
      return try statement.step() ? row(statement) : nil
    }
  }

  /// Returns every row of `sql`, read by `row`.
  func all<Result>(
    _ sql: String, _ bindings: [SQLValue] = [], _ row: (Statement) -> Result
  ) throws(StoreError) -> [Result] {
    try withStatement(sql) { statement throws(StoreError) in
      try statement.bind(bindings)
      var rows: [Result] = []
      while try statement.step() { rows.append(row(statement)) }
      return rows
    }
  }

  /// Runs `sql` and ignores its rows.
  func run(_ sql: String, _ bindings: [SQLValue] = []) throws(StoreError) {
    try withStatement(sql) { statement throws(StoreError) in
      try statement.bind(bindings)
      try statement.run()
    }
  }

  /// Returns every row of `sql`, read with a statement that is not cached. EXPLAIN does not notice
  /// that the schema changed since it was prepared.
  func allUncached<Result>(
    _ sql: String, _ bindings: [SQLValue], _ row: (Statement) -> Result
  ) throws(StoreError) -> [Result] {
    let statement = Statement(pointer: try prepare(sql))
    defer { sqlite3_finalize(statement.pointer) }
    try statement.bind(bindings)
    var rows: [Result] = []
    while try statement.step() { rows.append(row(statement)) }
    return rows
  }

  private func checkOutEntry(_ sql: String) throws(StoreError) -> StatementCache.Entry {
    if let entry = statements.take(sql) { return entry }
    let entry = StatementCache.Entry(pointer: try prepare(sql))
    statements.insert(entry, for: sql)
    return entry
  }

  /// The longest statement, in bytes, that is prepared on an HTTP worker. SQLite checks no deadline
  /// while it prepares one.
  static let longestQuickStatement = 4 << 10

  private func prepare(_ sql: String) throws(StoreError) -> OpaquePointer {
    if queryClass == .quick, sql.utf8.count > Self.longestQuickStatement { throw .tooSlow }
    var pointer: OpaquePointer?
    let code = sqlite3_prepare_v3(
      handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, nil)
    guard code == SQLITE_OK, let pointer else { throw StoreError(of: handle) }
    return pointer
  }
}

// MARK: - Deadlines

extension Connection {
  /// Runs `body` with a time limit in nanoseconds; nil for none. A query in it that exceeds the
  /// limit ends with ``StoreError/queryTimeout``, and a statement that writes rolls back its whole
  /// transaction.
  func withDeadline<Result>(
    after nanoseconds: UInt64?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let outer = deadline
    deadline = nanoseconds.map { monotonicNanoseconds() &+ $0 } ?? 0
    defer { deadline = outer }
    return try RunningQuery.run(on: self, body)
  }

  /// Runs `body`, and interrupts the statement that is running after some seconds, also within one step of
  /// SQLite's virtual machine. It ends with ``StoreError/queryTimeout``.
  func interrupted<Result>(
    after seconds: Double, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let (bodyEnded, watchEnded) = (MonotonicSemaphore(), MonotonicSemaphore())
    let handle = ConnectionHandle(pointer: handle)
    let isWatched = startThread(name: "lf-interrupt") {
      if !bodyEnded.wait(seconds: seconds) { sqlite3_interrupt(handle.pointer) }
      watchEnded.signal()
    }
    defer {
      bodyEnded.signal()
      // An interruption must not reach a later statement.
      if isWatched { watchEnded.wait() }
    }
    return try body()
  }

  /// `sqlite3_interrupt` may be called from any thread.
  private struct ConnectionHandle: @unchecked Sendable { let pointer: OpaquePointer }

  /// Runs `body`. A query in it that is running when `isCancelled` becomes true ends with
  /// ``StoreError/queryTimeout``. nil disables cancellation.
  func withCancellation<Result>(
    _ isCancelled: (@Sendable () -> Bool)?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let outer = self.isCancelled
    self.isCancelled = isCancelled
    defer { self.isCancelled = outer }
    return try body()
  }

  /// Makes every query end with ``StoreError/queryTimeout`` while `isCancelled` is true; nil disables
  /// this.
  func setCancellation(_ isCancelled: (@Sendable () -> Bool)?) { self.isCancelled = isCancelled }

  /// True if the running query must end. In the background, threads that wait for a processor run first.
  var hasToEnd: Bool {
    leaveProcessorBriefly()
    return deadline != 0 && monotonicNanoseconds() > deadline || isCancelled?() == true
  }

  /// Starts or stops checking the deadline and the cancellation: SQLite calls the handler every few
  /// hundred steps of its virtual machine.
  func setWatchesDeadline(_ watches: Bool) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_progress_handler(handle, 500, watches ? isPastDeadline : nil, context)
  }
}

private func isPastDeadline(_ context: UnsafeMutableRawPointer?) -> Int32 {
  guard let context else { return 0 }
  return Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().hasToEnd ? 1 : 0
}
