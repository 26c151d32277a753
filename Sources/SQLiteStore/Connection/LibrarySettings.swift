// Settings of the SQLite library itself, made once, before its first use in the process; and what it
// says of damaged files and disks that fail, which no answer to a client tells.

import CSQLite
import Synchronization

extension SQLiteStore {
  /// Prepares the SQLite library for many threads. Called before the first connection is opened.
  ///
  /// Without it every allocation takes a lock that all connections share, only to keep statistics.
  static func prepareLibrary() { _ = libraryPreparation }

  /// Has `report` called, on any thread, when SQLite finds a file damaged or a disk failing; with
  /// SQLite's own words, as often as it says them.
  public static func onFailingFile(_ report: @escaping @Sendable (String) -> Void) {
    prepareLibrary()
    failureReport.withLock { $0 = report }
  }
}

// Guards who is told of failing files.
private let failureReport = Mutex<(@Sendable (String) -> Void)?>(nil)

/// Only what an administrator has to know: a wrong statement or a busy file is told where it happens.
private func takeLog(_: UnsafeMutableRawPointer?, _ code: Int32, _ message: UnsafePointer<CChar>?) {
  guard [SQLITE_CORRUPT, SQLITE_IOERR, SQLITE_NOTADB].contains(code & 0xFF), let message else {
    return
  }
  let report = failureReport.withLock { $0 }
  report?(String(cString: message))
}

// A library in use already refuses, and is only slower and silent then.
private let libraryPreparation: Int32 = csqlite_stop_counting_memory() | csqlite_log_errors(takeLog)
