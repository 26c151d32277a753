// The writer's queue: the order of saves of several callers, deadlines, cancellation and closing.

import Dispatch
import FetchModel
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import SQLiteStore

/// A store whose writer is blocked, so that the order of the queued saves is visible.
private final class HeldWriter: Sendable {
  let file: ScratchFile
  let store: SQLiteStore
  private let gate = DispatchSemaphore(value: 0)
  private let answers = Mutex<[String]>([])

  /// - Parameter limit: the time limit of queries in seconds.
  init(limit: Double = 60) throws {
    file = try ScratchFile("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")
    var options = SQLiteStoreOptions()
    options.queryTimeout = limit
    store = try SQLiteStore(path: file.path, options: options)
    let reached = DispatchSemaphore(value: 0)
    store.writer?.save(
      { [gate] _, token in
        reached.signal()
        gate.wait()
        return SaveResult(token: token)
      }, completion: { [self] in note("held", $0) })
    reached.wait()
  }

  deinit { store.close() }

  func release() { gate.signal() }

  /// Queues a save that inserts a row of this text.
  func insert(_ text: String, caller: String, connection: UInt64 = 0) {
    let change = Change(
      .insert(temporaryID: nil), entity: 0,
      values: [PropertyValue(.attribute(0, .string(text)))])
    save(text, SaveRequest(changes: [change]), CallerID(name: caller, connection: connection))
  }

  /// Queues a save that inserts many rows without a text.
  func insert(count: Int, name: String, caller: String) {
    let change = Change(.insert(temporaryID: nil), entity: 0, values: [])
    save(
      name, SaveRequest(changes: Array(repeating: change, count: count)), CallerID(name: caller))
  }

  /// Queues a batch that deletes nothing.
  func batch(_ name: String, caller: String) {
    let change = Change(
      .deleteAll(ResolvedPredicate(condition: .constant(false))), entity: 0)
    save(name, SaveRequest(changes: [change]), CallerID(name: caller))
  }

  private func save(_ name: String, _ request: SaveRequest, _ caller: CallerID) {
    var request = request
    request.caller = caller
    store.save(request) { [self] in note(name, $0) }
  }

  private func note(_ name: String, _ result: Result<SaveResult, SaveError>) {
    let outcome =
      switch result {
      case .success: name
      case .failure(.store(let error)): "\(name): \(error)"
      case .failure(let error): "\(name): \(error)"
      }
    answers.withLock { $0.append(outcome) }
  }

  /// The answers in the order in which they came, once there are so many.
  func answers(_ count: Int) -> [String] {
    _ = eventually(within: .seconds(60)) { answers.withLock { $0.count >= count } }
    return answers.withLock { $0 }
  }

  func texts() throws -> [String] {
    try file.connect(.read).all("SELECT text FROM note ORDER BY id") { $0.text(0) }
  }
}

@Suite(.mayBlock) struct WriterOrderTests {
  @Test func `callers take turns, and the connections of one caller do`() throws {
    let writer = try HeldWriter()
    for text in ["a1", "a2", "a3"] { writer.insert(text, caller: "a", connection: 1) }
    writer.insert("A1", caller: "a", connection: 2)
    writer.insert("b1", caller: "b")
    writer.release()
    #expect(writer.answers(6) == ["held", "a1", "b1", "A1", "a2", "a3"])
    #expect(try writer.texts() == ["a1", "b1", "A1", "a2", "a3"])
  }

  @Test func `batches and other saves take turns`() throws {
    let writer = try HeldWriter()
    for name in ["batch 1", "batch 2", "batch 3"] { writer.batch(name, caller: name) }
    writer.insert("x", caller: "a")
    writer.insert("y", caller: "b")
    writer.release()
    let answers = writer.answers(6)
    #expect(answers.count == 6)
    // The save that blocked the writer was not a batch, so a batch is next; the brief saves wait
    // for no second one.
    #expect(answers.prefix(4) == ["held", "batch 1", "x", "y"])
  }

