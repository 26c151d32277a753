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

  @Test("with the journal of a transaction that was not completed is refused")
  func journal() throws {
    let file = try ScratchFile("CREATE TABLE city(name TEXT); INSERT INTO city VALUES ('Rome');")
    let connection = try file.connect()
    try connection.execute(
      """
      PRAGMA cache_size = 1; BEGIN;
      INSERT INTO city SELECT hex(randomblob(2000)) FROM (VALUES (1), (2), (3), (4), (5), (6));
      UPDATE city SET name = 'half';
      """)
    let copy = file.path + "-copy"
    for suffix in ["", "-journal"] {
      try FileManager.default.copyItem(atPath: file.path + suffix, toPath: copy + suffix)
    }
    connection.close()
    let error = #expect(throws: StoreError.self) { try OpenFile.openForReading(copy) }
    guard case .unusable(let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.contains("-journal belongs to a transaction that was not completed"))
    // A journal that SQLite kept and cleared is none.
    try Data(count: 512).write(to: URL(fileURLWithPath: file.path + "-journal"))
    let (reader, access) = try OpenFile.openForReading(file.path)
    #expect(access == .readOnlyFile)
    #expect(try reader.all("SELECT name FROM city", []) { $0.text(0) } == ["Rome"])
    reader.close()
  }

  @Test("that another program locks is busy, and not read without locks")
  func lockedByOthers() throws {
    let file = try ScratchFile("CREATE TABLE city(name TEXT);")
    let other = try file.connect()
    try other.execute("BEGIN EXCLUSIVE")
    #expect(throws: StoreError.busy) { try OpenFile.openForReading(file.path) }
    try other.execute("ROLLBACK")
    let (reader, access) = try OpenFile.openForReading(file.path)
    #expect(access == .readOnlyFile)
    reader.close()
    other.close()
  }
}
