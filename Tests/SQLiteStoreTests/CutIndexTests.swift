import Foundation
import TestSupport
import Testing

@testable import SQLiteStore

/// No other thread uses the file here: one that reads the index while it is cut gets SIGBUS.
@Suite("A truncated index of the write-ahead log", .mayBlock)
struct CutIndexTests {
  @Test("the index is restored to its length before the next query", arguments: [0, 1, 20_000])
  func restored(size: off_t) throws {
    let file = try ScratchFile("CREATE TABLE city(name TEXT);")
    let connection = try file.connect()
    _ = try connection.all("PRAGMA journal_mode = WAL", []) { $0.text(0) }
    try connection.execute("INSERT INTO city VALUES ('Rome'), ('Oslo')")
    let files = ServedFiles(path: file.path)
    let index = file.path + "-shm"
    let length = try #require(FileStatus(index)?.size)
    for round in 1...5 {
      #expect(truncate(index, size) == 0)
      #expect(files.allowsReading)
      #expect(FileStatus(index)?.size == length)
      let names = try connection.all("SELECT name FROM city ORDER BY 1", []) { $0.text(0) }
      #expect(names.count == 1 + round)
      #expect(truncate(index, size) == 0)
      try files.check(connection)
      try connection.execute("INSERT INTO city VALUES ('Bern')")
    }
  }

  @Test("a save that was open during the truncation is refused")
  func inTransaction() throws {
    let file = try ScratchFile("CREATE TABLE city(name TEXT);")
    let connection = try file.connect()
    _ = try connection.all("PRAGMA journal_mode = WAL", []) { $0.text(0) }
    try connection.execute("INSERT INTO city VALUES ('Rome')")
    let files = ServedFiles(path: file.path)
    #expect(truncate(file.path + "-shm", 0) == 0)
    #expect(throws: (any Error).self) { try files.check(connection, inTransaction: true) }
    try files.check(connection, inTransaction: true)
  }
}
