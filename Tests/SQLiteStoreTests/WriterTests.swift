// The writer: groups of saves, refused saves, a full disk, closing.

import FetchModel
import Foundation
import SQLComposer
import Synchronization
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Writer: groups of saves", .mayBlock)
struct WriterTests {
  @Test("a save is committed and published before it completes, and its token contains it")
  func oneSave() async throws {
    let store = try WrittenFile()
    let before = store.writer.newestToken
    let result = try await store.save("INSERT INTO City VALUES (1, 'Rome', NULL)").get()
    #expect(result.token.position == HistoryPosition(before.position.number + 1))
    #expect(store.writer.newestToken == result.token)
    #expect(store.commits.all == [.saves(result.token)])
    #expect(try store.rows("SELECT name FROM City") == ["Rome"])
    let reader = try store.file.connect(.read)
    #expect(try store.history.newestToken(on: reader) == result.token)
  }

  @Test("waiting saves share a commit, and each has a token of its own")
  func group() async throws {
    let store = try WrittenFile()
    let gate = store.hold()
    let answers = Mutex<[Int64?]>([])
    for id in 1...20 {
      store.save("INSERT INTO City VALUES (\(id), 'c', 1)") { result in
        answers.withLock { $0.append((try? result.get())?.token.position.number) }
      }
    }
    gate.signal()
    #expect(try await becomesTrue(within: .seconds(60)) { answers.withLock { $0.count } == 20 })
    #expect(answers.withLock { $0 } == Array(2...21))
    // External-commit notices may be among them.
    #expect(store.commits.all.count < 5)
    #expect(try store.rows("SELECT position FROM livefetch_save").count == 21)
  }

  @Test("a save that changes nothing does not prove that the file can be written")
  func emptyCommit() async throws {
    let store = try WrittenFile()
    func probe() async -> StoreError? {
      await withCheckedContinuation { continuation in
        store.writer.probe { continuation.resume(returning: $0) }
      }
    }
    #expect(await probe() == nil)
    try store.file.runExternally(
      """
      CREATE TRIGGER full BEFORE UPDATE ON livefetch_store BEGIN SELECT raise(ABORT, 'full'); END
      """)
    _ = try await store.save("UPDATE City SET name = 'x' WHERE id = 99").get()
    #expect(await probe() == .failed("SQLite 1811: full"))
    _ = try await store.save("INSERT INTO City VALUES (1, 'Rome', NULL)").get()
    // Within 250 ms the save is the proof, and later a commit fails.
    let after = await probe()
    #expect(after == nil || after == .failed("SQLite 1811: full"))
  }

