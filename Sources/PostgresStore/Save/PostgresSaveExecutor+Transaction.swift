// A save → its outcome. The transaction is repeated until it commits, until the save itself is refused, or
// until the time limit.

import FetchModel
import LiveFetchCLibrary
import SQLComposer
import SQLResults
import SaveExecution

extension PostgresSaveExecutor {
  struct Run {
    let request: SaveRequest
    let once: IdempotentSave?
  }

  struct Outcome {
    var result: SaveResult
    var response: StoredResponse?
    /// True if the transaction may have changed something.
    var isCommitted = true
  }

  private enum Step {
    case done(Outcome)
    case retry(PostgresSaveConnection.Repetition)
  }

  func execute(_ run: Run) throws(SaveError) -> Outcome {
    let executor =
      idle.withLock { $0.popLast() }
      ?? SaveExecutor(model: composer.model, schema: composer.schema)
    defer { idle.withLock { $0.append(executor) } }
    let end = ContinuousClock.now + timeLimit
    var hasSavepoints = false
    var replaced: [LockedTable] = []
    for attempt in 0..<Self.maxRepetitions where ContinuousClock.now < end {
      let step = try attemptSave(
        run, executor, until: end, hasSavepoints: hasSavepoints, &replaced)
      switch step {
      case .done(let outcome): return outcome
      case .retry(.withSavepoints): hasSavepoints = true
      case .retry(.unchanged): usleep(.random(in: 0...Self.longestPause(after: attempt)))
      }
    }
    throw .store(.busy)
  }

  /// The longest pause after `attempt`, in microseconds: 1,000, doubled with each attempt up to 64,000. The
  /// pause is random, so that two saves do not meet again.
  static func longestPause(after attempt: Int) -> UInt32 { 1_000 << UInt32(min(attempt, 6)) }

  private func attemptSave(
    _ run: Run, _ executor: SaveExecutor, until end: ContinuousClock.Instant, hasSavepoints: Bool,
    _ replaced: inout [LockedTable]
  ) throws(SaveError) -> Step {
    let result: Result<Step, SaveError>
    do throws(PostgresError) {
      result = try pool.withConnection(until: end) { (connection) throws(PostgresError) in
        let outer = (connection.deadline, connection.isCancelled)
        defer { (connection.deadline, connection.isCancelled) = outer }
        connection.deadline = end
        connection.isCancelled = { [self] in isCancelled.load(ordering: .relaxed) }
        return try connection.waiting(for: &replaced, .patient) { () throws(PostgresError) in
          try runTransaction(run, executor, on: connection, hasSavepoints: hasSavepoints)
        }
      }
    } catch {
      throw .store(StoreError(error))
    }
    return try result.get()
  }

  private func runTransaction(
    _ run: Run, _ executor: SaveExecutor, on connection: PostgresConnection, hasSavepoints: Bool
  ) throws(PostgresError) -> Result<Step, SaveError> {
    let locks = try begin(connection)
    let save = PostgresSaveConnection(
      connection, hasSavepoints: hasSavepoints, maxResponseBytes: maxResponseBytes,
      reader: reader(connection, .untracked), locks: locks)
    do throws(SaveError) {
      var outcome = try makeChanges(run, executor, save)
      if outcome.isCommitted {
        outcome.result.token = try commit(save)
      } else {
        connection.rollBack()
      }
      return .success(.done(outcome))
    } catch {
      if connection.isInTransaction { connection.rollBack() }
      if let repetition = save.repetition { return .success(.retry(repetition)) }
      // Only savepoints let the refusal list the violations of deferred constraints too.
      if !hasSavepoints, run.request.changes.count > 1, error.listsProblems {
        return .success(.retry(.withSavepoints))
      }
      return .failure(error)
    }
  }

  /// Begins a transaction and locks the tables before it takes its snapshot. The transaction gets its id
  /// together with the snapshot, so that few other transactions begin between them.
  private func begin(_ connection: PostgresConnection) throws(PostgresError) -> TableLocks {
    try TableLocks.locking(lockable, on: connection) { lock, unlocked throws(PostgresError) in
      do throws(PostgresError) {
        try connection.execute(
          "BEGIN ISOLATION LEVEL REPEATABLE READ; \(lock); SELECT pg_current_xact_id()")
      } catch {
        if connection.isInTransaction { connection.rollBack() }
        throw error
      }
      return TableLocks(connection: connection, unlocked: unlocked)
    }
  }

  /// Commits, which nothing cancels, and returns the token of a state that contains the commit.
  private func commit(_ save: PostgresSaveConnection) throws(SaveError) -> Token {
    let connection = save.connection
    connection.isCancelled = nil
    let deadline = ContinuousClock.now + max(timeLimit, .seconds(10))
    connection.deadline = deadline
    try save.withSaveErrors { () throws(PostgresError) in try connection.commit() }
    let token = tokenAfterCommit(on: connection, until: deadline)
    committed.withLock { $0 }(token)
    return token
  }

