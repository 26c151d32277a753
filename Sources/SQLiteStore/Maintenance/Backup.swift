// A file, served or not → a copy of one moment of it that was looked through; and a copy → a store.

import CSQLite
import FetchModel

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// What a copy holds.
public struct BackupReport: Sendable, Hashable {
  public let pages: Int
  public let bytes: Int
  /// The moment that it is of; nil where the file has no history.
  public let token: Token?
}

/// Which of the two files of a copy could not be used, and why.
public enum CopyError: Error, Sendable {
  case source(StoreError)
  case destination(StoreError)
}

extension SQLiteStore {
  /// Copies the file at `path`, which others may be writing, to `destination`, which must not be
  /// there. The copy appears whole and checked, or not at all.
  ///
  /// - Parameter progress: pages copied, and how many there are.
  /// - Throws: `source` with ``StoreError/unusable(_:)`` where the copy is not sound.
  public static func backUp(
    path: String, to destination: String, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(CopyError) -> BackupReport {
    let draft = destination + ".partial"
    removeFiles(draft)
    do throws(CopyError) {
      let report = try copy(path, toNew: draft, progress)
      try of(.source) { () throws(StoreError) in
        try verify(draft, against: path, report.token)
      }
      guard rename(draft, destination) == 0 else {
        throw .destination(.failed("the copy could not be given its name"))
      }
      return report
    } catch {
      removeFiles(draft)
      throw error
    }
  }

  /// Makes the file at `path` what `backup` is, under a new epoch: tokens from before are expired.
  ///
  /// - Throws: ``StoreError/unusable(_:)``, as `source` where the backup is not sound, as
  ///   `destination` where the file is served.
  public static func restore(
    _ backup: String, to path: String, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(CopyError) -> BackupReport {
    let lock = try of(.destination) { () throws(StoreError) in try FileLock(beside: path) }
    defer { withExtendedLifetime(lock) {} }
    let draft = path + ".restoring"
    removeFiles(draft)
    defer { removeFiles(draft) }
    _ = try copy(backup, toNew: draft, progress)
    try of(.source) { () throws(StoreError) in try verify(draft, against: backup, nil) }
    try of(.source) { () throws(StoreError) in try requireContent(draft) }
    return try of(.destination) { () throws(StoreError) in try take(draft, as: path) }
  }

  /// A file without a table is what is left of a copy that failed, not a backup: SQLite takes one of
  /// no bytes for a sound database.
  private static func requireContent(_ draft: String) throws(StoreError) {
    let connection = try Connection(path: draft, access: .read)
    defer { connection.close() }
    guard try connection.hasRow("SELECT 1 FROM main.sqlite_schema WHERE type = 'table'", []) else {
      throw .unusable("there is no table in it: nothing was restored")
    }
  }

  /// Gives the draft's content to the file at `path`, which need not be there.
  private static func take(
    _ draft: String, as path: String
  ) throws(StoreError) -> BackupReport {
    let token = try beginEpoch(draft)
    let report: BackupReport
    if access(path, F_OK) == 0 {
      report = try replace(path, by: draft)
    } else {
      report = try size(of: draft, token)
      guard rename(draft, path) == 0 else { throw .failed("the file could not be given its name") }
    }
    return BackupReport(pages: report.pages, bytes: report.bytes, token: token)
  }

  private enum Side { case source, destination }

  /// Says on which side it was that `work` failed.
  private static func of<Result>(
    _ side: Side, _ work: () throws(StoreError) -> Result
  ) throws(CopyError) -> Result {
    do throws(StoreError) {
      return try work()
    } catch {
      throw side == .source ? .source(error) : .destination(error)
    }
  }

  /// Removes the file at `path` and whatever SQLite keeps beside it. Nobody may have it open.
  public static func remove(path: String) { removeFiles(path) }

  /// Makes a database without tables at `path`, where no file may be yet. It appears whole or not at
  /// all.
  public static func create(path: String) throws(StoreError) {
    let draft = path + ".new"
    removeFiles(draft)
    defer { removeFiles(draft) }
    guard makeEmptyFile(draft) else {
      let reason =
        errno == ENOENT ? "its folder does not exist" : String(cString: strerror(errno))
      throw .unusable("the file cannot be made: \(reason)")
    }
    let connection = try Connection(path: draft, access: .write)
    // Writes the first page.
    try connection.execute("PRAGMA user_version = 0")
    connection.close()
    guard rename(draft, path) == 0 else { throw .failed("the file could not be given its name") }
  }

  static func removeFiles(_ path: String) {
    for end in ["", "-wal", "-shm", "-journal"] { unlink(path + end) }
  }
}

private func makeEmptyFile(_ path: String) -> Bool {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
  guard descriptor >= 0 else { return false }
  close(descriptor)
  return true
}

// MARK: - Copying

extension SQLiteStore {
  /// The source is held at one moment by a read transaction, so that writers do not start it anew.
  private static func copy(
    _ path: String, toNew draft: String, _ progress: (Int, Int) -> Void
  ) throws(CopyError) -> BackupReport {
    let (source, token) = try of(.source) { () throws(StoreError) in try openToCopy(path) }
    defer { source.close() }
    let pages = try of(.destination) { () throws(StoreError) in
      try NewTable.touch(draft)
      let target = try Connection(path: draft, access: .write)
      defer { target.close() }
      let pages = try copy(from: source, to: target, progress)
      // One file without a log: it can be copied and moved as it is.
      _ = try target.first("PRAGMA main.journal_mode = DELETE") { $0.text(0) }
      return pages
    }
    return BackupReport(pages: pages.count, bytes: pages.count * pages.size, token: token)
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
    guard let backup = sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
      throw StoreError(of: target.handle)
    }
    var code = SQLITE_OK
    var patience = 100
    repeat {
      code = sqlite3_backup_step(backup, 2_048)
      let total = Int(sqlite3_backup_pagecount(backup))
      progress(total - Int(sqlite3_backup_remaining(backup)), total)
      if code == SQLITE_BUSY || code == SQLITE_LOCKED {
        patience -= 1
        sqlite3_sleep(50)
      }
    } while code == SQLITE_OK || (patience > 0 && (code == SQLITE_BUSY || code == SQLITE_LOCKED))
    let count = Int(sqlite3_backup_pagecount(backup))
    sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE else {
      throw StoreError(code: code, message: String(cString: sqlite3_errstr(code)))
    }
    return (count, size)
  }

  /// Orphans are the source's own; damage and a broken history are the copy's.
  private static func verify(
    _ copy: String, against source: String, _ token: Token?
  ) throws(StoreError) {
    for finding in try check(path: copy) {
      switch finding {
      case .damage(let what): throw .unusable("the copy of \(source) is damaged: \(what)")
      case .history, .orphans: continue
      }
    }
    guard let token else { return }
    let (connection, _) = try OpenFile.openForReading(copy)
    defer { connection.close() }
    guard try newestToken(on: connection) == token else {
      throw .unusable("the copy is of another moment than it was begun at")
    }
  }

  static func newestToken(on connection: Connection) throws(StoreError) -> Token {
    try History(model: Model(entities: []), schema: Schema(entities: [], joinTables: []))
      .newestToken(on: connection)
  }
}

// MARK: - Restoring

extension SQLiteStore {
  /// Gives the file a new epoch; its token, or nil where it has no history.
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

  /// Writes the draft's pages over the file's, as one transaction that other processes see.
  private static func replace(
    _ path: String, by draft: String
  ) throws(StoreError) -> BackupReport {
    let target = try Connection(path: path, access: .write)
    defer { target.close() }
    let wanted = try target.first("PRAGMA main.page_size") { $0.integer(0) }
    let source = try Connection(path: draft, access: .write)
    defer { source.close() }
    let found = try source.first("PRAGMA main.page_size") { $0.integer(0) }
    if let wanted, wanted != found {
      try source.execute("PRAGMA page_size = \(wanted); VACUUM")
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
