// Saves of many threads → groups of saves, one transaction per group, in an order that is fair
// between callers.
//
// One thread owns the only connection of this process that writes or checkpoints. It takes the
// waiting saves, runs each in a savepoint, commits once, publishes the newest token, and then
// completes all of them. Between groups it does maintenance: it detects commits of other processes,
// checkpoints the log, and prunes the history.

import Dispatch
import FetchModel
import LiveFetchThreads
import Synchronization

/// The queue of saves and the thread that executes them.
final class Writer: Sendable {
  /// Executes one save. May be called more than once: if a group fails, its saves run again one by
  /// one. The result holds the given token until the save's own token is known.
  typealias Body = @Sendable (Connection, Token) throws(SaveError) -> SaveResult
  /// Runs in the save's transaction once its token is known; an error refuses the save.
  typealias Finish = @Sendable (Connection, SaveResult) throws(StoreError) -> Void
  typealias Completion = @Sendable (Result<SaveResult, SaveError>) -> Void

  /// A commit that the writer made or detected.
  enum Commit: Sendable, Hashable {
    /// Saves of this process.
    case saves(Token)
    /// Commits of other processes, and perhaps later saves of this process.
    case external(Token)
    /// A new epoch, because history had a gap.
    case restarted(Token)
    /// The file or its schema is not the one that was opened.
    case outdated(OutdatedReason)
  }

  struct Job: Sendable {
    let body: Body
    var finish: Finish?
    var cost = WriterQueue.SaveCost()
    /// True for a probe of whether the file can be written, which is no save.
    var isProbe = false
    /// The time of the call, in nanoseconds of the monotonic clock.
    let arrival: UInt64
    let completion: Completion

    func refuse(_ error: StoreError) { completion(.failure(.store(error))) }
  }

  private struct Waiting {
    var jobs: WriterQueue
    var isIdle = false
    var isClosing = false
    /// True once no further save may begin.
    var isEnding = false
    /// True if other processes may have written.
    var isHinted = false
    /// True if ``Commit/outdated(_:)`` is to be published.
    var isWatched = false
    /// For each reader with unread history, the position up to which it has read.
    var readers: [ObjectIdentifier: Int64] = [:]
  }

  /// Protects the queue and its flags.
  private let waiting: Mutex<Waiting>
  /// True while the running save is to be rolled back.
  private let isCancelling = Atomic(false)
  /// See ``WriterQueue/removeExpired(at:limit:)``.
  private let waitLimit: UInt64
  private let wakeUp = MonotonicSemaphore()
  private let drained = DispatchSemaphore(value: 0)
  private let mayEnd = DispatchSemaphore(value: 0)
  private let finished = DispatchSemaphore(value: 0)
  /// Protects the newest token that is known to be committed.
  private let newest: Mutex<Token>
  /// The version of the schema in which every change was last found to be recorded.
  private let comparedSchema = SharedValue<Int64>(-1)
  /// True after ``Commit/outdated(_:)``.
  private let hasPublishedOutdated = Atomic(false)
  /// Protects the metrics.
  private let counted = Mutex(WriterMetrics())

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - connection: a connection with access `.write`, used only by the thread from now on.
  ///   - watch: detects files and tables that are not those that were opened; nil disables the
  ///     check.
  ///   - onCommit: called on the thread after each commit, before the saves complete.
  init(
    connection: Connection, history: History, settings: WriterSettings = WriterSettings(),
    watch: FileIdentityMonitor? = nil,
    onCommit: @escaping @Sendable (Commit) -> Void
  ) throws(StoreError) {
    let token = try history.newestToken(on: connection)
    newest = Mutex(token)
    waiting = Mutex(Waiting(jobs: WriterQueue(capacity: settings.maxWaiting)))
    waitLimit = settings.waitLimit
    let isStarted = startThread { [self] in
      let maintenance = WriterMaintenance(
        connection: connection, history: history, settings: settings, watch: watch,
        comparedVersion: comparedSchema)
      let group = WriterGroup(
        connection: connection, history: history, files: watch?.files, token: token,
        duration: settings.groupDuration)
      Self.checkContent(connection, watch?.files)
      work(group, maintenance, pollInterval: settings.pollInterval, onCommit)
    }
    guard isStarted else { throw .failed("no thread could be started") }
  }