  @Test func `a save of many changes is a batch, so that others wait for one of them at most`()
    throws
  {
    let writer = try HeldWriter()
    for name in ["large 1", "large 2"] { writer.insert(count: 1_001, name: name, caller: "a") }
    writer.insert("x", caller: "b")
    writer.insert(count: 1_000, name: "shared", caller: "a")
    writer.release()
    #expect(writer.answers(5) == ["held", "large 1", "x", "shared", "large 2"])
  }

  @Test func `a save that waited for too long is refused and never made`() throws {
    let writer = try HeldWriter(limit: 0.05)
    writer.insert("late", caller: "a")
    Thread.sleep(forTimeInterval: 0.2)
    writer.release()
    #expect(writer.answers(2) == ["held", "late: overloaded"])
    #expect(try writer.texts() == [])
  }

  @Test func `when saves end, those that wait are refused at once and never made`() throws {
    let writer = try HeldWriter()
    for text in ["a", "b", "c"] { writer.insert(text, caller: text) }
    writer.store.endSaves(cancellingRunning: false)
    #expect(writer.answers(3) == ["a: shuttingDown", "b: shuttingDown", "c: shuttingDown"])
    writer.insert("later", caller: "d")
    #expect(writer.answers(4).last == "later: shuttingDown")
    writer.release()
    #expect(writer.answers(5).last == "held")
    writer.store.close()
    #expect(try writer.texts() == [])
  }

  @Test(
    arguments: [
      (1.5, 1_500_000_000), (.infinity, 1_000_000_000_000_000_000), (0, 0), (-1, 0), (.nan, 0),
    ] as [(Double, UInt64)])
  func `the time limit of the options is any number of seconds`(
    _ seconds: Double, _ nanoseconds: UInt64
  ) throws {
    let file = try ScratchFile("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")
    var options = SQLiteStoreOptions()
    options.queryTimeout = seconds
    let store = try SQLiteStore(path: file.path, options: options)
    defer { store.close() }
    #expect(store.timeLimit == nanoseconds)
    #expect(WriterSettings(options).waitLimit == nanoseconds)
  }

  @Test func `a batch that is cancelled is rolled back and says so`() throws {
    let file = try ScratchFile(
      """
      CREATE TABLE note(id INTEGER PRIMARY KEY, n INTEGER);
      WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 200000)
        INSERT INTO note SELECT x, 0 FROM c;
      """)
    let store = try SQLiteStore(path: file.path)
    defer { store.close() }
    let answer = Mutex<Result<SaveResult, SaveError>?>(nil)
    let change = Change(
      .updateAll(.everything), entity: 0,
      values: [PropertyValue(.attribute(0, .integer(1)))])
    store.endSavesWhenTheNextBegins()
    store.save(SaveRequest(changes: [change])) { result in answer.withLock { $0 = result } }
    #expect(eventually(within: .seconds(60)) { answer.withLock { $0 != nil } })
    #expect(answer.withLock { $0 } == .failure(.store(.shuttingDown)))
    let changed = try file.connect(.read).first("SELECT count(*) FROM note WHERE n <> 0") {
      $0.integer(0)
    }
    #expect(changed == 0)
  }
}

extension SQLiteStore {
  /// Cancels from within a save that runs before the next one.
  fileprivate func endSavesWhenTheNextBegins() {
    let queued = DispatchSemaphore(value: 0)
    writer?.save(
      { [self] _, token in
        queued.wait()
        // Another thread does it once the next save runs.
        Thread.detachNewThread { [self] in
          while (writer?.waitingCount ?? 0) > 0 { Thread.sleep(forTimeInterval: 0.001) }
          endSaves(cancellingRunning: true)
        }
        return SaveResult(token: token)
      }, completion: { _ in })
    Thread.detachNewThread { [self] in
      while (writer?.waitingCount ?? 1) == 0 { Thread.sleep(forTimeInterval: 0.001) }
      queued.signal()
    }
  }
}
