// Another program truncates the index of the write-ahead log while it is mapped.

import Dispatch
import FetchModel
import Foundation
import LiveFetchCMappedFiles
import Synchronization
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("A truncated index of the write-ahead log", .mayBlock)
struct CutIndexTests {
  /// A file with two cities in its write-ahead log.
  private func served() throws -> (ScratchFile, Connection, ServedFiles) {
    let file = try ScratchFile("CREATE TABLE city(name TEXT);")
    let connection = try file.connect()
    _ = try connection.all("PRAGMA journal_mode = WAL", []) { $0.text(0) }
    try connection.execute("INSERT INTO city VALUES ('Rome'), ('Oslo')")
    return (file, connection, ServedFiles(path: file.path))
  }

  @Test(
    "the index gets its length back, and nothing is read or saved with it again",
    arguments: [0, 1, 20_000])
  func restored(size: off_t) throws {
    let (file, connection, files) = try served()
    let index = file.path + "-shm"
    let length = try #require(FileStatus(index)?.size)
    #expect(files.allowsReading)
    try files.check(connection)
    #expect(truncate(index, size) == 0)
    for _ in 1...3 {
      #expect(!files.allowsReading)
      #expect(try #require(FileStatus(index)?.size) >= length)
      #expect(files.condition == .indexTruncated)
      #expect(!files.condition.allowsCheckpoint)
      #expect(throws: StoreError.self) { try files.check(connection) }
    }
    connection.close()
    withExtendedLifetime((file, files)) {}
  }

  @Test("an index that grows while another thread looks at it is not truncated")
  func growing() throws {
    let file = try ScratchFile("CREATE TABLE city(name TEXT);")
    let path = file.path + "-index"
    try Data(count: 100).write(to: URL(fileURLWithPath: path))
    let mapped = try #require(livefetch_mapped_file_register(path))
    defer { livefetch_mapped_file_unregister(mapped) }
    var before = try #require(FileStatus(path)).found
    #expect(truncate(path, 200) == 0)
    var after = try #require(FileStatus(path)).found
    #expect(!livefetch_mapped_file_restore(mapped, &after))
    // The status from before the growth comes last.
    #expect(!livefetch_mapped_file_restore(mapped, &before))
    #expect(truncate(path, 150) == 0)
    var shorter = try #require(FileStatus(path)).found
    #expect(livefetch_mapped_file_restore(mapped, &shorter))
    #expect(FileStatus(path)?.size == 200)
  }

  @Test(
    "a connection that reads or writes while the index lacks bytes does not end the process",
    arguments: [0, 1, 20_000])
  func accessed(size: off_t) throws {
    let (file, connection, files) = try served()
    let index = file.path + "-shm"
    let length = try #require(FileStatus(index)?.size)
    #expect(truncate(index, size) == 0)
    // SQLite reads the mapped index first. Its result may be wrong.
    _ = try? connection.all("SELECT name FROM city", []) { $0.text(0) }
    _ = try? connection.execute("INSERT INTO city VALUES ('Lima')")
    #expect(!files.allowsReading)
    #expect(try #require(FileStatus(index)?.size) >= length)
    #expect(files.condition == .indexTruncated)
    connection.close()
    withExtendedLifetime((file, files)) {}
  }

  @Test("many threads that read while the index is truncated again and again all continue")
  func accessedByMany() throws {
    let file = try ScratchFile("CREATE TABLE city(name TEXT);")
    let connection = try file.connect()
    _ = try connection.all("PRAGMA journal_mode = WAL", []) { $0.text(0) }
    try connection.execute(
      "PRAGMA synchronous = OFF; INSERT INTO city VALUES ('Rome'), ('Oslo')")
    let files = ServedFiles(path: file.path)
    let connections = try (1...4).map { _ in try file.connect() }
    let isDone = Atomic(false)
    let ended = DispatchGroup()
    for connection in connections {
      let thread = Thread {
        while !isDone.load(ordering: .relaxed) {
          _ = try? connection.all("SELECT name FROM city", []) { $0.text(0) }
        }
        ended.leave()
      }
      ended.enter()
      thread.start()
    }
    for round in 1...300 {
      #expect(truncate(file.path + "-shm", off_t(round % 3) * 10_000) == 0)
      _ = try? connection.execute("INSERT INTO city VALUES ('Lima')")
    }
    isDone.store(true, ordering: .relaxed)
    ended.wait()
    #expect(files.condition == .indexTruncated)
    for connection in connections + [connection] { connection.close() }
    withExtendedLifetime((file, files)) {}
  }

  @Test(
    "the index is rebuilt from the log when the file is opened again",
    arguments: [0, 96, 4_096, 16_384])
  func rebuilt(size: off_t) throws {
    let (file, connection, files) = try served()
    #expect(truncate(file.path + "-shm", size) == 0)
    #expect(files.condition == .indexTruncated)
    connection.keepLogOnClose()
    connection.close()
    files.invalidateTruncatedIndex()
    let names = try file.connect().all("SELECT name FROM city ORDER BY 1", []) { $0.text(0) }
    #expect(names == ["Oslo", "Rome"])
  }
}
