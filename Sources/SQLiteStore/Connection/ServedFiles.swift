// The path of a served database → whether its file, its write-ahead log and the log's index are
// still the ones that SQLite has open.
//
// SQLite goes on with open descriptors when a file is removed, renamed or replaced: what it commits
// then is in no file that anybody finds again. So the writer compares device and inode before and
// after each commit. An index that another program has cut short is mapped into memory, and reading
// behind its end raises SIGBUS: its length is compared before each transaction.

import FetchModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Tells one file from another, whatever their names.
struct FileIdentity: Sendable, Hashable {
  let device: UInt64
  let inode: UInt64
}

/// The identity and the length of a file.
struct FileStatus: Sendable {
  let identity: FileIdentity
  let size: Int
  /// How many names the file has.
  let links: Int
  /// When its content was changed last, in nanoseconds.
  let modified: Int64

  /// nil where there is no file of that name.
  init?(_ path: String) {
    var found = stat()
    guard stat(path, &found) == 0 else { return nil }
    self.init(found)
  }

  /// nil where the descriptor is none.
  init?(descriptor: Int32) {
    var found = stat()
    guard fstat(descriptor, &found) == 0 else { return nil }
    self.init(found)
  }

  private init(_ found: stat) {
    identity = FileIdentity(
      device: UInt64(truncatingIfNeeded: found.st_dev), inode: UInt64(found.st_ino))
    size = Int(found.st_size)
    links = Int(found.st_nlink)
    #if canImport(Glibc)
      let time = found.st_mtim
    #else
      let time = found.st_mtimespec
    #endif
    modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

/// The absolute path of a file without symbolic links; `path` itself where there is no file.
func resolvedPath(_ path: String) -> String {
  guard let resolved = realpath(path, nil) else { return path }
  defer { free(resolved) }
  return String(cString: resolved)
}

/// How the files of an open database stand.
enum FileCondition: Sendable, Hashable {
  case intact
  /// No file has the name.
  case removed
  /// Another file has the name.
  case replaced
  /// The file is shorter than any database.
  case truncated
  /// The log lacks frames that were committed.
  case logTruncated
  /// The log or its index is gone, and no other one is there: no other process has opened the file
  /// since.
  case logRemoved
  /// Another log or index is there, which another process uses.
  case logReplaced

  /// Whether copying the open log into the open file harms nobody.
  var allowsCheckpoint: Bool {
    switch self {
    case .truncated, .logTruncated, .logReplaced: false
    case .intact, .removed, .replaced, .logRemoved: true
    }
  }

  /// What is wrong, and a stable code for it; nil where nothing is.
  var fault: StoreFault? {
    switch self {
    case .intact: nil
    case .removed: StoreFault("file-removed", "The database file was removed or renamed.")
    case .replaced:
      StoreFault("file-replaced", "Another file has taken the name of the database file.")
    case .truncated: StoreFault("file-truncated", "The database file was cut short.")
    case .logTruncated:
      StoreFault("log-truncated", "The write-ahead log was cut short.")
    case .logRemoved: StoreFault("log-removed", "The write-ahead log or its index was removed.")
    case .logReplaced:
      StoreFault("log-replaced", "The write-ahead log or its index was replaced.")
    }
  }
}

/// The files of one open database. Any thread may ask.
final class ServedFiles: Sendable {
  /// The smallest page of SQLite: no database is shorter.
  private static let shortest = 512

  private let path: String
  /// The same without symbolic links: SQLite resolves them before it names the log.
  private let databasePath: String
  private let logPath: String
  private let indexPath: String
  private let database: FileIdentity?
  private let log: FileIdentity?
  private let index: FileIdentity?
  /// The length that the index has reached. SQLite never cuts one that is open.
  private let indexBytes: Atomic<Int>
  /// The length that the index required of the log when it was last read.
  private let logBytes = Atomic(0)
  /// Set for good once the file was seen cut short: whatever it holds later is something else.
  private let isTruncated = Atomic(false)
  /// Set for good once the log lacked frames: what it holds later has gaps.
  private let isLogTruncated = Atomic(false)
  /// The file's own time when this process last copied the log into it.
  private let checkpointed: Atomic<Int64>

  /// Notes which files `path` names. A connection has to have the database and its log open.
  init(path: String) {
    self.path = path
    databasePath = resolvedPath(path)
    logPath = databasePath + "-wal"
    indexPath = databasePath + "-shm"
    let database = FileStatus(path)
    self.database = database?.identity
    checkpointed = Atomic(database?.modified ?? 0)
    log = FileStatus(logPath)?.identity
    let index = FileStatus(indexPath)
    self.index = index?.identity
    indexBytes = Atomic(index?.size ?? 0)
  }

  /// How the files stand now. Three calls of `stat`.
  var condition: FileCondition { condition(index: FileStatus(indexPath)) }

  private func condition(index: FileStatus?) -> FileCondition {
    if isTruncated.load(ordering: .relaxed) { return .truncated }
    guard let now = FileStatus(path) else { return .removed }
    guard now.identity == database else { return .replaced }
    guard now.size >= Self.shortest else {
      isTruncated.store(true, ordering: .relaxed)
      return .truncated
    }
    let log = FileStatus(logPath)
    if Self.isReplaced(self.log, by: log) || Self.isReplaced(self.index, by: index) {
      return .logReplaced
    }
    if isLogTruncated.load(ordering: .relaxed) { return .logTruncated }
    let isRemoved = self.log != nil && log == nil || self.index != nil && index == nil
    guard isRemoved else { return .intact }
    // A process that did not see the removed log may have opened, written and closed the file.
    return now.modified == checkpointed.load(ordering: .relaxed) ? .logRemoved : .logReplaced
  }

  /// Notes that this process has copied the log into the database file.
  func noteCheckpoint() {
    guard let now = FileStatus(path), now.identity == database else { return }
    checkpointed.store(now.modified, ordering: .relaxed)
  }

  /// SQLite makes the log and its index when it opens the file. One that was not there then is not
  /// watched.
  private static func isReplaced(_ known: FileIdentity?, by now: FileStatus?) -> Bool {
    guard let known, let now else { return false }
    return now.identity != known
  }

  /// Whether a transaction may begin on a connection that is open. One call of `stat`.
  var allowsReading: Bool {
    !isTruncated.load(ordering: .relaxed) && restore(FileStatus(indexPath)) != .unusable
  }

  private enum IndexState {
    case whole
    /// It was cut short, and has its length again.
    case restored
    case unusable
  }

  /// Gives an index that was cut short its length back, as zeros. SQLite takes these for an index
  /// that is not valid, and makes it again from the log when the next transaction begins.
  private func restore(_ now: FileStatus?) -> IndexState {
    guard let now, now.identity == index else { return .whole }
    let known = indexBytes.load(ordering: .relaxed)
    if now.size >= known {
      if now.size > known { indexBytes.max(now.size, ordering: .relaxed) }
      return .whole
    }
    return truncate(indexPath, off_t(known)) == 0 ? .restored : .unusable
  }

  /// Checks the files before and after a commit.
  ///
  /// - Parameters:
  ///   - connection: the writer's.
  ///   - inTransaction: true while a transaction that writes is open: what it read may come from an
  ///     index that has been cut short meanwhile.
  /// - Throws: ``StoreError/storageFailed(_:)`` where what is committed now would be lost.
  func check(_ connection: Connection, inTransaction: Bool = false) throws(StoreError) {
    let index = FileStatus(indexPath)
    let state = restore(index)
    if index?.identity == self.index { checkLog(state, connection) }
    if let fault = condition(index: index).fault { throw .storageFailed(fault.detail) }
    guard state == .whole || state == .restored && !inTransaction else {
      throw .storageFailed("the index of the write-ahead log was cut short")
    }
  }

  /// Notes for good that the log is shorter than its index requires. SQLite writes frames before it
  /// counts them in the index, and counts none before it cuts the log: another process may do either
  /// between two looks, and then both have changed.
  /// An index that was cut short itself no longer says anything: what it said before counts.
  private func checkLog(_ state: IndexState, _ connection: Connection) {
    guard let log = FileStatus(logPath), log.identity == self.log else { return }
    if state == .whole, let required = connection.requiredLogBytes {
      logBytes.store(required, ordering: .relaxed)
    }
    let required = logBytes.load(ordering: .relaxed)
    guard log.size < required, FileStatus(logPath)?.size == log.size,
      state != .whole || connection.requiredLogBytes == required
    else { return }
    isLogTruncated.store(true, ordering: .relaxed)
  }

  /// Keeps the log that the writer has open as `FILE-wal-orphan`, where other processes use another
  /// log: it may hold the last copy of some saves.
  func keepOrphan(of connection: Connection) {
    let orphan = orphanPath
    guard connection.copyLog(to: orphan) else {
      return SQLiteStore.report(.lostLog("the former write-ahead log could not be copied"))
    }
    SQLiteStore.report(
      .lostLog("saves of the former write-ahead log may be missing; it is kept as \(orphan)"))
  }

  /// Takes the log away from a name whose file is another one or has another content now: SQLite
  /// would apply it to that. Nothing may have it open. The log of a file that was cut short may hold
  /// the last copy of some pages: it is kept as `FILE-wal-orphan`.
  func removeStaleLog() {
    let condition = condition
    guard condition == .replaced || condition == .truncated else { return }
    guard let log, FileStatus(logPath)?.identity == log else { return }
    // Where a symbolic link leads elsewhere now, the log still belongs to the file beside it.
    let isTruncated = condition == .truncated
    guard isTruncated || FileStatus(databasePath)?.identity != database else { return }
    if isTruncated {
      rename(logPath, orphanPath)
    } else {
      unlink(logPath)
    }
    unlink(indexPath)
  }

  /// A name that no earlier log has.
  private var orphanPath: String {
    let first = logPath + "-orphan"
    guard FileStatus(first) != nil else { return first }
    var number = 2
    while FileStatus("\(first)-\(number)") != nil { number += 1 }
    return "\(first)-\(number)"
  }
}