  /// Looks for damaged pages before the first save, which is then refused.
  private static func checkContent(_ connection: Connection, _ files: ServedFiles?) {
    do {
      try OpenFile.checkContent(connection)
    } catch {
      files?.recordDamage(error)
      if case .damaged(let reason) = error { SQLiteStore.report(.reported(reason)) }
    }
  }

  /// The newest token whose commit this writer made or detected, or that a read has seen.
  var newestToken: Token { newest.withLock { $0 } }

  /// Records the token of a state that was read: no response of an earlier state must follow one of it.
  func recordRead(_ token: Token) { newest.withLock { $0 = $0.later(token) } }

  /// False if another process has changed the schema of the snapshot that `connection` reads, and the
  /// writer has not compared it yet: since then changes may not have been recorded.
  ///
  /// - Throws: ``StoreError/schemaChanged(entity:)`` if the tables are not those that were opened.
  func hasComparedSchema(of connection: Connection) throws(StoreError) -> Bool {
    if try History.schemaVersion(on: connection) == comparedSchema.value { return true }
    guard isOutdated else { return false }
    throw .schemaChanged(entity: "")
  }

  /// True once the writer has found that the file or its tables are not those that were opened.
  var isOutdated: Bool { hasPublishedOutdated.load(ordering: .acquiring) }

  /// The metrics so far.
  var metrics: WriterMetrics { counted.withLock { $0 } }

  /// Queues a save. `completion` is called on the writer's thread after the commit, or on any
  /// thread if the save is refused.
  func save(
    _ body: @escaping Body, finish: Finish? = nil, cost: WriterQueue.SaveCost = .init(),
    isProbe: Bool = false, completion: @escaping Completion
  ) {
    let job = Job(
      body: body, finish: finish, cost: cost, isProbe: isProbe, arrival: monotonicNanoseconds(),
      completion: completion)
    let (refusals, isIdle) = waiting.withLock { waiting in
      if waiting.isEnding { return ([Refusal(job, .shuttingDown)], false) }
      if waiting.isClosing { return ([Refusal(job, .busy)], false) }
      var refusals: [Refusal] = []
      switch waiting.jobs.append(job) {
      case .queued: break
      case .refused: refusals.append(Refusal(job, .overloaded))
      case .replaced(let other): refusals.append(Refusal(other, .overloaded))
      }
      defer { waiting.isIdle = false }
      return (refusals, waiting.isIdle)
    }
    if isIdle { wakeUp.signal() }
    refuse(refusals)
  }

  private typealias Refusal = (job: Job, error: StoreError)

  private func refuse(_ refusals: [Refusal]) {
    guard !refusals.isEmpty else { return }
    counted.withLock { $0.refused += refusals.count }
    for (job, error) in refusals { job.refuse(error) }
  }

  /// The number of waiting saves.
  var waitingCount: Int { waiting.withLock { $0.jobs.count } }

  /// See ``Store/endSaves(cancellingRunning:)``.
  func endSaves(cancellingRunning: Bool) {
    let jobs = waiting.withLock { waiting in
      waiting.isEnding = true
      return waiting.jobs.removeAll()
    }
    refuse(jobs.map { Refusal($0, .shuttingDown) })
    if cancellingRunning { isCancelling.store(true, ordering: .relaxed) }
  }

  private let writeProbe = WriteProbe()

  /// Calls `completion`, on any thread, with the error of a small commit, or with nil if it
  /// succeeded.
  func probe(_ completion: @escaping WriteProbe.Completion) {
    writeProbe.run(on: self, completion)
  }

  /// Keeps the history that `reader` still has to read from being pruned, as long as the reader
  /// makes progress.
  ///
  /// A reader that demands ``RetentionDemand/new`` before it begins to read finds every change that
  /// is committed after the state that it reads: pruning that runs meanwhile removes only older
  /// history.
  func demand(_ demand: RetentionDemand, of reader: ObjectIdentifier) {
    let position: Int64? =
      switch demand {
      case .nothing: nil
      case .new: newestToken.position.number
      case .after(let position): position.number
      }
    waiting.withLock { $0.readers[reader] = position }
  }

