// A resolved save → one transaction, on a thread of its own, with its result. Saves of all servers run
// at the same time; the database decides which of two that contradict each other comes first.
//
// REPEATABLE READ: a save reads one state, and fails if another transaction has changed a row that it
// writes. It is then repeated after a short pause, so a precondition holds at the commit. Access rules
// are evaluated in the same state.

import FetchModel
import LiveFetchThreads
import SQLComposer
import SQLResults
import SaveExecution
import Synchronization

/// Executes saves on a database. Used from any thread.
final class PostgresSaveExecutor: Sendable {
  let composer: FetchComposer
  let maxResponseBytes: Int
  /// The time limit of a save.
  let timeLimit: Duration
  let objectStatements = ComposedStatements<ItemKind>()
  let changeQueries: ChangeQueries
  /// The tables and views that a save may read and write.
  let lockable: [LockedTable]
  /// Called after a commit with the newest token.
  let committed = Mutex<@Sendable (Token) -> Void>({ _ in })
  /// Protects a token from before every running save's commit.
  let earlierToken = Mutex(Token.untracked)
  let pool: PostgresPool
  private let threads: ThreadPool
  /// Protects the executors that no save uses.
  let idle = Mutex<[SaveExecutor]>([])
  let isCancelled = Atomic(false)
  let made = Atomic(0)
  let refused = Atomic(0)
  /// The number of saves that have no result yet.
  private let open = Mutex(0)
  private let done = MonotonicSemaphore()

  /// The maximum number of transactions of one save.
  static let maxRepetitions = 500

  init(
    _ pool: PostgresPool, _ opening: DatabaseOpening, _ changeQueries: ChangeQueries,
    _ options: PostgresStoreOptions
  ) {
    self.pool = pool
    self.changeQueries = changeQueries
    lockable = opening.catalog.lockable
    composer = FetchComposer(
      model: opening.introspection.model, schema: opening.introspection.schema)
    maxResponseBytes = options.maxResponseBytes
    timeLimit = options.timeLimit
    // Reads keep half of the connections.
    threads = ThreadPool(name: "lf-pg-save", threads: options.connections / 2, queue: 4_096)
  }

  /// Calls `body` after each commit with a token of a state that contains it.
  func onCommit(_ body: @escaping @Sendable (Token) -> Void) {
    committed.withLock { $0 = body }
  }

  func save(
    _ request: SaveRequest,
    completion: @escaping @Sendable (Result<SaveResult, SaveError>) -> Void
  ) {
    start(request.caller, completion) { [self] () throws(SaveError) in
      let run = Run(request: request, once: nil)
      return try execute(run).result
    }
  }

  func save(
    _ request: SaveRequest, once: IdempotentSave,
    completion: @escaping @Sendable (Result<StoredResponse, SaveError>) -> Void
  ) {
    start(request.caller, completion) { [self] () throws(SaveError) in
      let run = Run(request: request, once: once)
      return try execute(run).response ?? StoredResponse(bytes: [], isRepeated: false)
    }
  }

  /// Returns the response to the save that was made under `key`; nil if there was none.
  func storedResponse(
    under key: String, fingerprint: String
  ) throws(SaveError) -> StoredResponse? {
    let found: Result<StoredResponse?, SaveError>
    do throws(PostgresError) {
      found = try pool.withConnection { (connection) throws(PostgresError) in
        try connection.withDeadline(timeLimit) { () throws(PostgresError) in
          try PostgresIdempotencyTable.find(key, fingerprint, on: connection)
        }
      }
    } catch {
      throw .store(StoreError(error))
    }
    return try found.get()
  }

  /// Runs a save in its caller's turn, unless it waits longer than one and a half times the time limit.
  private func start<Value: Sendable>(
    _ caller: CallerID, _ completion: @escaping @Sendable (Result<Value, SaveError>) -> Void,
    _ body: @escaping @Sendable () throws(SaveError) -> Value
  ) {
    open.withLock { $0 += 1 }
    let finish: @Sendable (Result<Value, SaveError>) -> Void = { [self] result in
      if case .success = result {
        made.add(1, ordering: .relaxed)
      } else {
        refused.add(1, ordering: .relaxed)
      }
      completion(result)
      if open.withLock({ open in
        open -= 1
        return open == 0
      }) {
        done.signal()
      }
    }
    threads.run(
      for: QueueKey(caller: caller.name, connection: caller.connection),
      until: .now + timeLimit * 1.5,
      refused: { refusal in
        finish(.failure(.store(refusal == .closed ? .shuttingDown : .overloaded)))
      },
      { finish(Result { () throws(SaveError) in try body() }) })
  }

  /// The number of saves that wait for a thread.
  var waitingCount: Int { threads.waiting }

  /// Refuses waiting and later saves. Returns when those that were accepted have their results.
  func end(cancellingRunning: Bool) {
    if cancellingRunning { isCancelled.store(true, ordering: .relaxed) }
    threads.close(refusesWaiting: true)
    while open.withLock({ $0 }) > 0 { _ = done.wait(seconds: 0.1) }
  }
}
