// The path of a served database enters; the condition of its files leaves: whether the database,
// its write-ahead log and the log's index are still the ones that SQLite has open.
//
// SQLite continues with its open descriptors when a file is removed, renamed or replaced. It
// then commits to a file without a name. The writer therefore compares device and inode before
// and after each commit. The log's index is mapped into memory. If another program truncates it,
// reading beyond its end raises SIGBUS; the handler of that signal gives it its length back, and so
// does the comparison before each transaction. Its content is lost then: the store must be closed and
// opened again, so that SQLite rebuilds the index from the log.

import FetchModel
import LiveFetchCLibrary
import LiveFetchCMappedFiles
import Synchronization

/// Identifies a file independently of its names.
package struct FileIdentity: Sendable, Hashable {
  let device: UInt64
  let inode: UInt64
}

/// The identity and the length of a file.
struct FileStatus: Sendable {
  let identity: FileIdentity
  let size: Int
  /// The number of the file's names (hard links).
  let links: Int
  /// The time of the last change of its content, in nanoseconds since 1970.
  let modified: Int64
  /// The values that the system call found.
  let found: stat

  /// Returns nil if no file has that name.
  init?(_ path: String) {
    var found = stat()
    guard stat(path, &found) == 0 else { return nil }
    self.init(found)
  }

  /// Returns nil for an invalid descriptor.
  init?(descriptor: Int32) {
    var found = stat()
    guard fstat(descriptor, &found) == 0 else { return nil }
    self.init(found)
  }

