// Truncated files, and empty files with a WAL, are not opened as new databases.

import FetchModel
import Foundation
import SQLiteStore
import TestSupport
import Testing

private func truncateFile(_ path: String, to size: off_t) {
  #expect(truncate(path, size) == 0)
}

@Suite("A truncated file is refused when it is opened", .mayBlock)
struct TruncatedFileTests {
  @Test("A file of one byte is not a database")
  func oneByte() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.emptyFile()
    truncateFile(path, to: 1)
    #expect(throws: StoreError.self) { try SQLiteStore(path: path) }
  }

  @Test("A file that lacks pages is not a database", .enabled(if: Sqlite3.isInstalled))
  func lackingPages() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("store.sqlite")
    try Sqlite3.run("CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT)", path)
    try SQLiteStore(path: path).close()
    truncateFile(path, to: 8_192)
    #expect(throws: StoreError.self) { try SQLiteStore(path: path) }
    var options = SQLiteStoreOptions()
    options.isReadOnly = true
    #expect(throws: StoreError.self) { try SQLiteStore(path: path, options: options) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 8_192)
  }

  @Test("Pages that are only in the WAL are not missing", .enabled(if: Sqlite3.isInstalled))
  func pagesInWAL() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("store.sqlite")
    try Sqlite3.run("CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT)", path)
    let store = try SQLiteStore(path: path)
    // As after a checkpoint that did not finish: the file has the first pages, the WAL has all.
    let copy = directory.file("copy.sqlite")
    try Sqlite3.run("PRAGMA wal_checkpoint(PASSIVE)", path)
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
    }
    store.close()
    truncateFile(copy, to: 8_192)
    let second = try SQLiteStore(path: copy)
    #expect(second.model.entities.map(\.name) == ["city"])
    second.close()
    #expect(try Sqlite3.run("PRAGMA integrity_check", copy) == "ok\n")
  }

  @Test(
    "Fetches of a served file that is truncated within a page are refused: they could read zeros",
    .onlyForFiles)
  func truncatedWhileServed() throws {
    let file = try ServedFile(
      """
      CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT);
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO city SELECT i, 'city ' || i FROM n;
      """)
    try file.runExternally("PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(try file.ask("/v1/objects/city?sort=id&limit=1").status == 200)
    truncateFile(file.path, to: 10 * 4_096 + 100)
    let answer = try file.ask("/v1/objects/city?sort=id&limit=2")
    #expect(answer.status == 503)
    #expect(answer.code == "storage-failed")
    #expect(try file.ask("/health/ready").status == 503)
  }

  @Test("An empty file with a WAL that has content is not a new database, and the WAL is kept")
  func emptyFileWithWAL() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.emptyFile()
    let wal = path + "-wal"
    try Data(repeating: 7, count: 100).write(to: URL(fileURLWithPath: wal))
    #expect(throws: StoreError.self) { try SQLiteStore(path: path) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: wal)).count == 100)
  }

  @Test("An empty file is a new database only if the options accept it")
  func emptyFile() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.emptyFile()
    var options = SQLiteStoreOptions()
    options.acceptsEmptyFile = false
    #expect(throws: StoreError.self) { try SQLiteStore(path: path, options: options) }
    options.acceptsEmptyFile = true
    try SQLiteStore(path: path, options: options).close()
  }

  @Test("A created database without tables is not an empty file")
  func created() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("new.sqlite")
    try SQLiteStore.create(path: path)
    var options = SQLiteStoreOptions()
    options.acceptsEmptyFile = false
    let store = try SQLiteStore(path: path, options: options)
    #expect(store.model.entities.isEmpty)
    store.close()
  }
}
