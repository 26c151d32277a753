import Dispatch
import FetchModel
import Foundation
import SQLComposer
import Synchronization
import TestSupport
import Testing

@testable import SQLiteStore

#if canImport(Glibc)
  import Glibc
#endif

private let world = """
  CREATE TABLE Country(id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT ROLLBACK);
  CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT,
    country INTEGER REFERENCES Country DEFERRABLE INITIALLY DEFERRED);
  INSERT INTO Country VALUES (1, 'China');
  """

/// A file with a running writer, and the commits that the writer published.
private final class WrittenFile: Sendable {
  let file: ScratchFile
  let history: History
  let writer: Writer
  let commits: Commits

  final class Commits: Sendable {
    private let received = Mutex<[Writer.Commit]>([])
    func append(_ commit: Writer.Commit) { received.withLock { $0.append(commit) } }
    var all: [Writer.Commit] { received.withLock { $0 } }
  }

  init(_ sql: String = world, settings: WriterSettings = WriterSettings()) throws {
    file = try ScratchFile(sql)
    let connection = try file.connect()
    _ = try connection.first("PRAGMA journal_mode = WAL") { _ in true }
    let introspection = try Introspection(of: connection)
    history = History(model: introspection.model, schema: introspection.schema)
    _ = try history.setUp(on: connection, journalMode: "delete")
    let commits = Commits()
    self.commits = commits
    writer = try Writer(connection: connection, history: history, settings: settings) {
      commits.append($0)
    }
  }

  deinit { writer.close() }

  /// Saves by SQL; gives each answer when it comes.
  func save(
    _ sql: String..., completion: @escaping Writer.Completion
  ) {
    writer.save(
      { connection, token throws(SaveError) in
        do throws(StoreError) {
          for statement in sql { try connection.run(statement) }
        } catch {
          throw .store(error)
        }
        return SaveResult(token: token)
      }, completion: completion)
  }

  func save(_ sql: String...) async -> Result<SaveResult, SaveError> {
    await withCheckedContinuation { continuation in
      writer.save(
        { connection, token throws(SaveError) in
          do throws(StoreError) {
            for statement in sql { try connection.run(statement) }
          } catch {
            throw .store(error)
          }
          return SaveResult(token: token)
        }, completion: { continuation.resume(returning: $0) })
    }
  }

  func rows(_ sql: String) throws -> [String] {
    try file.connect(.read).all(sql) { $0.text(0) }
  }

  /// Blocks the writer until the semaphore is signalled, so that saves queued meanwhile form one
  /// group.
  func hold() -> DispatchSemaphore {
    let gate = DispatchSemaphore(value: 0)
    let reached = DispatchSemaphore(value: 0)
    writer.save(
      { _, token in
        reached.signal()
        gate.wait()
        return SaveResult(token: token)
      }, completion: { _ in })
    reached.wait()
    return gate
  }
}

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
    let answers = Mutex<[Int64]>([])
    let done = DispatchSemaphore(value: 0)
    for id in 1...20 {
      store.save("INSERT INTO City VALUES (\(id), 'c', 1)") { result in
        if case .success(let saved) = result {
          answers.withLock { $0.append(saved.token.position.number) }
        }
        done.signal()
      }
    }
    gate.signal()
    for _ in 1...20 { done.wait() }
    let positions = answers.withLock { $0 }
    #expect(positions == Array(2...21))
    // The writer's own notices may come between.
    #expect(store.commits.all.count < 5)
    #expect(try store.rows("SELECT position FROM livefetch_save").count == 21)
  }

  @Test("a refused save does not affect the others of its group")
  func refusedInGroup() async throws {
    let store = try WrittenFile()
    let gate = store.hold()
    async let first = store.save("INSERT INTO City VALUES (1, 'a', NULL)")
    async let second = store.save(
      "INSERT INTO City VALUES (2, 'b', NULL)", "INSERT INTO City VALUES (1, 'b', NULL)")
    async let third = store.save("INSERT INTO City VALUES (3, 'c', NULL)")
    try await Task.sleep(for: .milliseconds(50))
    gate.signal()
    let results = await [first, second, third].map { (try? $0.get()) != nil }
    #expect(results.filter { $0 }.count == 2)
    #expect(
      try store.rows("SELECT id FROM City WHERE name <> 'b' ORDER BY id") == ["1", "3"]
        || results == [false, true, true])
  }

  @Test("a deferred violation refuses only its own save")
  func deferredKey() async throws {
    let store = try WrittenFile()
    let gate = store.hold()
    async let good = store.save("INSERT INTO City VALUES (1, 'a', 1)")
    async let bad = store.save("INSERT INTO City VALUES (2, 'b', 99)")
    try await Task.sleep(for: .milliseconds(50))
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
    let done = DispatchSemaphore(value: 0)
    let failures = Mutex<[Int]>([])
    let statements = [
      "INSERT INTO City VALUES (1, 'a', 1)", "INSERT INTO Country VALUES (2, 'China')",
      "INSERT INTO City VALUES (2, 'b', 1)",
    ]
    for (index, sql) in statements.enumerated() {
      store.save(sql) { result in
        if case .failure = result { failures.withLock { $0.append(index) } }
        done.signal()
      }
    }
    gate.signal()
    for _ in statements { done.wait() }
    #expect(failures.withLock { $0 } == [1])
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
    let done = DispatchSemaphore(value: 0)
    store.save("INSERT INTO City VALUES (1, 'a', 1)") { _ in done.signal() }
    gate.signal()
    store.writer.close()
    done.wait()
    #expect(try store.rows("SELECT name FROM City") == ["a"])
    let late = await store.save("DELETE FROM City")
    #expect(late == .failure(.store(.busy)))
  }

  @Test("a store that was closed leaves one file behind")
  func oneFileLeft() async throws {
    let file = try ScratchFile(world)
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
    let file = try ScratchFile(world)
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
    try await Task.sleep(for: .milliseconds(50))
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
    while try store.history.prune(settings.retention, &size, step: 7, noticed: .max, on: connection)
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
    while try store.history.prune(everything, &size, step: 7, noticed: .max, on: connection) {}
    #expect(try store.history.validity(of: last, on: connection) == .known)
    #expect(try store.rows("SELECT count(*) FROM livefetch_position") == ["1"])
  }
}

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

