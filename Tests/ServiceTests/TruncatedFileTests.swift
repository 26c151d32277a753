// Files that were truncated, and missing files with a log, are not opened as new databases.

import FetchModel
import Foundation
import SQLiteStore
import TestSupport
import Testing

private func cut(_ path: String, to size: off_t) { #expect(truncate(path, size) == 0) }

@Suite("A file that was cut short is refused when it is opened", .mayBlock)
struct TruncatedFileTests {
  @Test("One byte is no database")
  func oneByte() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.emptyFile()
    cut(path, to: 1)
    #expect(throws: StoreError.self) { try SQLiteStore(path: path) }
  }

  @Test("A file that lacks pages is no database", .enabled(if: Sqlite3.isInstalled))
  func lackingPages() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("store.sqlite")
    try Sqlite3.run("CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT)", path)
    try SQLiteStore(path: path).close()
    cut(path, to: 8_192)
    #expect(throws: StoreError.self) { try SQLiteStore(path: path) }
    var options = SQLiteStoreOptions()
    options.isReadOnly = true
    #expect(throws: StoreError.self) { try SQLiteStore(path: path, options: options) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 8_192)
  }

  @Test("Pages that are only in the log are not missing", .enabled(if: Sqlite3.isInstalled))
  func pagesInLog() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("store.sqlite")
    try Sqlite3.run("CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT)", path)
    let store = try SQLiteStore(path: path)
    // A checkpoint that ended in the middle: the header is in the file, later pages are not.
    let copy = directory.file("copy.sqlite")
    try Sqlite3.run("PRAGMA wal_checkpoint(PASSIVE)", path)
    for end in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: path + end, toPath: copy + end)
    }
    store.close()
    cut(copy, to: 8_192)
    let second = try SQLiteStore(path: copy)
    #expect(second.model.entities.map(\.name) == ["city"])
    second.close()
    #expect(try Sqlite3.run("PRAGMA integrity_check", copy) == "ok\n")
  }

  @Test(
    "A served file that is cut within a page answers no fetch, which could read zeros",
    .onlyForFiles)
  func cutWhileServed() throws {
    let file = try ServedFile(
      """
      CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT);
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO city SELECT i, 'city ' || i FROM n;
      """)
    try file.runExternally("PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(try file.ask("/v1/objects/city?sort=id&limit=1").status == 200)
    cut(file.path, to: 10 * 4_096 + 100)
    let answer = try file.ask("/v1/objects/city?sort=id&limit=2")
    #expect(answer.status == 503)
    #expect(answer.code == "storage-failed")
    #expect(try file.ask("/health/ready").status == 503)
  }

  @Test("A missing file with a log that has content is no new database, and the log is kept")
  func log() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.emptyFile()
    let log = path + "-wal"
    try Data(repeating: 7, count: 100).write(to: URL(fileURLWithPath: log))
    #expect(throws: StoreError.self) { try SQLiteStore(path: path) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: log)).count == 100)
  }

  @Test("Nothing is a new database only where that is expected")
  func empty() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.emptyFile()
    var options = SQLiteStoreOptions()
    options.acceptsEmptyFile = false
    #expect(throws: StoreError.self) { try SQLiteStore(path: path, options: options) }
    options.acceptsEmptyFile = true
    try SQLiteStore(path: path, options: options).close()
  }

  @Test("A database that is made is no empty file")
  func made() throws {
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
