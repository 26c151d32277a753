// Waiting saves → one transaction with a savepoint each.

import CSQLite
import FetchModel

/// Carries groups of saves out. Belongs to the writer's thread.
struct WriterGroup {
  struct Outcome {
    /// Parallel to the jobs that were taken.
    var results: [Result<SaveResult, SaveError>]
    /// Whether there is a newer state than before.
    var didCommit: Bool
    /// How long the commit took; 0 without one.
    var commitNanoseconds: UInt64 = 0
    /// Whether another process held the file: nothing was tried.
    var isHeldUp = false
  }

  let connection: Connection
  let history: History
  /// nil where nobody watches the files.
  let files: ServedFiles?
  let duration: UInt64
  /// The newest state that this thread knows to be committed.
  var token: Token
  /// The last position that is the end of a save in `livefetch_save`.
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

  /// Takes jobs from the front, as many as fit into the time of a group, and commits them.
  ///
  /// - Parameter patience: how many milliseconds to wait for another process that holds the file.
  mutating func run(_ jobs: ArraySlice<Writer.Job>, patience: Int32) -> Outcome {
    var state: State
    do {
      state = try begin(patience)
    } catch {
      return Outcome(
        results: jobs.map { _ in .failure(.store(error)) }, didCommit: false,
        isHeldUp: error == .busy)
    }
    let start = monotonicNanoseconds()
    for job in jobs {
      state.results.append(attempt(job, &state))
      if connection.isInAutocommit { return runAlone(jobs.prefix(state.results.count), state) }
      if monotonicNanoseconds() &- start > duration { break }
    }
    return commit(state)
  }

  private struct State {
    var token: Token
    var results: [Result<SaveResult, SaveError>] = []
  }

  /// What others committed since the last stamp becomes a save of its own.
  private mutating func begin(_ patience: Int32) throws(StoreError) -> State {
    try files?.check(connection)
    try connection.withPatience(patience) { () throws(StoreError) in
      try connection.run("BEGIN IMMEDIATE")
    }
    do {
      let last = try position(epoch: token.epoch) ?? token
      if last.position > stamped { try stamp(last.position) }
      return State(token: last)
    } catch {
      rollBack()
      throw error
    }
  }

  /// SQLite gave the whole transaction up because of the last job: none of the jobs happened.
  private mutating func runAlone(_ jobs: ArraySlice<Writer.Job>, _ state: State) -> Outcome {
    guard jobs.count > 1 else { return Outcome(results: state.results, didCommit: false) }
    var outcome = Outcome(results: [], didCommit: false)
    // What took too long in company does so alone.
    let isSlow = state.results.last == .failure(.store(.queryTimeout))
    for index in jobs.indices {
      if isSlow, index == jobs.indices.last {
        outcome.results += state.results.suffix(1)
        break
      }
      let alone = run(jobs[index...index], patience: connection.busyTimeout)
      outcome.results += alone.results
      outcome.didCommit = outcome.didCommit || alone.didCommit
    }
    return outcome
  }

  private mutating func commit(_ state: State) -> Outcome {
    let start = monotonicNanoseconds()
    do {
      try files?.check(connection, inTransaction: true)
      try connection.run("COMMIT")
    } catch {
      rollBack()
      return Outcome(
        results: state.results.map { _ in .failure(.store(error)) }, didCommit: false)
    }
    defer { token = state.token }
    stamped = max(stamped, state.token.position)
    let duration = monotonicNanoseconds() &- start
    return Outcome(
      results: acknowledged(state.results), didCommit: state.token != token,
      commitNanoseconds: max(1, duration))
  }

  /// The results, where they are in files that somebody finds again: these may have been removed
  /// while the commit ran.
  private func acknowledged(
    _ results: [Result<SaveResult, SaveError>]
  ) -> [Result<SaveResult, SaveError>] {
    do {
      try files?.check(connection)
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
    try checkDeferredKeys()
    result.token = try storing { () throws(StoreError) in
      let token = try position(epoch: state.token.epoch) ?? state.token
      if token != state.token { try stamp(token.position) }
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

  private func storing<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(SaveError) -> Result {
    do { return try body() } catch { throw .store(error) }
  }

  /// A violation that waits for the commit would survive the savepoint's release and fail all.
  private func checkDeferredKeys() throws(SaveError) {
    var violations: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(
      connection.handle, SQLITE_DBSTATUS_DEFERRED_FKS, &violations, &highest, 0)
    guard violations != 0 else { return }
    throw .conflicts([
      ChangeProblem(
        change: 0, code: .noSuchObject,
        detail: "a relationship of the save leads to an object that does not exist")
    ])
  }

  private func position(epoch: String) throws(StoreError) -> Token? {
    try connection.first(
      "SELECT position, nonce FROM main.livefetch_position ORDER BY position DESC LIMIT 1"
    ) {
      Token(
        epoch: epoch, position: $0.integer(0), nonce: UInt32(truncatingIfNeeded: $0.integer(1)))
    }
  }

  private func stamp(_ position: Int64) throws(StoreError) {
    try History.stamp(position: position, on: connection)
  }
}
