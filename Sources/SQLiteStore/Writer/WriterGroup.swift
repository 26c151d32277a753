// Waiting saves → one transaction with one savepoint per save. A save that fails does not affect
// the others of its group.

import FetchModel
import LiveFetchThreads
import SaveExecution

/// Executes groups of saves. Used only on the writer's thread.
struct WriterGroup {
  struct Outcome {
    /// The results, in the order of the jobs that were executed.
    var results: [Result<SaveResult, SaveError>]
    /// True if the group made a new state.
    var didCommit: Bool
    /// True if commits of other processes were found before the saves.
    var hasExternalCommits = false
    /// The duration of the commit; 0 if there was none.
    var commitNanoseconds: UInt64 = 0
    /// True if another process held the write lock, so that nothing was executed.
    var isLocked = false
    /// True if the schema is not the one that was compared last, so that nothing was executed.
    var hasOtherSchema = false
  }

  let connection: Connection
  let history: History
  /// The files that are checked before and after each commit; nil if they are not monitored.
  let files: ServedFiles?
  let duration: UInt64
  /// The newest token that this thread knows to be committed.
  var token: Token
  /// The last position that `livefetch_save` records as the end of a save.
  var stamped: Int64

  init(
    connection: Connection, history: History, files: ServedFiles?, token: Token,
    duration: UInt64
  ) {
    self.connection = connection
    self.history = history
    self.files = files
    self.token = token
    self.duration = duration
    stamped = 0
  }

  /// Executes jobs from the front, as many as fit into the duration of a group, and commits them.
  ///
  /// - Parameters:
  ///   - busyTimeout: the milliseconds to wait for another process that holds the write lock.
  ///   - schemaVersion: the version of the schema in which every change is recorded.
  mutating func run(
    _ jobs: ArraySlice<Writer.Job>, busyTimeout: Int32, schemaVersion: Int64
  ) -> Outcome {
    var state: State
    do {
      state = try begin(busyTimeout, schemaVersion)
    } catch {
      files?.recordDamage(error)
      return Outcome(
        results: jobs.map { _ in .failure(.store(error)) }, didCommit: false,
        isLocked: error == .busy, hasOtherSchema: error == Self.otherSchema)
    }
    let start = monotonicNanoseconds()
    for job in jobs {
      state.results.append(attempt(job, &state))
      if connection.isInAutocommit {
        return runAlone(
          jobs.prefix(state.results.count), state, busyTimeout: busyTimeout, schemaVersion)
      }
      if monotonicNanoseconds() &- start > duration { break }
    }
    return commit(state)
  }

  private struct State {
    var token: Token
    let hasExternalCommits: Bool
    var results: [Result<SaveResult, SaveError>] = []
  }

  private static let otherSchema = StoreError.schemaChanged(entity: "")

  /// Begins the transaction. Commits of other processes since the last stamp become a save of their
  /// own.
  private mutating func begin(
    _ busyTimeout: Int32, _ schemaVersion: Int64
  ) throws(StoreError) -> State {
    try files?.check(connection)
    try connection.withBusyTimeout(busyTimeout) { () throws(StoreError) in
      try connection.run("BEGIN IMMEDIATE")
    }
    do throws(StoreError) {
      // Another program may have dropped the triggers, which record the changes.
      guard try History.schemaVersion(on: connection) == schemaVersion else {
        throw Self.otherSchema
      }
      let last = try position(epoch: token.epoch) ?? token
      if last.position.number > stamped { try stamp(last.position.number) }
      return State(token: last, hasExternalCommits: last != token)
    } catch {
      rollBack()
      throw error
    }
  }