  /// Makes the writer look for commits of other processes soon.
  func hint() {
    let isIdle = waiting.withLock { waiting in
      waiting.isHinted = true
      defer { waiting.isIdle = false }
      return waiting.isIdle
    }
    if isIdle { wakeUp.signal() }
  }

  /// From now on, publishes ``Commit/outdated(_:)`` if the file is not the one that was opened.
  /// Before this call, the writer serves such a file for as long as it can.
  func watchFile() { waiting.withLock { $0.isWatched = true } }

  /// Executes the waiting saves, then ends the thread and closes its connection. Later saves are
  /// refused.
  ///
  /// The connection that closes the file last removes the log; that has to be the writer's. So
  /// close the readers in `closeReaders`, which is called after the last save has completed.
  func close(_ closeReaders: () -> Void = {}) {
    let wasClosing = waiting.withLock { waiting in
      defer { waiting.isClosing = true }
      return waiting.isClosing
    }
    guard !wasClosing else { return }
    wakeUp.signal()
    drained.wait()
    closeReaders()
    mayEnd.signal()
    finished.wait()
  }
}

// MARK: - The thread

extension Writer {
  /// The milliseconds that the writer waits for another process's lock before it looks for commits
  /// that this process has already made.
  private static let lockPollMilliseconds: Int32 = 50

  private func work(
    _ group: consuming WriterGroup, _ maintenance: consuming WriterMaintenance,
    pollInterval: UInt64,
    _ onCommit: (Commit) -> Void
  ) {
    var lock = LockWait(limit: UInt64(group.connection.busyTimeout) * 1_000_000)
    while let jobs = nextJobs() {
      // A save that ends the sleep does not wait for maintenance.
      if jobs.isEmpty, !sleep(nanoseconds: maintenance.isBusy ? 5_000_000 : pollInterval),
        let commit = maintenance.run(&group, takeRequests())
      {
        publish(commit, group.token, onCommit)
      }
      var rest = jobs[...]
      while !rest.isEmpty {
        let began = monotonicNanoseconds()
        let outcome = run(rest, &group, &maintenance, &lock, onCommit)
        let (done, left) = divide(rest, outcome, lock)
        let results = zip(done, outcome.results)
        let saves = results.filter { !$0.0.isProbe }.map(\.1)
        counted.withLock { $0.count(saves, commitNanoseconds: outcome.commitNanoseconds) }
        let hasProbed = results.contains { $0.0.isProbe && (try? $0.1.get()) != nil }
        writeProbe.record(hasWritten: outcome.didCommit || hasProbed)
        if outcome.didCommit {
          let commit =
            outcome.hasExternalCommits ? Commit.external(group.token) : .saves(group.token)
          publish(commit, group.token, onCommit)
        }
        for (job, result) in results {
          job.completion(result.mapError { cause(of: $0, job, began) })
        }
        rest = refuseEnded(left)
        if let commit = maintenance.run(&group, takeRequests()) {
          publish(commit, group.token, onCommit)
        }
      }
      let (bytes, rows) = (maintenance.size.total, maintenance.size.rows)
      counted.withLock { $0.holds(historyBytes: bytes, rows: rows) }
    }
    drained.signal()
    mayEnd.wait()
    maintenance.finish()
    finished.signal()
  }

  /// Executes saves. While another process holds the write lock, publishes the commits that were
  /// made before, until a save has waited for long enough. After another process has changed the schema,
  /// compares it first.
  private func run(
    _ jobs: ArraySlice<Job>, _ group: inout WriterGroup, _ maintenance: inout WriterMaintenance,
    _ lock: inout LockWait, _ onCommit: (Commit) -> Void
  ) -> WriterGroup.Outcome {
    let began = monotonicNanoseconds()
    let share = min(group.connection.busyTimeout, Self.lockPollMilliseconds)
    group.connection.setCancellation { [self] in isCancelling.load(ordering: .relaxed) }
    defer { group.connection.setCancellation(nil) }
    while true {
      let tried = monotonicNanoseconds()
      let version = maintenance.schemaVersion
      let outcome = group.run(jobs, busyTimeout: share, schemaVersion: version)
      lock.record(isLocked: outcome.isLocked, at: tried)
      let now = monotonicNanoseconds()
      let mayRepeat =
        outcome.isLocked
        ? !hasEnded(jobs, lock, now) : outcome.hasOtherSchema && now &- began < lock.limit
      guard mayRepeat, !isCancelling.load(ordering: .relaxed) else { return outcome }
      let commit = maintenance.checkForExternalCommits(&group, takeRequests())
      if let commit { publish(commit, group.token, onCommit) }
      guard outcome.isLocked || maintenance.schemaVersion != version else { return outcome }
    }
  }

