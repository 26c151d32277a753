// The path of a database → whether SQLite would lose the data in its write-ahead log.
//
// SQLite takes a missing file, or one of 0 or 1 bytes, for a new database: it deletes the log of the
// former one, or applies it to the new one.

import FetchModel
import LiveFetchCLibrary

/// A write-ahead log with data whose database is missing or was cut to nothing.
struct OrphanedLog {
  let path: String
  /// The bytes of the database; nil if there is no file.
  private let databaseBytes: Int?

  /// Returns nil if the log of `database` has no data, or belongs to a file with content.
  init?(of database: String) {
    let resolved = resolvedPath(database)
    databaseBytes = FileStatus(resolved)?.size
    path = resolved + "-wal"
    guard (databaseBytes ?? 0) <= 1, let log = FileStatus(path), log.size > 0 else { return nil }
  }

  /// Refuses to open or create `database` if that would destroy its log.
  static func check(_ database: String) throws(StoreError) {
    guard let log = Self(of: database) else { return }
    guard let bytes = log.databaseBytes else {
      throw .unusable(
        """
        there is no database, but its log \(log.path) holds data (put the database back, or move \
        the log)
        """)
    }
    throw .unusable(
      """
      the file was cut short: it has \(bytes) bytes, and its log has more (restore it from a \
      backup)
      """)
  }

  /// Renames the log to `FILE-wal-orphan`, and removes its index.
  func keep() throws(StoreError) {
    let database = String(path.dropLast("-wal".count))
    guard rename(path, Self.freeName(of: path)) == 0 else {
      throw .failed("the log \(path) could not be renamed")
    }
    unlink(database + "-shm")
  }

  /// A name that no earlier orphaned log has.
  static func freeName(of log: String) -> String {
    let first = log + "-orphan"
    guard FileStatus(first) != nil else { return first }
    var number = 2
    while FileStatus("\(first)-\(number)") != nil { number += 1 }
    return "\(first)-\(number)"
  }
}
