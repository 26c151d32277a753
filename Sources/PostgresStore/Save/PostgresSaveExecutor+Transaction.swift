// One save → its transaction, repeated until it succeeds or is refused for its own sake.

import FetchModel
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
    case again(PostgresSaveConnection.Repetition)
  }

  func execute(_ run: Run) throws(SaveError) -> Outcome {
    let executor =
      idle.withLock { $0.popLast() }
      ?? SaveExecutor(model: composer.model, schema: composer.schema)
    defer { idle.withLock { $0.append(executor) } }
    let end = ContinuousClock.now + timeLimit
    var hasSavepoints = false
    for _ in 0..<Self.maxRepetitions where ContinuousClock.now < end {
      switch try transaction(run, executor, until: end, hasSavepoints: hasSavepoints) {
      case .done(let outcome): return outcome
      case .again(.withSavepoints): hasSavepoints = true
      case .again(.unchanged): break
      }
    }
    throw .store(.busy)
  }

  private func transaction(
    _ run: Run, _ executor: SaveExecutor, until end: ContinuousClock.Instant, hasSavepoints: Bool
  ) throws(SaveError) -> Step {
    let result: Result<Step, SaveError>
    do throws(PostgresError) {
      result = try pool.withConnection { (connection) throws(PostgresError) in
        let outer = (connection.deadline, connection.isCancelled)
        defer { (connection.deadline, connection.isCancelled) = outer }
        connection.deadline = end
        connection.isCancelled = { [self] in isCancelled.load(ordering: .relaxed) }
        return try transaction(run, executor, on: connection, hasSavepoints: hasSavepoints)
      }
    } catch {
      throw .store(StoreError(error))
    }
    return try result.get()
  }

  private func transaction(
    _ run: Run, _ executor: SaveExecutor, on connection: PostgresConnection, hasSavepoints: Bool
  ) throws(PostgresError) -> Result<Step, SaveError> {
    let save = PostgresSaveConnection(
      connection, schema: schema, hasSavepoints: hasSavepoints, maxAnswerBytes: maxAnswerBytes,
      reader: reader(connection, .untracked))
    try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    do throws(SaveError) {
      var outcome = try changes(run, executor, save)
      if outcome.isCommitted {
        outcome.result.token = try commit(save)
      } else {
        connection.rollBack()
      }
      return .success(.done(outcome))
    } catch {
      if connection.isInTransaction { connection.rollBack() }
      if let repetition = save.repetition { return .success(.again(repetition)) }
      return .failure(error)
    }
  }

  /// Commits, which nothing cancels, and returns the token of a state that contains the commit.
  private func commit(_ save: PostgresSaveConnection) throws(SaveError) -> Token {
    let connection = save.connection
    connection.isCancelled = nil
    connection.deadline = .now + max(timeLimit, .seconds(10))
    return try Self.storing { () throws(PostgresError) in
      do throws(PostgresError) {
        try connection.execute("COMMIT")
      } catch {
        save.note(error)
        throw error
      }
      let token = try newestToken(connection)
      committed.withLock { $0 }(token)
      return token
    }
  }

  /// Makes the changes in the open transaction.
  private func changes(
    _ run: Run, _ executor: SaveExecutor, _ save: PostgresSaveConnection
  ) throws(SaveError) -> Outcome {
    let connection = save.connection
    if let once = run.once,
      let known = try Self.storing({ () throws(PostgresError) in
        try PostgresIdempotencyTable.find(once.key, once.fingerprint, on: connection)
      }).get()
    {
      return Outcome(
        result: SaveResult(token: .untracked), response: known, isCommitted: false)
    }
    var outcome = Outcome(
      result: try executor.execute(run.request, on: save, token: .untracked))
    guard !save.hasDeferredViolations else { throw Self.danglingReference }
    if let once = run.once { outcome.response = try keep(once, &outcome.result, save) }
    return outcome
  }

  private static var danglingReference: SaveError {
    .conflicts([
      ChangeProblem(
        change: 0, code: .noSuchObject,
        detail: "a relationship of the save leads to an object that does not exist")
    ])
  }

  /// Stores the response with the token of the state that this transaction leaves if no other one
  /// commits before it.
  private func keep(
    _ once: IdempotentSave, _ result: inout SaveResult, _ save: PostgresSaveConnection
  ) throws(SaveError) -> StoredResponse {
    let connection = save.connection
    result.token = try Self.storing { () throws(PostgresError) in
      Token(
        PostgresPosition(
          epoch: try HistoryEpoch.current(connection),
          snapshot: try PostgresSnapshot.own(connection)))
    }
    let answer: [UInt8]
    do { answer = try once.answer(result, reader(connection, result.token)) } catch {
      throw .store(error)
    }
    do throws(PostgresError) {
      try PostgresIdempotencyTable.keep(answer, once, on: connection)
    } catch {
      // Another save with the key came first: the next transaction finds its response.
      if error.sqlState == "23505" { save.repeatUnchanged() } else { save.note(error) }
      throw .store(StoreError(error))
    }
    return StoredResponse(bytes: answer, isRepeated: false)
  }

  /// Reads the state that the open transaction leaves.
  private func reader(_ connection: PostgresConnection, _ token: Token) -> PostgresReadTransaction {
    PostgresReadTransaction(
      connection: connection, composer: composer, objectStatements: objectStatements,
      changeQueries: changeQueries, begun: token, single: nil, history: nil,
      limit: AnswerLimit(connection, most: maxAnswerBytes),
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

  private static func storing<Value>(
    _ body: () throws(PostgresError) -> Value
  ) throws(SaveError) -> Value {
    do { return try body() } catch { throw .store(StoreError(error)) }
  }
}

extension HistoryEpoch {
  static func current(_ connection: PostgresConnection) throws(PostgresError) -> String {
    try connection.query("SELECT \(expression) FROM livefetch.store AS s").text(0, 0)
  }
}

extension PostgresSnapshot {
  /// Returns the snapshot of an open transaction together with the transaction's own changes.
  static func own(_ connection: PostgresConnection) throws(PostgresError) -> PostgresSnapshot {
    let result = try connection.query(
      "SELECT pg_current_snapshot()::text, pg_current_xact_id_if_assigned()::text")
    guard let snapshot = PostgresSnapshot(postgresText: result.text(0, 0)) else {
      throw .malformed("no snapshot, or too many open transactions")
    }
    guard let own = UInt64(result.text(0, 1)) else { return snapshot }
    guard snapshot.end <= own else {
      return PostgresSnapshot(
        end: snapshot.end, inProgress: snapshot.inProgress.filter { $0 != own })
    }
    guard own - snapshot.end + UInt64(snapshot.inProgress.count) <= UInt64(maxInProgress) else {
      throw .malformed("too many transactions began during this one")
    }
    return PostgresSnapshot(
      end: own + 1, inProgress: snapshot.inProgress + Array(snapshot.end..<own))
  }
}
