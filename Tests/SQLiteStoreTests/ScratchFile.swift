// A database file of a test's own, gone with the test.

import Foundation

@testable import SQLiteStore

/// A file in a temporary directory of its own.
final class ScratchFile: Sendable {
  let directory: String
  var path: String { directory + "/store.sqlite" }

  /// Makes the file with the statements of `sql`.
  init(_ sql: String = "") throws {
    directory = NSTemporaryDirectory() + "livefetch-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    try outsider(sql)
  }

  deinit { try? FileManager.default.removeItem(atPath: directory) }

  func connect(_ access: Connection.Access = .write) throws -> Connection {
    try Connection(path: path, access: access)
  }

  /// Runs `sql` as another process would: on a connection without this house's settings.
  func outsider(_ sql: String) throws {
    let connection = try connect()
    try connection.execute("PRAGMA foreign_keys = OFF; PRAGMA query_only = OFF;" + sql)
  }
}
