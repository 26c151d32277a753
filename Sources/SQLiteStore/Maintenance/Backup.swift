// A file, served or not → a checked copy of one state of it; and a copy → a store.

import FetchModel
import LiveFetchCLibrary
import LiveFetchCSQLite
import LiveFetchThreads
import SQLComposer

/// The result of a backup or a restore.
public struct BackupReport: Sendable, Hashable {
  /// The size of the file in pages.
  public let pages: Int
  /// The size of the file in bytes.
  public let bytes: Int
  /// The token of the copied state; nil if the file has no history.
  public let token: Token?
}

/// The reason why a backup or a restore failed, by the file that could not be used.
public enum CopyError: Error, Sendable {
  case source(StoreError)
  case destination(StoreError)
}

extension SQLiteStore {
  /// Refuses a path at which there is no database but a log with data, which SQLite would apply to a new
  /// database there.
  ///
  /// - Throws: ``StoreError/unusable(_:)``.
  public static func requireNoOrphanedLog(at path: String) throws(StoreError) {
    try OrphanedLog.check(path)
  }

  /// Copies the file at `path`, which other processes may be writing, to `destination`, which must
  /// not exist. The copy appears complete and checked, or not at all.
  ///
  /// - Parameter progress: receives the number of pages copied, and the total.
  /// - Throws: `source` with ``StoreError/unusable(_:)`` if the copy is not sound.
  public static func backUp(
    path: String, to destination: String, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(CopyError) -> BackupReport {
    let draft = unusedName(destination + ".partial")
    UnfinishedFiles.add(draft)
    defer { UnfinishedFiles.remove(draft) }
    do throws(CopyError) {
      let report = try copy(path, toNew: draft, progress)
      try of(.source) { () throws(StoreError) in
        try verify(draft, against: path, report.token)
      }
      try of(.destination) { () throws(StoreError) in
        // A log next to the destination belongs to the file that is replaced, or to none.
        try OrphanedLog(of: destination)?.keep()
      }
      for end in ["-wal", "-shm", "-journal"] { unlink(destination + end) }
      guard rename(draft, destination) == 0 else {
        throw .destination(.failed("the copy could not be given its name"))
      }
      return report
    } catch {
      removeFiles(draft)
      throw error
    }
  }

  /// Replaces the content of the file at `path` by that of `backup`, under a new epoch: earlier
  /// tokens expire.
  ///
  /// - Throws: ``StoreError/unusable(_:)``, as `source` if the backup is not sound, as
  ///   `destination` if the file is being served.
  public static func restore(
    _ backup: String, to path: String, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(CopyError) -> BackupReport {
    let path = resolvedPath(path)
    let lock = try of(.destination) { () throws(StoreError) in try FileLock(beside: path) }
    defer { withExtendedLifetime(lock) {} }
    let draft = unusedName(path + ".restoring")
    UnfinishedFiles.add(draft)
    defer {
      removeFiles(draft)
      UnfinishedFiles.remove(draft)
    }
    _ = try copy(backup, toNew: draft, progress)
    try of(.source) { () throws(StoreError) in try verify(draft, against: backup, nil) }
    return try of(.destination) { () throws(StoreError) in try install(draft, as: path) }
  }

  /// Refuses a file without tables: it was cut short, or is the remainder of a copy that failed. SQLite
  /// accepts an empty file as a sound database.
  private static func requireContent(_ draft: String) throws(StoreError) {
    let connection = try Connection(path: draft, access: .read)
    defer { connection.close() }
    guard try connection.hasRow("SELECT 1 FROM main.sqlite_schema WHERE type = 'table'", []) else {
      throw .unusable("there is no table in it")
    }
  }

  /// Writes the draft's content to the file at `path`, which need not exist. A file that is no database
  /// is kept as `FILE-orphan`, and a log without a database as `FILE-wal-orphan`.
  private static func install(
    _ draft: String, as path: String
  ) throws(StoreError) -> BackupReport {
    let token = try beginEpoch(draft)
    let report: BackupReport
    if try !isDatabase(path) {
      guard rename(path, OrphanedLog.freeName(of: path)) == 0 else {
        throw .failed("the file, which is no database, could not be renamed")
      }
    }
    try OrphanedLog(of: path)?.keep()
    if access(path, F_OK) == 0 {
      report = try replace(path, by: draft)
    } else {
      report = try size(of: draft, token)
      guard rename(draft, path) == 0 else { throw .failed("the file could not be given its name") }
    }
    return BackupReport(pages: report.pages, bytes: report.bytes, token: token)
  }

  /// False for a file without the first page of a database. True for a missing or empty file.
  private static func isDatabase(_ path: String) throws(StoreError) -> Bool {
    guard (FileStatus(path)?.size ?? 0) > 1 else { return true }
    do throws(StoreError) {
      // SQLite would delete the log of such a file.
      let connection = try Connection(path: path, access: .immutableFile)
      defer { connection.close() }
      _ = try connection.first("PRAGMA main.schema_version") { $0.integer(0) }
      return true
    } catch .damaged {
      return false
    }
  }

  private enum Side { case source, destination }

  /// Runs `work`, and throws its error as that of the source or of the destination.
  private static func of<Result>(
    _ side: Side, _ work: () throws(StoreError) -> Result
  ) throws(CopyError) -> Result {
    do throws(StoreError) {
      return try work()
    } catch {
      throw side == .source ? .source(error) : .destination(error)
    }
  }

  /// Removes the file at `path`, if it exists, and the files that SQLite keeps next to it. No process
  /// may have it open. The log of a missing file is left alone.
  public static func remove(path: String) {
    if access(path, F_OK) == 0 { removeFiles(path) }
  }

  /// Creates a database without tables at `path`, where no file may exist. It appears complete or
  /// not at all. The log of a database that is missing is left alone: SQLite would write it into the
  /// new one.
  public static func create(path: String) throws(StoreError) {
    var status = stat()
    try OrphanedLog.check(path)
    guard lstat(path, &status) != 0 else {
      throw .unusable(
        status.st_mode & S_IFMT == S_IFLNK
          ? "it is a symbolic link to a file that does not exist" : madeMeanwhile)
    }
    let draft = unusedName(path + ".new")
    guard makeEmptyFile(draft) else {
      let reason =
        errno == ENOENT ? "its folder does not exist" : String(cString: strerror(errno))
      throw .unusable("the file cannot be made: \(reason)")
    }
    defer { removeFiles(draft) }
    let connection = try Connection(path: draft, access: .write)
    // Writes the first page.
    try connection.execute("PRAGMA user_version = 0")
    connection.close()
    // Another process may have made the file meanwhile. It is not replaced.
    guard link(draft, path) != 0 else { return }
    guard errno != EEXIST else { throw .unusable(madeMeanwhile) }
    // A file system without hard links.
    guard rename(draft, path) == 0 else { throw .failed("the file could not be given its name") }
  }

  private static let madeMeanwhile = "another process has just made it"

  /// Returns `path`, or else the first name after it that no file has: `path-2`.
  static func unusedName(_ path: String) -> String {
    guard access(path, F_OK) == 0 else { return path }
    return (2...).lazy.map { "\(path)-\($0)" }.first { access($0, F_OK) != 0 } ?? path
  }

  static func removeFiles(_ path: String) {
    for end in ["", "-wal", "-shm", "-journal"] { unlink(path + end) }
  }

  /// Returns false if the file exists or cannot be created.
  static func makeEmptyFile(_ path: String) -> Bool {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { return false }
    _ = LiveFetchCLibrary.close(descriptor)
    return true
  }
}

// MARK: - Copying

extension SQLiteStore {
  /// A read transaction holds the source at one state, so that writers do not make the copy start
  /// again.
  private static func copy(
    _ path: String, toNew draft: String, _ progress: (Int, Int) -> Void
  ) throws(CopyError) -> BackupReport {
    let (source, token) = try of(.source) { () throws(StoreError) in try openToCopy(path) }
    defer { source.close() }
    let pages = try of(.destination) { () throws(StoreError) in
      try NewTable.createFile(draft)
      // As the source: a copy is not for more people to read.
      copyMode(of: path, to: draft)
      let target = try Connection(path: draft, access: .write)
      defer { target.close() }
      let pages = try copy(from: source, to: target, progress)
      // A single file without a log can be copied and moved as it is.
      _ = try target.first("PRAGMA main.journal_mode = DELETE") { $0.text(0) }
      return pages
    }
    return BackupReport(pages: pages.count, bytes: pages.count * pages.size, token: token)
  }

  private static func copyMode(of path: String, to copy: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return }
    chmod(copy, status.st_mode & 0o777 | 0o200)
  }

  private static func openToCopy(_ path: String) throws(StoreError) -> (Connection, Token?) {
    let (source, _) = try OpenFile.openForReading(path)
    do throws(StoreError) {
      try source.run("BEGIN")
      return (source, try History.isPresent(on: source) ? try newestToken(on: source) : nil)
    } catch {
      source.close()
      throw error
    }
  }

  private static func copy(
    from source: Connection, to target: Connection, _ progress: (Int, Int) -> Void
  ) throws(StoreError) -> (count: Int, size: Int) {
    let size = try source.first("PRAGMA main.page_size") { Int($0.integer(0)) } ?? 4_096
    // The target is empty: it does not show whether the copied schema uses JSON functions.
    try target.enableTrustedSchema()
    guard let backup = sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
      throw StoreError(of: target.handle)
    }
    var code = SQLITE_OK
    var remainingTries = 100
    repeat {
      code = sqlite3_backup_step(backup, 2_048)
      let total = Int(sqlite3_backup_pagecount(backup))
      progress(total - Int(sqlite3_backup_remaining(backup)), total)
      if code == SQLITE_BUSY || code == SQLITE_LOCKED {
        remainingTries -= 1
        sqlite3_sleep(50)
      }
    } while code == SQLITE_OK
      || (remainingTries > 0 && (code == SQLITE_BUSY || code == SQLITE_LOCKED))
    let count = Int(sqlite3_backup_pagecount(backup))
    sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE else {
      throw StoreError(code: code, message: String(cString: sqlite3_errstr(code)))
    }
    return (count, size)
  }

