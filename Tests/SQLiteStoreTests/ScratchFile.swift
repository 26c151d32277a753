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

  /// Runs `sql` as another process would: on a connection without LiveFetch's settings.
  func runExternally(_ sql: String) throws {
    let connection = try connect()
    try connection.execute("PRAGMA foreign_keys = OFF; PRAGMA query_only = OFF;" + sql)
  }
}