  /// SQLite rolled the whole transaction back because of the last job, so none of the jobs took
  /// effect. Runs each of them in a transaction of its own, until another process holds the write lock: the
  /// rest has no result and is begun again.
  private mutating func runAlone(
    _ jobs: ArraySlice<Writer.Job>, _ state: State, busyTimeout: Int32, _ schemaVersion: Int64
  ) -> Outcome {
    guard jobs.count > 1 else { return Outcome(results: state.results, didCommit: false) }
    var outcome = Outcome(results: [], didCommit: false)
    // The last job has run out of time already and would do so again.
    let isSlow = state.results.last == .failure(.store(.queryTimeout))
    for index in jobs.indices {
      if isSlow, index == jobs.indices.last {
        outcome.results += state.results.suffix(1)
        break
      }
      let alone = run(
        jobs[index...index], busyTimeout: busyTimeout, schemaVersion: schemaVersion)
      if alone.isLocked { break }
      outcome.results += alone.results
      outcome.didCommit = outcome.didCommit || alone.didCommit
      outcome.hasExternalCommits = outcome.hasExternalCommits || alone.hasExternalCommits
    }
    return outcome
  }

  private mutating func commit(_ state: State) -> Outcome {
    let start = monotonicNanoseconds()
    do {
      try files?.check(connection)
      try connection.run("COMMIT")
    } catch {
      files?.recordDamage(error)
      rollBack()
      return Outcome(
        results: state.results.map { _ in .failure(.store(error)) }, didCommit: false)
    }
    defer { token = state.token }
    stamped = max(stamped, state.token.position.number)
    let duration = monotonicNanoseconds() &- start
    return Outcome(
      results: acknowledged(state.results), didCommit: state.token != token,
      hasExternalCommits: state.hasExternalCommits, commitNanoseconds: max(1, duration))
  }

  /// The results if the files are still in place, otherwise errors: the files may have been removed
  /// during the commit.
  private func acknowledged(
    _ results: [Result<SaveResult, SaveError>]
  ) -> [Result<SaveResult, SaveError>] {
    do {
      try files?.check(connection)
      return results
    } catch .damaged {
      // A reader has found damage meanwhile. The commit is in the log.
      return results
    } catch {
      return results.map { $0.flatMap { _ in .failure(.store(error)) } }
    }
  }

  private func rollBack() {
    if !connection.isInAutocommit { try? connection.run("ROLLBACK") }
  }
}

// MARK: - One save

extension WriterGroup {
  private func attempt(
    _ job: Writer.Job, _ state: inout State
  ) -> Result<SaveResult, SaveError> {
    do {
      return .success(try save(job, &state))
    } catch {
      if case .store(let error) = error { files?.recordDamage(error) }
      if !connection.isInAutocommit {
        try? connection.run("ROLLBACK TO livefetch")
        try? connection.run("RELEASE livefetch")
      }
      return .failure(error)
    }
  }

  private func save(
    _ job: Writer.Job, _ state: inout State
  ) throws(SaveError) -> SaveResult {
    try storing { () throws(StoreError) in try connection.run("SAVEPOINT livefetch") }
    var result = try job.body(connection, state.token)
    // A violation would survive the savepoint's release and make the commit of the whole group fail.
    guard !connection.hasDeferredViolations else { throw .danglingReference }
    result.token = try storing { () throws(StoreError) in
      let token = try position(epoch: state.token.epoch) ?? state.token
      if token != state.token { try stamp(token.position.number) }
      return token
    }
    let outcome = result
    try storing { () throws(StoreError) in
      try job.finish?(connection, outcome)
      try connection.run("RELEASE livefetch")
    }
    state.token = result.token
    return result
  }

  private func position(epoch: String) throws(StoreError) -> Token? {
    try connection.first(
      "SELECT position, nonce FROM main.livefetch_position ORDER BY position DESC LIMIT 1"
    ) {
      Token(
        epoch: epoch, position: HistoryPosition($0.integer(0)),
        nonce: UInt32(truncatingIfNeeded: $0.integer(1)))
    }
  }

  private func stamp(_ position: Int64) throws(StoreError) {
    try History.stamp(position: position, on: connection)
  }
}
