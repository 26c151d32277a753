// Settings of the SQLite library itself, made once, before its first use in the process.

import CSQLite

extension SQLiteStore {
  /// Prepares the SQLite library for many threads; a program that opens files by other ways first
  /// calls this before.
  ///
  /// Without it every allocation takes a lock that all connections share, only to keep statistics.
  public static func prepareLibrary() { _ = libraryPreparation }
}

// A library in use already refuses, and is only slower then.
private let libraryPreparation: Int32 = csqlite_stop_counting_memory()