  /// Returns the newest token, read on another connection if `connection` is lost. If no token can be read,
  /// returns one from before the commit, whose diff repeats the save.
  private func tokenAfterCommit(
    on connection: PostgresConnection, until deadline: ContinuousClock.Instant
  ) -> Token {
    if let token = try? newestToken(connection) { return token }
    let token = try? pool.withConnection(until: deadline) { other throws(PostgresError) in
      try other.withDeadline(deadline - .now) { () throws(PostgresError) in
        try newestToken(other)
      }
    }
    return token ?? earlierToken.withLock { $0 }
  }

  /// Makes the changes in the open transaction.
  private func makeChanges(
    _ run: Run, _ executor: SaveExecutor, _ save: PostgresSaveConnection
  ) throws(SaveError) -> Outcome {
    if let once = run.once,
      let known = try save.withSaveErrors({ () throws(PostgresError) in
        try PostgresIdempotencyTable.find(once.key, once.fingerprint, on: save.connection)
      }).get()
    {
      return Outcome(
        result: SaveResult(token: .untracked), response: known, isCommitted: false)
    }
    var outcome = Outcome(
      result: try executor.execute(run.request, on: save, token: .untracked))
    guard !save.hasDeferredViolations else { throw .danglingReference }
    if let once = run.once { outcome.response = try storeResponse(once, &outcome.result, save) }
    return outcome
  }

  /// Stores the response. Its token shows this transaction, and no other one that its snapshot does not show.
  private func storeResponse(
    _ once: IdempotentSave, _ result: inout SaveResult, _ save: PostgresSaveConnection
  ) throws(SaveError) -> StoredResponse {
    let position = try save.withSaveErrors { () throws(PostgresError) in
      try Self.position(after: save.connection)
    }
    guard let position else {
      save.repeatUnchanged()
      throw .store(.busy)
    }
    result.token = Token(position)
    let response: [UInt8]
    do { response = try once.makeResponse(result, reader(save.connection, result.token)) } catch {
      throw .store(error)
    }
    let isStored = try save.withSaveErrors { () throws(PostgresError) in
      try PostgresIdempotencyTable.store(response, once, on: save.connection)
    }
    guard isStored else {
      // Another save with the key came first: the next transaction finds its response.
      save.repeatUnchanged()
      throw .store(.busy)
    }
    return StoredResponse(bytes: response, isRepeated: false)
  }

  /// Returns the position that contains the changes of the open transaction; nil if more than a hundred other
  /// transactions have begun between its snapshot and its id.
  private static func position(
    after connection: PostgresConnection
  ) throws(PostgresError) -> PostgresPosition? {
    let result = try connection.query(
      """
      SELECT \(HistoryEpoch.expression), pg_current_snapshot()::text, pg_current_xact_id()::text
      FROM livefetch.store AS s
      """)
    guard let snapshot = PostgresSnapshot(postgresText: result.text(0, 1)),
      let own = UInt64(result.text(0, 2))
    else { throw .malformed("no snapshot, or too many open transactions") }
    return snapshot.adding(own, most: 100).map {
      PostgresPosition(epoch: result.text(0, 0), snapshot: $0)
    }
  }

  /// Reads the state that the open transaction leaves.
  private func reader(_ connection: PostgresConnection, _ token: Token) -> PostgresReadTransaction {
    PostgresReadTransaction(
      connection: connection, composer: composer, objectStatements: objectStatements,
      changeQueries: changeQueries, initialToken: token, singleRead: nil, history: nil, locks: nil,
      recoversFromErrors: false,
      limit: ResponseLimit(connection, maxBytes: maxResponseBytes),
      timeLimit: timeLimit)
  }

  /// Returns the token of the current state, which contains every earlier commit, once a crash of the
  /// server cannot lose it.
  private func newestToken(_ connection: PostgresConnection) throws(PostgresError) -> Token {
    let (token, logEnd) = try HistoryTransaction.read([], on: connection) {
      history throws(PostgresError) in
      (Token(history.position), history.isFlushed ? nil : history.logEnd)
    }
    if let logEnd { try connection.waitForLogFlush(upTo: logEnd) }
    return token
  }
}

extension PostgresSnapshot {
  /// Returns the snapshot together with the changes of a transaction that it does not show; nil if more
  /// than `most` other transactions have begun between them.
  func adding(_ transaction: UInt64, most: Int) -> PostgresSnapshot? {
    guard end <= transaction else {
      return PostgresSnapshot(end: end, inProgress: inProgress.filter { $0 != transaction })
    }
    guard transaction - end <= UInt64(most) else { return nil }
    return PostgresSnapshot(
      end: transaction + 1, inProgress: inProgress + Array(end..<transaction))
  }
}

extension SaveError {
  /// True if the refusal names every problem of the changes.
  fileprivate var listsProblems: Bool {
    switch self {
    case .invalid, .conflicts: true
    default: false
    }
  }
}
