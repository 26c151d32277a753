// Commits, locks and schema changes of other processes, as the writer detects them.

import FetchModel
import Foundation
import SQLComposer
import TestSupport
import Testing

@testable import SQLiteStore

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Writer: other processes", .mayBlock)
struct WriterOthersTests {
  private func wait(for commits: Int, _ store: WrittenFile) async throws {
    #expect(try await becomesTrue(within: .seconds(60)) { store.commits.all.count >= commits })
  }

  @Test("their commits are detected and published as saves of their own")
  func noticed() async throws {
    let store = try WrittenFile()
    try store.file.runExternally("INSERT INTO City VALUES (1, 'a', NULL), (2, 'b', NULL)")
    try await wait(for: 1, store)
    let token = store.writer.newestToken
    #expect(store.commits.all == [.external(token)])
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
      store.commits.all.contains { if case .external = $0 { true } else { false } }
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

  @Test("their commits that a save finds first are published as theirs")
  func foundBySave() async throws {
    var settings = WriterSettings()
    settings.pollInterval = 3_600_000_000_000
    let store = try WrittenFile(settings: settings)
    // The writer's first check covers the commits made before it started; it precedes the second save.
    let first = try await store.save("INSERT INTO City VALUES (1, 'here', NULL)").get()
    let second = try await store.save("INSERT INTO City VALUES (2, 'here', NULL)").get()
    try store.file.runExternally("INSERT INTO City VALUES (3, 'there', NULL)")
    let third = try await store.save("INSERT INTO City VALUES (4, 'here', NULL)").get()
    #expect(
      store.commits.all == [.saves(first.token), .saves(second.token), .external(third.token)])
  }

  @Test("with the file removed, maintenance has nothing to do soon")
  func removedFile() throws {
    let file = try ScratchFile(WrittenFile.fixture)
    let connection = try file.connect()
    _ = try connection.first("PRAGMA journal_mode = WAL") { _ in true }
    let introspection = try Introspection(of: connection)
    let history = History(model: introspection.model, schema: introspection.schema)
    _ = try history.setUp(on: connection, journalMode: "delete")
    let watch = try FileIdentityMonitor(path: file.path, on: connection)
    var maintenance = WriterMaintenance(
      connection: connection, history: history, settings: WriterSettings(), watch: watch)
    var group = WriterGroup(
      connection: connection, history: history, files: watch.files,
      token: try history.newestToken(on: connection), duration: 1)
    #expect(maintenance.isBusy)
    #expect(unlink(file.path) == 0)
    let requests = WriterMaintenance.Requests(isHinted: false, isWatched: false, unread: nil)
    let commit = maintenance.run(&group, requests)
    #expect(commit == nil)
    #expect(!maintenance.isBusy)
    maintenance.finish()
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

  @Test("a save right after another program has dropped the triggers is recorded, in a new epoch")
  func droppedTriggers() async throws {
    let store = try WrittenFile()
    let before = try await store.save("INSERT INTO Country VALUES (5, 'Peru')").get()
    try store.file.runExternally("DROP TRIGGER livefetch_insert_Country")
    let result = try await store.save("INSERT INTO Country VALUES (6, 'Chad')").get()
    #expect(result.token.epoch != before.token.epoch)
    let commits = store.commits.all
    #expect(commits.count == 3 && commits.last == .saves(result.token))
    guard commits.count == 3, case .restarted(let token) = commits[1] else {
      Issue.record("\(commits)")
      return
    }
    #expect(result.token.position == HistoryPosition(token.position.number + 1))
  }

  @Test("a second server of the same file is refused, under any name of the file")
  func secondServer() throws {
    let file = try ScratchFile(WrittenFile.fixture)
    let lock = try FileLock(beside: file.path)
    symlink(file.path, file.path + "-link")
    for path in [file.path, file.path + "-link"] {
      #expect(throws: StoreError.inUse("this process has the file open as a store")) {
        try FileLock(beside: path)
      }
    }
    withExtendedLifetime(lock) {}
  }

  @Test("a symbolic link in place of the lock is refused, and its target is not changed")
  func linkedLock() throws {
    let file = try ScratchFile(WrittenFile.fixture)
    let (lock, target) = (file.path + "-livefetch", file.path + "-target")
    try Data("text".utf8).write(to: URL(fileURLWithPath: target))
    #expect(symlink(target, lock) == 0)
    let name = resolvedPath(file.path) + "-livefetch"
    let refusal = StoreError.unusable(
      "\(name) is a symbolic link, which would be overwritten: remove it")
    #expect(throws: refusal) { try FileLock(beside: file.path) }
    #expect(throws: refusal) { try FileLock.forReading(file.path) }
    #expect(FileLock.holder(beside: file.path) == nil)
    #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data("text".utf8))
  }

  @Test("a lock that cannot be opened for another reason than a missing right tells that reason")
  func unopenedLock() throws {
    let file = try ScratchFile(WrittenFile.fixture)
    #expect(mkdir(file.path + "-livefetch", 0o700) == 0)
    #expect(
      throws: StoreError.storageFailed(
        "\(resolvedPath(file.path))-livefetch cannot be opened: Is a directory")
    ) { try FileLock(beside: file.path) }
  }

  @Test("the lock is released when its holder ends")
  func lockGoes() throws {
    let file = try ScratchFile(WrittenFile.fixture)
    for _ in 1...3 { _ = try FileLock(beside: file.path) }
    #expect(access(file.path + "-livefetch", F_OK) != 0)
  }
}
