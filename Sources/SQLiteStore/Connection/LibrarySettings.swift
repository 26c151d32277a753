// Settings of the SQLite library, made once before its first use in the process; and its messages
// about damaged files and failing disks, which no response to a client contains.

import LiveFetchCSQLite
import Synchronization

extension SQLiteStore {
  /// Prepares the SQLite library for many threads. Called before the first connection is opened.
  ///
  /// Without it every allocation takes a lock that all connections share, only to keep statistics, and
  /// the memory of a query has no bound.
  static func prepareLibrary() { _ = libraryPreparation }

  /// A failure of a file that an administrator must know.
  public enum FileFailure: Sendable, Hashable {
    /// SQLite found the file damaged or the disk failing; the text is SQLite's.
    case reported(String)
    /// The file, its log or the log's index was removed, replaced or truncated.
    case changed(String)
    /// Saves may be missing from the file.
    case lostLog(String)
  }

  /// Calls `report`, on any thread, for each detected failure of an open file.
  public static func onFailingFile(_ report: @escaping @Sendable (FileFailure) -> Void) {
    prepareLibrary()
    failureReport.withLock { $0 = report }
  }

  static func report(_ failure: FileFailure) {
    let report = failureReport.withLock { $0 }
    report?(failure)
  }
}

// Protects the callback for failing files.
private let failureReport = Mutex<(@Sendable (SQLiteStore.FileFailure) -> Void)?>(nil)

/// Reports only failures of files. A wrong statement or a busy file is reported where it occurs.
private func reportLog(
  _: UnsafeMutableRawPointer?, _ code: Int32, _ message: UnsafePointer<CChar>?
) {
  guard [SQLITE_CORRUPT, SQLITE_IOERR, SQLITE_NOTADB].contains(code & 0xFF), let message else {
    return
  }
  SQLiteStore.report(.reported(String(cString: message)))
}

// If the library is already in use, SQLite refuses these settings; it then only works more slowly
// and logs nothing.
private let libraryPreparation: Int32 =
  csqlite_stop_counting_memory() | csqlite_log_errors(reportLog) | QueryMemory.install()