  /// True if one of the saves has waited for the write lock for long enough.
  private func hasEnded(_ jobs: ArraySlice<Job>, _ lock: LockWait, _ now: UInt64) -> Bool {
    jobs.contains { lock.isOver(for: $0.arrival, at: now) }
  }

  /// The saves to which the results of a group belong, in their order, and those that are left. While
  /// another process holds the write lock, only those that have waited for long enough are done.
  private func divide(
    _ jobs: ArraySlice<Job>, _ outcome: WriterGroup.Outcome, _ lock: LockWait
  ) -> (done: ArraySlice<Job>, left: ArraySlice<Job>) {
    guard outcome.isLocked, !isCancelling.load(ordering: .relaxed) else {
      let count = outcome.results.count
      return (jobs.prefix(count), jobs.dropFirst(count))
    }
    let now = monotonicNanoseconds()
    let done = jobs.filter { lock.isOver(for: $0.arrival, at: now) }
    let left = jobs.filter { !lock.isOver(for: $0.arrival, at: now) }
    return (done[...], left[...])
  }

  /// Refuses saves that were taken from the queue but not begun when the server shuts down.
  private func refuseEnded(_ jobs: ArraySlice<Job>) -> ArraySlice<Job> {
    guard !jobs.isEmpty, waiting.withLock({ $0.isEnding }) else { return jobs }
    refuse(jobs.map { Refusal($0, .shuttingDown) })
    return []
  }

  /// The reason for which a save that ran out of time is refused: it was cancelled, it waited for
  /// longer than it ran, or it takes too long.
  private func cause(of error: SaveError, _ job: Job, _ began: UInt64) -> SaveError {
    guard error == .store(.queryTimeout) else { return error }
    if isCancelling.load(ordering: .relaxed) { return .store(.shuttingDown) }
    return began &- job.arrival > waitLimit / 2 ? .store(.overloaded) : error
  }

  private func takeRequests() -> WriterMaintenance.Requests {
    waiting.withLock { waiting in
      defer { waiting.isHinted = false }
      return WriterMaintenance.Requests(
        isHinted: waiting.isHinted, isWatched: waiting.isWatched,
        unread: waiting.readers.values.min())
    }
  }

  /// The saves of the next group; empty if none wait, nil if there will be no more. Refuses saves
  /// that have waited for too long.
  private func nextJobs() -> [Job]? {
    let (jobs, expired): ([Job]?, [Job]) = waiting.withLock { waiting in
      let now = monotonicNanoseconds()
      let expired = waiting.jobs.removeExpired(at: now, limit: waitLimit)
      if waiting.jobs.isEmpty {
        waiting.isIdle = !waiting.isClosing && !waiting.isHinted
        return (waiting.isClosing ? nil : [], expired)
      }
      return (waiting.jobs.popGroup(), expired)
    }
    refuse(expired.map { Refusal($0, .overloaded) })
    return jobs
  }

  /// Sleeps. Returns true if a save arrived before the time was over.
  private func sleep(nanoseconds: UInt64) -> Bool {
    let (isIdle, isHinted) = waiting.withLock { ($0.isIdle, $0.isHinted) }
    if isHinted { return false }
    guard isIdle else { return true }
    defer { waiting.withLock { $0.isIdle = false } }
    return wakeUp.wait(nanoseconds: nanoseconds)
  }

  private func publish(_ commit: Commit, _ token: Token, _ onCommit: (Commit) -> Void) {
    if case .outdated = commit { hasPublishedOutdated.store(true, ordering: .releasing) }
    newest.withLock { $0 = token.later($0) }
    counted.withLock { $0.count(commit) }
    onCommit(commit)
  }
}

extension Token {
  /// `other` if it is of a later state of the same history, otherwise this token.
  fileprivate func later(_ other: Token) -> Token {
    epoch == other.epoch && position < other.position ? other : self
  }
}
