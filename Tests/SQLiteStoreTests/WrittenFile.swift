// The fixture of the writer's tests.

import Dispatch
import FetchModel
import SQLComposer
import Synchronization
import TestSupport

@testable import SQLiteStore

/// A file with a running writer, and the commits that the writer published.
final class WrittenFile: Sendable {
  static let fixture = """
    CREATE TABLE Country(id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT ROLLBACK);
    CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT,
      country INTEGER REFERENCES Country DEFERRABLE INITIALLY DEFERRED);
    INSERT INTO Country VALUES (1, 'China');
    """

  let file: ScratchFile
  let history: History
  let writer: Writer
  let commits: Commits

  final class Commits: Sendable {
    private let received = Mutex<[Writer.Commit]>([])
    func append(_ commit: Writer.Commit) { received.withLock { $0.append(commit) } }
    var all: [Writer.Commit] { received.withLock { $0 } }
  }

  init(_ sql: String = fixture, settings: WriterSettings = WriterSettings()) throws {
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
  func save(_ sql: String..., completion: @escaping Writer.Completion) {
    save(all: sql, completion: completion)
  }

  func save(_ sql: String...) async -> Result<SaveResult, SaveError> {
    await withCheckedContinuation { continuation in
      save(all: sql) { continuation.resume(returning: $0) }
    }
  }

  private func save(all statements: [String], completion: @escaping Writer.Completion) {
    writer.save(
      { connection, token throws(SaveError) in
        do throws(StoreError) {
          for statement in statements { try connection.run(statement) }
        } catch {
          throw .store(error)
        }
        return SaveResult(token: token)
      }, completion: completion)
  }

  /// True once `count` saves wait for the writer.
  func hasQueued(_ count: Int) async throws -> Bool {
    try await becomesTrue(within: .seconds(60)) { writer.waitingCount == count }
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