  /// Checks the pages, the indexes and the newest token of the copy. Other problems come from the source.
  private static func verify(
    _ copy: String, against source: String, _ token: Token?
  ) throws(StoreError) {
    try requireContent(copy)
    let (connection, _) = try OpenFile.openForReading(copy)
    defer { connection.close() }
    if case .damage(let what)? = try StoreCheck(connection: connection).damage().first {
      throw .unusable("the copy of \(source) is damaged: \(what)")
    }
    guard let token else { return }
    guard try newestToken(on: connection) == token else {
      throw .unusable("the copy does not contain the snapshot with which it began")
    }
  }

  static func newestToken(on connection: Connection) throws(StoreError) -> Token {
    try History(model: Model(entities: []), schema: Schema(entities: [], joinTables: []))
      .newestToken(on: connection)
  }
}

// MARK: - Restoring

extension SQLiteStore {
  /// Gives the file a new epoch. Returns its token, or nil if the file has no history.
  private static func beginEpoch(_ path: String) throws(StoreError) -> Token? {
    let connection = try Connection(path: path, access: .write)
    defer { connection.close() }
    guard try History.isPresent(on: connection) else { return nil }
    try History.checkFormat(on: connection)
    let introspection = try Introspection(of: connection)
    let history = History(model: introspection.model, schema: introspection.schema)
    try history.restart(on: connection)
    return try history.newestToken(on: connection)
  }