  @Test("a refused save does not affect the others of its group")
  func refusedInGroup() async throws {
    let store = try WrittenFile()
    let gate = store.hold()
    let outcomes = Mutex<[Bool]>([])
    let add: Writer.Completion = { result in
      outcomes.withLock { $0.append((try? result.get()) != nil) }
    }
    store.save("INSERT INTO City VALUES (1, 'a', NULL)", completion: add)
    store.save(
      "INSERT INTO City VALUES (2, 'b', NULL)", "INSERT INTO City VALUES (1, 'b', NULL)",
      completion: add)
    store.save("INSERT INTO City VALUES (3, 'c', NULL)", completion: add)
    gate.signal()
    #expect(try await becomesTrue(within: .seconds(60)) { outcomes.withLock { $0.count } == 3 })
    #expect(outcomes.withLock { $0.filter { $0 }.count } == 2)
    #expect(
      try store.rows("SELECT id || name FROM City ORDER BY id") == ["1a", "3c"])
  }

  @Test("a deferred violation refuses only its own save")
  func deferredKey() async throws {
    let store = try WrittenFile()
    let gate = store.hold()
    async let good = store.save("INSERT INTO City VALUES (1, 'a', 1)")
    async let bad = store.save("INSERT INTO City VALUES (2, 'b', 99)")
    #expect(try await store.hasQueued(2))
    gate.signal()
    let results = await (good, bad)
    #expect((try? results.0.get()) != nil)
    #expect(throws: SaveError.self) { try results.1.get() }
    #expect(try store.rows("SELECT name FROM City") == ["a"])
  }

  @Test("if SQLite rolls back the whole transaction, the other saves run one by one")
  func conflictRollback() async throws {
    let store = try WrittenFile()
    let gate = store.hold()
    let outcomes = Mutex<[Int: Bool]>([:])
    let statements = [
      "INSERT INTO City VALUES (1, 'a', 1)", "INSERT INTO Country VALUES (2, 'China')",
      "INSERT INTO City VALUES (2, 'b', 1)",
    ]
    for (index, sql) in statements.enumerated() {
      store.save(sql) { result in
        outcomes.withLock { $0[index] = (try? result.get()) != nil }
      }
    }
    gate.signal()
    #expect(try await becomesTrue(within: .seconds(60)) { outcomes.withLock { $0.count } == 3 })
    #expect(outcomes.withLock { $0 } == [0: true, 1: false, 2: true])
    #expect(try store.rows("SELECT name FROM City ORDER BY id") == ["a", "b"])
    #expect(try store.rows("SELECT name FROM Country") == ["China"])
  }

  @Test("a save without changes publishes no commit")
  func silence() async throws {
    let store = try WrittenFile()
    let before = store.writer.newestToken
    let result = try await store.save("UPDATE City SET name = 'x' WHERE id = 77").get()
    #expect(result.token == before)
    #expect(store.commits.all == [])
  }

  @Test("closing executes the waiting saves and refuses later ones")
  func closing() async throws {
    let store = try WrittenFile()
    let gate = store.hold()
    let isAnswered = Mutex(false)
    store.save("INSERT INTO City VALUES (1, 'a', 1)") { _ in isAnswered.withLock { $0 = true } }
    gate.signal()
    store.writer.close()
    #expect(try await becomesTrue(within: .seconds(60)) { isAnswered.withLock { $0 } })
    #expect(try store.rows("SELECT name FROM City") == ["a"])
    let late = await store.save("DELETE FROM City")
    #expect(late == .failure(.store(.busy)))
  }

  @Test("a store that was closed leaves one file behind")
  func oneFileLeft() async throws {
    let file = try ScratchFile(WrittenFile.fixture)
    let store = try SQLiteStore(path: file.path)
    _ = try store.read { transaction throws(StoreError) in transaction.token }
    let change = Change(
      .insert(temporaryID: nil), entity: 0,
      values: [PropertyValue(.attribute(0, .string("Peru")))])
    let result = await withCheckedContinuation { continuation in
      store.save(SaveRequest(changes: [change])) { continuation.resume(returning: $0) }
    }
    #expect(try result.get().inserted == 1)
    store.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: file.directory) == ["store.sqlite"])
  }

  @Test("a save waits while another process holds the file, and then fails with busy")
  func lockedFile() async throws {
    let file = try ScratchFile(WrittenFile.fixture)
    let connection = try Connection(path: file.path, access: .write, busyTimeout: 100)
    _ = try connection.first("PRAGMA journal_mode = WAL") { _ in true }
    let introspection = try Introspection(of: connection)
    let history = History(model: introspection.model, schema: introspection.schema)
    _ = try history.setUp(on: connection, journalMode: "delete")
    let writer = try Writer(connection: connection, history: history) { _ in }
    defer { writer.close() }
    let other = try file.connect()
    try other.execute("BEGIN IMMEDIATE")
    func save() async -> Result<SaveResult, SaveError> {
      await withCheckedContinuation { continuation in
        writer.save(
          { _, token in SaveResult(token: token) },
          completion: { continuation.resume(returning: $0) })
      }
    }
    #expect(await save() == .failure(.store(.busy)))
    try other.execute("COMMIT")
    #expect((try? await save().get()) != nil)
  }

  @Test("a full disk refuses the saves that do not fit, keeps the others, and later saves succeed")
  func diskFull() async throws {
    let store = try WrittenFile()
    _ = await store.save("INSERT INTO City VALUES (1, 'a', NULL)")
    _ = await store.save("PRAGMA max_page_count = 1")
    let gate = store.hold()
    async let large = store.save("INSERT INTO City VALUES (2, hex(zeroblob(100000)), NULL)")
    async let other = store.save("INSERT INTO City VALUES (3, hex(zeroblob(100000)), NULL)")
    #expect(try await store.hasQueued(2))
    gate.signal()
    #expect(await [large, other] == [.failure(.store(.diskFull)), .failure(.store(.diskFull))])
    #expect(try store.rows("SELECT name FROM City") == ["a"])
    _ = await store.save("PRAGMA max_page_count = 100000")
    let result = try await store.save("INSERT INTO City VALUES (2, 'b', NULL)").get()
    #expect(store.writer.newestToken == result.token)
    #expect(try store.rows("SELECT name FROM City ORDER BY id") == ["a", "b"])
    #expect(try store.rows("PRAGMA integrity_check") == ["ok"])
  }

  @Test("old history is pruned step by step, but never the newest position")
  func pruning() async throws {
    var settings = WriterSettings()
    settings.retention.count = 10
    settings.pruningStep = 7
    let store = try WrittenFile(settings: settings)
    let first = store.writer.newestToken
    for id in 1...40 { _ = await store.save("INSERT INTO City VALUES (\(id), 'c', NULL)") }
    let last = store.writer.newestToken
    let connection = try store.file.connect()
    var size = HistorySize()
    while try store.history.prune(
      to: settings.retention, size: &size, step: 7, keepingFrom: .max, on: connection)
    {}
    #expect(
      try store.rows("SELECT min(position) FROM livefetch_position") == [
        "\(last.position.number - 10)"
      ])
    #expect(
      try store.rows("SELECT count(*) FROM livefetch_history_City") == ["10"])
    #expect(try store.history.validity(of: first, on: connection) == .expired)
    #expect(try store.history.validity(of: last, on: connection) == .known)
    let everything = WriterSettings.Retention(count: 0, age: -10)
    while try store.history.prune(
      to: everything, size: &size, step: 7, keepingFrom: .max, on: connection)
    {}
    #expect(try store.history.validity(of: last, on: connection) == .known)
    #expect(try store.rows("SELECT count(*) FROM livefetch_position") == ["1"])
  }
}
