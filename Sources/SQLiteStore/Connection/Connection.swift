// A path → an open connection with this house's settings, functions and statements.

import CSQLite
import FetchModel

/// One connection to the file. Used by one thread at a time; whoever holds it hands it on whole.
final class Connection: @unchecked Sendable {
  enum Access: Sendable {
    /// May write and checkpoint. One of them a process.
    case write
    /// Of a file that somebody writes.
    case read
    /// Of a file that nobody here may write: opened without touching it.
    case readOnlyFile
    /// Of a file that cannot even be locked (a read-only directory).
    case immutableFile
  }

  let handle: OpaquePointer
  let access: Access
  /// Milliseconds to wait for another process's lock.
  let busyTimeout: Int32
  private var isClosed = false
  private var statements = StatementCache(capacity: 256)
  /// What this connection wrote lately.
  var items = RowJSONCache()
  /// What was composed for this connection.
  var forms = PreparedPlanCache()
  var rowStatements = RowStatements()
  /// Whether everything has to be read in the transaction that is open: SQLite may end one by
  /// itself after an error, and what is asked then would be of another moment.
  var holdsReadTransaction = false
  /// What it gathered for the questions of its read transaction.
  var past = MaterializedHistory()
  /// The kind of thread that uses it now.
  var queryClass = QueryClass.full
  /// What the answer that is being written may hold.
  var answerLimit = AnswerLimit()
  /// How many bytes SQLite has allocated in large blocks since the query began.
  var heldBytes = 0
  /// On the monotonic clock in nanoseconds; 0 is no deadline.
  private(set) var deadline: UInt64 = 0
  /// Whether nobody waits any more for what runs.
  private var isOver: (@Sendable () -> Bool)?

  /// Opens `path`, which has to exist.
  init(path: String, access: Access, busyTimeout: Int32 = 5_000) throws(StoreError) {
    SQLiteStore.prepareLibrary()
    var pointer: OpaquePointer?
    let name = access == .immutableFile ? Self.immutableURI(path) : path
    let code = sqlite3_open_v2(name, &pointer, Self.flags(access), nil)
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

  deinit { close() }

  /// Closes it at once, for good: nothing of it may be used afterwards.
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
    try distrustSchemaIfPossible()
    if access == .write {
      try execute("PRAGMA foreign_keys = ON; PRAGMA secure_delete = OFF")
    } else {
      try execute("PRAGMA query_only = ON")
    }
    // The writer alone copies the log into the file.
    if access == .read { keepLogOnClose() }
    watchesDeadline(true)
  }

  /// The bytes that the log has to have; nil where that is not known. Its index must have its length.
  var requiredLogBytes: Int? {
    let bytes = csqlite_log_bytes(handle)
    return bytes < 0 ? nil : Int(bytes)
  }

  /// Writes the log that is open here to a new file at `path`. Returns true if that succeeded.
  func copyLog(to path: String) -> Bool { csqlite_copy_log(handle, path) == 0 }

  /// Has closing this connection leave the log as it is.
  func keepLogOnClose() { _ = csqlite_keep_log_on_close(handle) }

  /// SQLite 3.40 counts its own JSON functions among those that an untrusted schema may not call,
  /// and then a table with a CHECK that uses one cannot be read, and a file with such a generated
  /// column not even be opened: so this asks first. None of the functions that a schema could reach
  /// here does anything but compute.
  private func distrustSchemaIfPossible() throws(StoreError) {
    try trustSchema()
    let usesJSON = try first(
      "SELECT 1 FROM main.sqlite_schema WHERE sql LIKE '%json%' LIMIT 1"
    ) { _ in true }
    if usesJSON != true { try execute("PRAGMA trusted_schema = OFF") }
  }

  func trustSchema() throws(StoreError) { try execute("PRAGMA trusted_schema = ON") }

  /// Has `body` wait for what other processes hold at most so many milliseconds at a time.
  func withBusyTimeout<Result>(
    _ milliseconds: Int32, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    sqlite3_busy_timeout(handle, milliseconds)
    defer { sqlite3_busy_timeout(handle, busyTimeout) }
    return try body()
  }

