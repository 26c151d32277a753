import FetchModel
import Foundation
import TestSupport
import Testing

@testable import SQLiteStore

/// No other thread uses the file here: one that reads the index while it is cut gets SIGBUS.
@Suite("A truncated index of the write-ahead log", .mayBlock)
struct CutIndexTests {
  @Test(
    "the index gets its length back, and nothing is read or saved with it again",
    arguments: [0, 1, 20_000])
  func restored(size: off_t) throws {
    let file = try ScratchFile("CREATE TABLE city(name TEXT);")
    let connection = try file.connect()
    _ = try connection.all("PRAGMA journal_mode = WAL", []) { $0.text(0) }
    try connection.execute("INSERT INTO city VALUES ('Rome'), ('Oslo')")
    let files = ServedFiles(path: file.path)
    let index = file.path + "-shm"
    let length = try #require(FileStatus(index)?.size)
    #expect(files.allowsReading)
    try files.check(connection)
    #expect(truncate(index, size) == 0)
    for _ in 1...3 {
      #expect(!files.allowsReading)
      #expect(FileStatus(index)?.size == length)
      #expect(files.condition == .indexTruncated)
      #expect(!files.condition.allowsCheckpoint)
      #expect(throws: StoreError.self) { try files.check(connection) }
    }
  }

  @Test(
    "the index is rebuilt from the log when the file is opened again",
    arguments: [0, 96, 4_096, 16_384])
  func rebuilt(size: off_t) throws {
    let file = try ScratchFile("CREATE TABLE city(name TEXT);")
    let connection = try file.connect()
    _ = try connection.all("PRAGMA journal_mode = WAL", []) { $0.text(0) }
    try connection.execute("INSERT INTO city VALUES ('Rome'), ('Oslo')")
    let files = ServedFiles(path: file.path)
    #expect(truncate(file.path + "-shm", size) == 0)
    #expect(files.condition == .indexTruncated)
    connection.keepLogOnClose()
    connection.close()
    files.invalidateTruncatedIndex()
    let names = try file.connect().all("SELECT name FROM city ORDER BY 1", []) { $0.text(0) }
    #expect(names == ["Oslo", "Rome"])
  }
}