@Suite("Writer: other processes", .mayBlock)
struct WriterOthersTests {
  private func wait(for commits: Int, _ store: WrittenFile) async throws {
    for _ in 1...2_000 where store.commits.all.count < commits {
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  @Test("their commits are detected and published as saves of their own")
  func noticed() async throws {
    let store = try WrittenFile()
    try store.file.runExternally("INSERT INTO City VALUES (1, 'a', NULL), (2, 'b', NULL)")
    try await wait(for: 1, store)
    let token = store.writer.newestToken
    #expect(store.commits.all == [.others(token)])
    #expect(token.position.number == 3)
    // Written down when they have paused.
    func saves() throws -> [String] { try store.rows("SELECT position FROM livefetch_save") }
    #expect(try await becomesTrue(within: .seconds(60)) { try saves() == ["1", "3"] })
  }

  @Test("their commits are published while a save waits for their lock")
  func heldUp() async throws {
    var settings = WriterSettings()
    settings.pollInterval = 3_600_000_000_000
    let store = try WrittenFile(settings: settings)
    // The writer's first check covers the commits made before it started.
    _ = await store.save("INSERT INTO City VALUES (1, 'here', NULL)")
    let other = try store.file.connect()
    try other.execute("INSERT INTO City VALUES (2, 'there', NULL); BEGIN IMMEDIATE")
    async let saved = store.save("INSERT INTO City VALUES (3, 'late', NULL)")
    func isTold() -> Bool {
      store.commits.all.contains { if case .others = $0 { true } else { false } }
    }
    #expect(try await becomesTrue(within: .seconds(60)) { isTold() })
    try other.execute("COMMIT")
    #expect((try? await saved.get()) != nil)
  }

  @Test("pruning does not wait for their locks")
  func forgettingBesideOthers() async throws {
    var settings = WriterSettings()
    settings.pruningInterval = 20_000_000
    settings.pollInterval = 20_000_000
    let store = try WrittenFile(settings: settings)
    let other = try store.file.connect()
    for id in 1...5 {
      try other.execute("INSERT INTO City VALUES (\(id), 'there', NULL); BEGIN IMMEDIATE")
      #expect(try await becomesTrue(within: .seconds(60)) { store.commits.all.count == id })
      try other.execute("COMMIT")
    }
  }

  @Test("their commits before a save are not part of that save")
  func separateSaves() async throws {
    let store = try WrittenFile()
    let gate = store.hold()
    gate.signal()
    try store.file.runExternally("INSERT INTO City VALUES (1, 'a', NULL)")
    let result = try await store.save("INSERT INTO City VALUES (2, 'b', NULL)").get()
    #expect(result.token.position.number == 3)
    #expect(try store.rows("SELECT position FROM livefetch_save") == ["1", "2", "3"])
  }

  @Test(
    "a table rebuilt or dropped under the server begins a new epoch",
    arguments: [
      """
      CREATE TABLE c2(id INTEGER PRIMARY KEY, name TEXT, country INTEGER
        REFERENCES Country DEFERRABLE INITIALLY DEFERRED);
      DROP TABLE City; ALTER TABLE c2 RENAME TO City;
      """, "DROP TABLE City",
    ])
  func rebuilt(_ sql: String) async throws {
    let store = try WrittenFile()
    let before = store.writer.newestToken
    try store.file.runExternally(sql)
    try await wait(for: 1, store)
    let token = store.writer.newestToken
    #expect(store.commits.all == [.restarted(token)])
    #expect(token.epoch != before.epoch)
    let result = try await store.save("INSERT INTO Country VALUES (5, 'Peru')").get()
    #expect(result.token.epoch == token.epoch)
    #expect(result.token.position == HistoryPosition(token.position.number + 1))
  }

  @Test("a second server of the same file is refused, under any name of the file")
  func secondServer() throws {
    let file = try ScratchFile(world)
    let lock = try FileLock(beside: file.path)
    symlink(file.path, file.path + "-link")
    for path in [file.path, file.path + "-link"] {
      #expect(throws: StoreError.unusable("the file is being served by process \(getpid())")) {
        try FileLock(beside: path)
      }
    }
    withExtendedLifetime(lock) {}
  }

  @Test("the lock is released when its holder ends")
  func lockGoes() throws {
    let file = try ScratchFile(world)
    for _ in 1...3 { _ = try FileLock(beside: file.path) }
    #expect(access(file.path + "-livefetch", F_OK) != 0)
  }
}
