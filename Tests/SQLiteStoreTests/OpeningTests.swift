// Files whose tables another program changes while they are opened.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Tables that change while the file is opened", .mayBlock)
struct OpeningTests {
  @Test(
    "the tables that are served and recorded are the changed ones",
    arguments: [
      ("ALTER TABLE t ADD COLUMN y TEXT", ["name", "x", "y"]),
      ("ALTER TABLE t RENAME COLUMN x TO y", ["name", "y"]),
      ("DROP TABLE u", ["name", "x"]),
    ])
  func changed(sql: String, names: [String]) async throws {
    let file = try ScratchFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, x TEXT); INSERT INTO t VALUES (1, 'a', 'b');
      CREATE TABLE u(id INTEGER PRIMARY KEY);
      """)
    // It has triggers and a log now.
    try SQLiteStore(path: file.path).close()
    let other = try file.connect()
    try other.execute("BEGIN IMMEDIATE")
    let path = file.path
    let opened = Task.detached { try SQLiteStore(path: path) }
    // Meanwhile the store has read the tables, and waits for the lock.
    try await Task.sleep(for: .milliseconds(300))
    try other.execute("PRAGMA legacy_alter_table = ON; \(sql); COMMIT")
    let store = try await opened.value
    defer { store.close() }
    let entity = try #require(store.model.entities.first { $0.name == "t" })
    #expect(entity.attributes.map(\.name) == names)
    #expect(try store.history.isIntact(on: other))
    let before = try store.history.newestToken(on: other)
    try other.execute("UPDATE t SET name = 'c'")
    #expect(try store.history.newestToken(on: other).position > before.position)
    other.close()
  }
}
