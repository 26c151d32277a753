// Pruning keeps the history that a reader still needs.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Writer: history that pruning keeps", .mayBlock)
struct WriterHeldHistoryTests {
  @Test("history that a reader still needs stays until it was read, and is pruned then")
  func unread() async throws {
    var settings = WriterSettings()
    settings.retention.count = 10
    settings.pruningInterval = 20_000_000
    let store = try WrittenFile(settings: settings)
    let (reader, other) = (ObjectIdentifier(store), ObjectIdentifier(store.writer))
    let first = store.writer.newestToken.position.number
    store.writer.demand(.new, of: reader)
    store.writer.demand(.new, of: other)
    for id in 1...40 { _ = await store.save("INSERT INTO City VALUES (\(id), 'c', NULL)") }
    func oldest() throws -> String {
      try store.rows("SELECT min(position) FROM livefetch_position")[0]
    }
    func isForgotten(before position: Int64) async throws -> Bool {
      try await becomesTrue(within: .seconds(60)) { try oldest() == "\(position)" }
    }
    try await Task.sleep(for: .milliseconds(300))
    #expect(try oldest() == "\(first)")
    store.writer.demand(.after(HistoryPosition(first + 30)), of: reader)
    try await Task.sleep(for: .milliseconds(200))
    #expect(try oldest() == "\(first)")
    store.writer.demand(.nothing, of: other)
    #expect(try await isForgotten(before: first + 20))
    try await Task.sleep(for: .milliseconds(200))
    #expect(try oldest() == "\(first + 20)")
    store.writer.demand(.nothing, of: reader)
    #expect(try await isForgotten(before: first + 30))
  }

  @Test("saves continue after another connection truncated the log")
  func truncatedLog() async throws {
    let store = try WrittenFile()
    _ = await store.save("INSERT INTO City VALUES (1, 'a', NULL)")
    _ = try store.file.connect().first("PRAGMA wal_checkpoint(TRUNCATE)") { _ in true }
    for id in 2...60 { _ = await store.save("INSERT INTO City VALUES (\(id), 'c', NULL)") }
    #expect(try store.rows("SELECT count(*) FROM City") == ["60"])
    #expect(try store.rows("PRAGMA integrity_check") == ["ok"])
  }

  @Test("a reader without progress for a minute no longer delays pruning")
  func readerTimeLimit() {
    var held = RetentionHolds()
    let second: UInt64 = 1_000_000_000
    #expect(held.limit(nil, newest: 9, second) == 9)
    #expect(held.limit(9, newest: 9, 100 * second) == 9)
    #expect(held.limit(9, newest: 12, 200 * second) == 9)
    #expect(held.limit(9, newest: 15, 259 * second) == 9)
    #expect(held.limit(10, newest: 15, 261 * second) == 10)
    #expect(held.limit(10, newest: 15, 320 * second) == 10)
    #expect(held.limit(10, newest: 15, 322 * second) == 15)
    #expect(held.limit(15, newest: 15, 323 * second) == 15)
    #expect(held.limit(15, newest: 16, 400 * second) == 15)
  }
}