  /// Writes the draft's pages over the file's, in one transaction, which other processes detect.
  private static func replace(
    _ path: String, by draft: String
  ) throws(StoreError) -> BackupReport {
    let target = try Connection(path: path, access: .write)
    defer { target.close() }
    let targetPageSize = try target.first("PRAGMA main.page_size") { $0.integer(0) }
    let source = try Connection(path: draft, access: .write)
    defer { source.close() }
    let found = try source.first("PRAGMA main.page_size") { $0.integer(0) }
    if let targetPageSize, targetPageSize != found {
      try source.execute("PRAGMA page_size = \(targetPageSize); VACUUM")
    }
    let pages = try copy(from: source, to: target) { _, _ in }
    sqlite3_wal_checkpoint_v2(target.handle, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    return BackupReport(pages: pages.count, bytes: pages.count * pages.size, token: nil)
  }

  private static func size(
    of path: String, _ token: Token?
  ) throws(StoreError) -> BackupReport {
    let (connection, _) = try OpenFile.openForReading(path)
    defer { connection.close() }
    let pages = try connection.first("PRAGMA main.page_count") { Int($0.integer(0)) } ?? 0
    let size = try connection.first("PRAGMA main.page_size") { Int($0.integer(0)) } ?? 0
    return BackupReport(pages: pages, bytes: pages * size, token: token)
  }
}
