// A write-ahead log that is as long as its frames → a longer one, filled with zeros.
//
// A commit that makes a file longer also waits until the file system has written the file's new
// length and location; a commit that overwrites bytes waits only for those bytes. SQLite reads
// zeros behind the last frame as the end of the log, as it does with frames of an earlier
// generation.
//
// Measured on ext4, 450 small commits into a new log, with and without preallocation alternately,
// six runs: the mean falls by 7 to 26 %, the median by 1 to 45 %, most on fast disks (0.38 → 0.27
// ms). After about 500 such commits the log is overwritten from its start, and there is no
// difference.

import CSQLite
import FetchModel

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Keeps room in the log for the next commits. Used only on the writer's thread.
struct WALPreallocation {
  /// The size of one extension of the log, in bytes.
  private static let step: Int64 = 1 << 20
  /// The least room behind the frames, in pages.
  private static let leastPages: Int64 = 48
  /// The least free space on the disk, in bytes. On a disk that is nearly full, the log is not
  /// extended: the space is left for saves.
  private static let spare: UInt64 = 256 << 20

  private var known: Int32 = 0

  /// Extends the log if little room is left and no other connection holds the write lock.
  ///
  /// - Parameter pages: the number of pages in the log.
  mutating func extend(pages: Int32, pageSize: Int, on connection: Connection) {
    guard pages > 0, pages != known else { return }
    known = pages
    let frame = Int64(pageSize) + 24
    let needed = 32 + (Int64(pages) + Self.leastPages) * frame
    guard let log = LogFile(connection), let length = log.length, length < needed,
      Self.hasSpace(connection)
    else { return }
    try? connection.withPatience(0) { () throws(StoreError) in
      // No other connection can append during this transaction.
      try connection.run("BEGIN IMMEDIATE")
      log.fill(upTo: max(needed, (log.length ?? 0) + Self.step))
      try connection.run("ROLLBACK")
    }
  }

  private static func hasSpace(_ connection: Connection) -> Bool {
    guard let path = sqlite3_db_filename(connection.handle, "main") else { return false }
    var found = statvfs()
    guard statvfs(path, &found) == 0 else { return false }
    return UInt64(found.f_bavail) &* UInt64(found.f_frsize) > spare
  }
}

/// The log's file, as SQLite has it open.
private struct LogFile {
  private let file: UnsafeMutablePointer<sqlite3_file>
  private let methods: sqlite3_io_methods

  /// Returns nil if the database has no log file.
  init?(_ connection: Connection) {
    var file: UnsafeMutablePointer<sqlite3_file>?
    let code = sqlite3_file_control(
      connection.handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
    guard code == SQLITE_OK, let file, let methods = file.pointee.pMethods else { return nil }
    self.file = file
    self.methods = methods.pointee
  }

  var length: Int64? {
    var length: Int64 = 0
    return methods.xFileSize?(file, &length) == SQLITE_OK ? length : nil
  }

  /// Appends zeros until the file is `end` bytes long, and syncs it.
  func fill(upTo end: Int64) {
    let zeros = [UInt8](repeating: 0, count: 1 << 16)
    guard var offset = length, let write = methods.xWrite else { return }
    while offset < end {
      let count = min(Int64(zeros.count), end - offset)
      let code = zeros.withUnsafeBytes { write(file, $0.baseAddress, Int32(count), offset) }
      guard code == SQLITE_OK else { return }
      offset += count
    }
    _ = methods.xSync?(file, SQLITE_SYNC_NORMAL)
  }
}