  private init(_ found: stat) {
    self.found = found
    identity = FileIdentity(
      device: UInt64(truncatingIfNeeded: found.st_dev), inode: UInt64(found.st_ino))
    size = Int(found.st_size)
    links = Int(found.st_nlink)
    #if !canImport(Darwin)
      let time = found.st_mtim
    #else
      let time = found.st_mtimespec
    #endif
    modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

/// Returns the absolute path of a file without symbolic links; `path` itself if there is no file.
func resolvedPath(_ path: String) -> String {
  guard let resolved = realpath(path, nil) else { return path }
  defer { free(resolved) }
  return String(cString: resolved)
}

/// Returns the directory of a path, and the rest.
func pathParts(_ path: String) -> (directory: String, file: String) {
  guard let cut = path.lastIndex(of: "/") else { return (".", path) }
  return (cut == path.startIndex ? "/" : String(path[..<cut]), String(path[cut...].dropFirst()))
}

/// The condition of an open database's files.
enum FileCondition: Sendable, Hashable {
  case intact
  /// No file has the name.
  case removed
  /// Another file has the name.
  case replaced
  /// The file lacks pages.
  case truncated
  /// The log lacks committed frames.
  case logTruncated
  /// The index was truncated, so its contents do not match the log.
  case indexTruncated
  /// The log or its index was removed, and there is no other one: no other process has opened the
  /// file since.
  case logRemoved
  /// There is another log or index, which another process uses.
  case logReplaced
  /// SQLite has found damaged content in the file or its log.
  case damaged

  /// True if copying the open log into the open file cannot damage anything.
  var allowsCheckpoint: Bool {
    switch self {
    case .truncated, .logTruncated, .indexTruncated, .logReplaced, .damaged: false
    case .intact, .removed, .replaced, .logRemoved: true
    }
  }

  /// The fault and its stable code; nil if the files are intact.
  var fault: StoreFault? {
    switch self {
    case .intact: nil
    case .removed: StoreFault("file-removed", "The database file was removed or renamed.")
    case .replaced:
      StoreFault("file-replaced", "Another file has taken the name of the database file.")
    case .truncated: StoreFault("file-truncated", "The database file was cut short.")
    case .logTruncated:
      StoreFault("log-truncated", "The write-ahead log was cut short.")
    case .indexTruncated:
      StoreFault("index-truncated", "The index of the write-ahead log was cut short.")
    case .logRemoved: StoreFault("log-removed", "The write-ahead log or its index was removed.")
    case .logReplaced:
      StoreFault("log-replaced", "The write-ahead log or its index was replaced.")
    case .damaged: StoreFault("file-damaged", "The content of the database file is damaged.")
    }
  }
}

/// The files of one open database. May be used from any thread.
final class ServedFiles: Sendable {
  /// The smallest page size of SQLite; no database is shorter.
  private static let shortest = 512
  /// The length of the index's header, with its locks and marks.
  private static let indexHeaderBytes = 136

  private let path: String
  /// The path without symbolic links: SQLite resolves them before it names the log.
  private let databasePath: String
  private let logPath: String
  private let indexPath: String
  private let database: FileIdentity?
  private let log: FileIdentity?
  private let index: FileIdentity?
  /// The index, whose length is restored: SQLite never truncates an open one. Nil if there was none.
  nonisolated(unsafe) private let mappedIndex: OpaquePointer?
  /// The length of the log that its index required when it was last read.
  private let logBytes = Atomic(0)
  /// True once the file lacked pages; it stays true, because later content is not the one that was
  /// opened.
  private let isTruncated = Atomic(false)
  /// True once the log lacked frames; it stays true, because its later content has gaps.
  private let isLogTruncated = Atomic(false)
  /// True once SQLite has found damaged content; it stays true, because SQLite cannot repair it.
  private let isDamaged = Atomic(false)
  /// The file's modification time when this process last checkpointed.
  private let checkpointed: Atomic<Int64>

  /// Records the identities of the files of `path`. A connection must have the database and its log
  /// open.
  init(path: String) {
    self.path = path
    databasePath = resolvedPath(path)
    logPath = databasePath + "-wal"
    indexPath = databasePath + "-shm"
    let database = FileStatus(path)
    self.database = database?.identity
    checkpointed = Atomic(database?.modified ?? 0)
    log = FileStatus(logPath)?.identity
    index = FileStatus(indexPath)?.identity
    mappedIndex = livefetch_mapped_file_register(indexPath)
  }

  deinit {
    if let mappedIndex { livefetch_mapped_file_unregister(mappedIndex) }
  }

  /// The current condition. Costs three calls of `stat`.
  var condition: FileCondition {
    condition(log: FileStatus(logPath), index: FileStatus(indexPath))
  }

  private func condition(log: FileStatus?, index: FileStatus?) -> FileCondition {
    let isIndexTruncated = isIndexTruncated(index)
    if isTruncated.load(ordering: .relaxed) { return .truncated }
    guard let now = FileStatus(path) else { return .removed }
    guard now.identity == database else { return .replaced }
    guard now.size >= Self.shortest else {
      isTruncated.store(true, ordering: .relaxed)
      return .truncated
    }
    if Self.isReplaced(self.log, by: log) || Self.isReplaced(self.index, by: index) {
      return .logReplaced
    }
    if isLogTruncated.load(ordering: .relaxed) { return .logTruncated }
    if isIndexTruncated { return .indexTruncated }
    let isRemoved = self.log != nil && log == nil || self.index != nil && index == nil
    guard isRemoved else { return isDamaged.load(ordering: .relaxed) ? .damaged : .intact }
    // Another process that did not see the removed log may have opened, written and closed the
    // file.
    return now.modified == checkpointed.load(ordering: .relaxed) ? .logRemoved : .logReplaced
  }

  /// Records permanently that the files are damaged, if that is what a statement failed with. Pages
  /// that SQLite can still write do not make the file whole: after the end of the process, SQLite
  /// recovers the log only up to the damage.
  func recordDamage(_ error: StoreError) {
    if case .damaged = error { isDamaged.store(true, ordering: .relaxed) }
  }

  /// Records that this process has copied the log into the database file.
  func recordCheckpoint() {
    guard let now = FileStatus(path), now.identity == database else { return }
    checkpointed.store(now.modified, ordering: .relaxed)
  }

  /// SQLite creates the log and its index when it opens the file. One that did not exist then is
  /// not monitored.
  private static func isReplaced(_ known: FileIdentity?, by now: FileStatus?) -> Bool {
    guard let known, let now else { return false }
    return now.identity != known
  }

  /// True if a transaction may begin on an open connection, and if what it read is true. Costs one
  /// call of `stat`.
  var allowsReading: Bool {
    guard !isTruncated.load(ordering: .relaxed) else { return false }
    return !isIndexTruncated(FileStatus(indexPath))
  }

  /// True once the index was truncated; it stays true, because it is not rebuilt before every
  /// connection is closed. Extends a truncated index with zeros to its previous length.
  ///
  /// - Parameter now: the present status of the index; nil if it was removed.
  private func isIndexTruncated(_ now: FileStatus?) -> Bool {
    guard let mappedIndex else { return false }
    var found = now?.found ?? stat()
    return livefetch_mapped_file_restore(mappedIndex, &found)
  }

  /// Checks the files before and after a commit.
  ///
  /// - Parameter connection: the writer's.
  /// - Throws: ``StoreError/storageFailed(_:)`` if a commit now would be lost, ``StoreError/damaged(_:)`` if
  ///   damaged content was found.
  func check(_ connection: Connection) throws(StoreError) {
    let (log, index) = (FileStatus(logPath), FileStatus(indexPath))
    if index?.identity == self.index { checkLog(connection, log, index) }
    checkPages(connection)
    let condition = condition(log: log, index: index)
    guard let fault = condition.fault else { return }
    throw condition == .damaged ? .damaged(fault.detail) : .storageFailed(fault.detail)
  }

  /// Records permanently that the file lacks pages. Costs a read of 100 bytes and a call of `fstat`.
  func checkPages(_ connection: Connection) {
    if connection.lacksPages { isTruncated.store(true, ordering: .relaxed) }
  }

  /// Records permanently that the log is shorter than its index requires. SQLite writes frames
  /// before it counts them in the index, and resets the count before it truncates the log. Another
  /// process may do either between two reads; then both values have changed. A truncated index
  /// contains no valid count, so its previous one is used.
  private func checkLog(_ connection: Connection, _ log: FileStatus?, _ index: FileStatus?) {
    guard let log, log.identity == self.log else { return }
    if let required = requiredLogBytes(connection, index) {
      logBytes.store(required, ordering: .relaxed)
    }
    let required = logBytes.load(ordering: .relaxed)
    guard log.size < required, FileStatus(logPath)?.size == log.size,
      (requiredLogBytes(connection, FileStatus(indexPath)) ?? required) == required
    else { return }
    isLogTruncated.store(true, ordering: .relaxed)
  }

  /// Returns nil if the index does not contain the length of the log.
  ///
  /// - Parameter index: Its status before.
  private func requiredLogBytes(_ connection: Connection, _ index: FileStatus?) -> Int? {
    guard !isIndexTruncated(index) else { return nil }
    let required = connection.requiredLogBytes
    return isIndexTruncated(FileStatus(indexPath)) ? nil : required
  }

  /// Copies the writer's open log to `FILE-wal-orphan` if other processes use another log. It may
  /// contain the last copy of some saves.
  func keepOrphan(of connection: Connection) {
    let orphan = OrphanedLog.freeName(of: logPath)
    guard connection.copyLog(to: orphan) else {
      return SQLiteStore.report(.lostLog("the former write-ahead log could not be copied"))
    }
    SQLiteStore.report(
      .lostLog("saves of the former write-ahead log may be missing; it is kept as \(orphan)"))
  }

  /// Makes SQLite rebuild a truncated index from the log when the file is opened again: it does so
  /// where the header is invalid. A truncated header can be valid, with zeros after it.
  func invalidateTruncatedIndex() {
    guard condition == .indexTruncated else { return }
    let descriptor = open(indexPath, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let header = [UInt8](repeating: 0, count: Self.indexHeaderBytes)
    _ = header.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  }

  /// Removes the log from a name whose file is another one, or has other content, because SQLite
  /// would apply the log to it. No connection may have it open. The log of a truncated file may
  /// contain the last copy of some pages, so it is kept as `FILE-wal-orphan`.
  func removeStaleLog() {
    let condition = condition
    guard condition == .replaced || condition == .truncated else { return }
    guard let log, FileStatus(logPath)?.identity == log else { return }
    // If a symbolic link was redirected, the log still belongs to the old file.
    let isTruncated = condition == .truncated
    guard isTruncated || FileStatus(databasePath)?.identity != database else { return }
    if isTruncated {
      rename(logPath, OrphanedLog.freeName(of: logPath))
    } else {
      unlink(logPath)
    }
    unlink(indexPath)
  }
}
