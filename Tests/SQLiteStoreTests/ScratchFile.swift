// A test's database file, deleted after the test.

import TestSupport

@testable import SQLiteStore

/// A file in a temporary directory of its own.
final class ScratchFile: Sendable {
  private let folder: TemporaryDirectory
  let path: String
  var directory: String { folder.path }

  /// Creates the file with the statements of `sql`.
  init(_ sql: String = "") throws {
    folder = try TemporaryDirectory()
    path = try folder.emptyFile()
    try runExternally(sql)
  }

  func connect(_ access: Connection.Access = .write) throws -> Connection {
    try Connection(path: path, access: access)
  }

  /// Runs `sql` as another process would, on a connection without LiveFetch's settings; no test needs its
  /// commits to survive a crash of the machine.
  func runExternally(_ sql: String) throws {
    let connection = try connect()
    let hasLog = try connection.first("PRAGMA journal_mode") { $0.text(0) } == "wal"
    try connection.execute(
      "PRAGMA foreign_keys = OFF; PRAGMA query_only = OFF; PRAGMA synchronous = OFF;"
        + (hasLog ? "" : "PRAGMA journal_mode = MEMORY;") + sql)
  }
}
