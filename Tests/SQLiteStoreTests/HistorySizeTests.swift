// The measured size of the history, and pruning by size, count and age.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("History: its size", .mayBlock)
struct HistorySizeTests {
  private static let fixture = """
    CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, n INTEGER, x REAL, picture BLOB);
    WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM i WHERE i < 1000)
      INSERT INTO note SELECT i, printf('%0100d', i), i, i / 3.0, zeroblob(200) FROM i;
    """

  private func open(_ options: SQLiteStoreOptions = .init()) throws -> (ScratchFile, SQLiteStore) {
    let file = try ScratchFile(Self.fixture)
    return (file, try SQLiteStore(path: file.path, options: options))
  }

  private func figure(_ name: String, _ store: SQLiteStore) -> Double? {
    store.metrics.first { $0.name == name }?.samples.first?.value
  }

  @Test func theMeasuredSizeIsWithinAFifthOfTheFilesGrowth() throws {
    let (file, store) = try open()
    defer { store.close() }
    for round in 0..<10 { try file.runExternally("UPDATE note SET n = \(-round) - id") }
    #expect(
      eventually(within: .seconds(60)) { figure("livefetch_history_rows", store) == 10_000 })
    let measured = try #require(figure("livefetch_history_bytes", store))
    let stored = try #require(
      file.connect(.read).first(
        """
        SELECT sum(pgsize) FROM dbstat WHERE name IN
        ('livefetch_position', 'livefetch_history_note')
        """
      ) { $0.double(0) })
    #expect(abs(measured - stored) < stored / 5, "measured \(measured), stored \(stored)")
  }

  @Test func anOversizedHistoryIsPrunedFromItsBeginning() throws {
    var options = SQLiteStoreOptions()
    options.keptBytes = 1_000_000
    let (file, store) = try open(options)
    defer { store.close() }
    let first = store.newestToken
    for round in 0..<8 { try file.runExternally("UPDATE note SET n = \(-round) - id") }
    #expect(
      eventually(within: .seconds(60)) {
        (figure("livefetch_history_bytes", store) ?? .infinity) <= 1_000_000
      })
    #expect(
      try eventually(within: .seconds(60)) { try store.changes(after: first, limit: 1) == nil })
    let newest = store.newestToken
    #expect(try store.changes(after: newest, limit: 1)?.saves.isEmpty == true)
    // The history keeps as many rows as fit, with about 350 bytes per row.
    let rows = {
      try #require(
        file.connect(.read).first("SELECT count(*) FROM livefetch_history_note") { $0.integer(0) })
    }
    #expect(try eventually(within: .seconds(60)) { (1_000...4_000).contains(try rows()) })
    Thread.sleep(forTimeInterval: 0.3)
    #expect((1_000...4_000).contains(try rows()))
  }

  @Test func aReopenedFileIsMeasuredAgain() throws {
    let (file, store) = try open()
    try file.runExternally("UPDATE note SET n = -id")
    #expect(
      eventually(within: .seconds(60)) { figure("livefetch_history_rows", store) == 1_000 })
    let before = try #require(figure("livefetch_history_bytes", store))
    store.close()
    let again = try SQLiteStore(path: file.path)
    defer { again.close() }
    #expect(
      eventually(within: .seconds(60)) { figure("livefetch_history_bytes", again) == before })
  }

  @Test func aSmallLimitIsAlmostReached() throws {
    var options = SQLiteStoreOptions()
    options.keptBytes = 100_000
    let (file, store) = try open(options)
    defer { store.close() }
    for round in 0..<3 { try file.runExternally("UPDATE note SET n = \(-round) - id") }
    #expect(
      eventually(within: .seconds(60)) { (figure("livefetch_history_rows", store) ?? 0) > 0 })
    #expect(
      eventually(within: .seconds(60)) {
        (figure("livefetch_history_bytes", store) ?? .infinity) <= 100_000
      })
    let bytes = try #require(figure("livefetch_history_bytes", store))
    #expect((90_000...100_000).contains(bytes))
    // About 345 bytes per row.
    let rows = try #require(figure("livefetch_history_rows", store))
    #expect((250...310).contains(rows))
    let stored = try file.connect(.read).first("SELECT count(*) FROM livefetch_history_note") {
      $0.integer(0)
    }
    #expect(stored == Int64(rows))
  }

  @Test func positionsUnknownToTheWriterAreNotPruned() throws {
    let (file, store) = try open()
    store.close()
    try file.runExternally("UPDATE note SET n = -id")
    let connection = try file.connect()
    var size = HistorySize()
    let retention = WriterSettings.Retention(count: 100, age: 1e9, bytes: .max)
    let history = store.history
    func prune(keepingFrom lastRead: Int64) throws -> Bool {
      try history.prune(
        to: retention, size: &size, step: 5_000, keepingFrom: lastRead, on: connection)
    }
    #expect(try !prune(keepingFrom: 1))
    #expect(try history.bounds(on: connection)?.first == 1)
    #expect(try !prune(keepingFrom: 1_001))
    #expect(try history.bounds(on: connection)?.first == 901)
  }

  /// Returns the epoch, and the first and the last position.
  private func positions(_ file: ScratchFile) throws -> String? {
    try file.connect(.read).first(
      """
      SELECT (SELECT value FROM livefetch_store WHERE key = 'epoch') || ' ' || min(position) || ' '
      || max(position) || ' ' || (SELECT count(*) FROM livefetch_save) FROM livefetch_position
      """
    ) { $0.text(0) }
  }

  @Test func rowsPrunedByCountReduceTheSize() throws {
    var options = SQLiteStoreOptions()
    options.keptPositions = 150
    let (file, store) = try open(options)
    defer { store.close() }
    for round in 0..<3 { try file.runExternally("UPDATE note SET n = \(-round) - id") }
    // The history's size is checked every ten seconds, and immediately after a restart.
    let before = try positions(file)
    store.close()
    let again = try SQLiteStore(path: file.path, options: options)
    defer { again.close() }
    let isForgotten = eventually(within: .seconds(60)) {
      figure("livefetch_history_rows", again) == 150
    }
    let after = try positions(file)
    #expect(isForgotten, "\(before ?? "") became \(after ?? "")")
    let bytes = try #require(figure("livefetch_history_bytes", again))
    #expect((45_000...60_000).contains(bytes))
    again.close()
    let third = try SQLiteStore(path: file.path, options: options)
    defer { third.close() }
    #expect(
      eventually(within: .seconds(60)) { figure("livefetch_history_bytes", third) ?? 0 > 0 })
    let measured = try #require(figure("livefetch_history_bytes", third))
    #expect(abs(measured - bytes) < bytes / 10)
  }

  @Test func aChangeOfTheClockDoesNotAgeSaves() {
    let date = SteadyDate(date: 1_000_000, uptime: 500)
    #expect(date.seconds(date: 1_000_010, uptime: 510) == 1_000_010)
    // The clock is set forward by a month.
    #expect(date.seconds(date: 3_592_010, uptime: 520) == 1_000_020)
    // The clock is set back by an hour: saves in the future are not old.
    #expect(date.seconds(date: 996_430, uptime: 530) == 996_430)
    #expect(date.seconds(date: 1_000_040, uptime: 540) == 1_000_040)
  }
}