  /// Runs statements that take and return nothing.
  func execute(_ sql: String) throws(StoreError) {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
      throw StoreError(of: handle)
    }
  }

  /// Whether no transaction is open: SQLite may end one by itself after an error.
  var isInAutocommit: Bool { sqlite3_get_autocommit(handle) != 0 }
}

// MARK: - Statements

extension Connection {
  /// Lends a prepared statement, which is kept for the next time. It is reset afterwards.
  func withStatement<Result>(
    _ sql: String, _ body: (Statement) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    if holdsReadTransaction, isInAutocommit { throw .busy }
    let entry = try takeEntry(sql)
    defer { statements.giveBack(entry) }
    do throws(StoreError) {
      return try body(Statement(pointer: entry.pointer))
    } catch {
      throw answerLimit.takeFailure() ?? error
    }
  }

  /// The first row that `sql` gives, read by `row`; nil if there is none.
  func first<Result>(
    _ sql: String, _ bindings: [SQLValue] = [], _ row: (Statement) -> Result
  ) throws(StoreError) -> Result? {
    try withStatement(sql) { statement throws(StoreError) in
      statement.bind(bindings)
      return try statement.step() ? row(statement) : nil
    }
  }

  /// Every row that `sql` gives, read by `row`.
  func all<Result>(
    _ sql: String, _ bindings: [SQLValue] = [], _ row: (Statement) -> Result
  ) throws(StoreError) -> [Result] {
    try withStatement(sql) { statement throws(StoreError) in
      statement.bind(bindings)
      var rows: [Result] = []
      while try statement.step() { rows.append(row(statement)) }
      return rows
    }
  }

  /// Runs `sql` to its end.
  func run(_ sql: String, _ bindings: [SQLValue] = []) throws(StoreError) {
    try withStatement(sql) { statement throws(StoreError) in
      statement.bind(bindings)
      try statement.run()
    }
  }

  /// Every row that `sql` gives, by a statement of its own. EXPLAIN never notices that a schema
  /// changed since it was prepared.
  func allOnce<Result>(
    _ sql: String, _ bindings: [SQLValue], _ row: (Statement) -> Result
  ) throws(StoreError) -> [Result] {
    let statement = Statement(pointer: try prepare(sql))
    defer { sqlite3_finalize(statement.pointer) }
    statement.bind(bindings)
    var rows: [Result] = []
    while try statement.step() { rows.append(row(statement)) }
    return rows
  }

  private func takeEntry(_ sql: String) throws(StoreError) -> StatementCache.Entry {
    if let entry = statements.take(sql) { return entry }
    let entry = StatementCache.Entry(pointer: try prepare(sql))
    statements.insert(entry, for: sql)
    return entry
  }

  /// Longer statements, in bytes, are not prepared on an HTTP worker: SQLite checks no deadline
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
  /// Runs `body`; a query in it that lasts longer than `nanoseconds` ends with
  /// ``StoreError/queryTimeout``. nil: no limit. A statement that writes takes its whole
  /// transaction with it.
  func withDeadline<Result>(
    after nanoseconds: UInt64?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let outer = deadline
    deadline = nanoseconds.map { monotonicNanoseconds() &+ $0 } ?? 0
    defer { deadline = outer }
    return try RunningQuery.run(on: self, body)
  }

  /// Runs `body`; a query in it that runs when `isOver` comes true ends with
  /// ``StoreError/queryTimeout``. nil: that is never.
  func withCancellation<Result>(
    _ isOver: (@Sendable () -> Bool)?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let outer = self.isOver
    self.isOver = isOver
    defer { self.isOver = outer }
    return try body()
  }

  /// Has every query end with ``StoreError/queryTimeout`` while `isOver` is true. nil: none.
  func cancels(_ isOver: (@Sendable () -> Bool)?) { self.isOver = isOver }

  /// Whether what runs has had its time.
  var hasToEnd: Bool {
    deadline != 0 && monotonicNanoseconds() > deadline || isOver?() == true
  }

  /// SQLite asks every few thousand steps of its machine.
  func watchesDeadline(_ watches: Bool) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_progress_handler(handle, 2_000, watches ? isPastDeadline : nil, context)
  }
}

private func isPastDeadline(_ context: UnsafeMutableRawPointer?) -> Int32 {
  guard let context else { return 0 }
  return Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().hasToEnd ? 1 : 0
}
