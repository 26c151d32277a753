// Settings of the SQLite library itself, made once, before its first use in the process; and what it
// says of damaged files and disks that fail, which no answer to a client tells.

import CSQLite
import Synchronization

extension SQLiteStore {
  /// Prepares the SQLite library for many threads. Called before the first connection is opened.
  ///
  /// Without it every allocation takes a lock that all connections share, only to keep statistics, and
  /// the memory of a query has no bound.
  static func prepareLibrary() { _ = libraryPreparation }

  /// What is wrong with a file.
  public enum FileFailure: Sendable, Hashable {
    /// SQLite finds it damaged or the disk failing, in SQLite's own words.
    case reported(String)
    /// It, its log or the log's index was removed, replaced or cut short.
    case changed(String)
    /// Saves may be missing from the file.
    case lostLog(String)
  }

  /// Has `report` called, on any thread, when something is wrong with an open file, as often as that
  /// is found.
  public static func onFailingFile(_ report: @escaping @Sendable (FileFailure) -> Void) {
    prepareLibrary()
    failureReport.withLock { $0 = report }
  }

  static func report(_ failure: FileFailure) {
    let report = failureReport.withLock { $0 }
    report?(failure)
  }
}

// Guards the callback for failing files.
private let failureReport = Mutex<(@Sendable (SQLiteStore.FileFailure) -> Void)?>(nil)

/// Only what an administrator has to know: a wrong statement or a busy file is told where it happens.
private func takeLog(_: UnsafeMutableRawPointer?, _ code: Int32, _ message: UnsafePointer<CChar>?) {
  guard [SQLITE_CORRUPT, SQLITE_IOERR, SQLITE_NOTADB].contains(code & 0xFF), let message else {
    return
  }
  SQLiteStore.report(.reported(String(cString: message)))
}

// A library in use already refuses, and is only slower and silent then.
private let libraryPreparation: Int32 =
  csqlite_stop_counting_memory() | csqlite_log_errors(takeLog) | QueryMemory.install()
