// Files whose index cannot be opened, as in a directory that may not be written, so that SQLite cannot lock them.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("A file that cannot be locked", .mayBlock)
struct UnlockableFileTests {
  /// A file whose index SQLite can neither open nor create, as in a directory that may not be written:
  /// a symbolic link is in its place. That binds root too.
  private func file(keepingLog: Bool) throws -> ScratchFile {
    let file = try ScratchFile("CREATE TABLE city(name TEXT);")
    let connection = try file.connect()
    _ = try connection.all("PRAGMA journal_mode = WAL", []) { $0.text(0) }
    try connection.execute("INSERT INTO city VALUES ('Rome'), ('Oslo')")
    if keepingLog { connection.keepLogOnClose() }
    connection.close()
    try? FileManager.default.removeItem(atPath: file.path + "-shm")
    try FileManager.default.createSymbolicLink(
      atPath: file.path + "-shm", withDestinationPath: "/nonexistent/index")
    return file
  }

  @Test("is refused while its log has saves that would be ignored")
  func refused() throws {
    let file = try file(keepingLog: true)
    #expect(try #require(FileStatus(file.path + "-wal")?.size) > 0)
    let error = #expect(throws: StoreError.self) { try OpenFile.openForReading(file.path) }
    guard case .unusable(let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.hasPrefix("its log "))
    #expect(reason.contains("-wal has data that cannot be read without writing "))
  }

  @Test("is read once its log is empty")
  func read() throws {
    let file = try file(keepingLog: false)
    #expect((FileStatus(file.path + "-wal")?.size ?? 0) == 0)
    let (connection, access) = try OpenFile.openForReading(file.path)
    #expect(access == .immutableFile)
    #expect(
      try connection.all("SELECT name FROM city", []) { $0.text(0) } == ["Rome", "Oslo"])
    connection.close()
    withExtendedLifetime(file) {}
  }
}
