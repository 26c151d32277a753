// Saves of many threads → groups, one transaction each, in an order that is fair between callers.
//
// One thread owns the only connection of this process that writes or checkpoints. It takes whatever
// saves wait, runs each in a savepoint, commits once, publishes the newest token, and then answers
// them all. Between groups it looks after the file: commits of other processes, checkpoints, the
// history's length.

import Dispatch
import FetchModel
import Synchronization
import Threads

/// The thread that writes.
final class Writer: Sendable {
  /// One save. May be called more than once: where a group fails, its saves run again one by one.
  /// The token stands in the result until the save's own is known.
  typealias Body = @Sendable (Connection, Token) throws(SaveError) -> SaveResult
  /// What belongs to a save once its token is known, in its transaction; an error refuses the save.
  typealias Finish = @Sendable (Connection, SaveResult) throws(StoreError) -> Void
  typealias Completion = @Sendable (Result<SaveResult, SaveError>) -> Void

  /// What was committed.
  enum Commit: Sendable, Hashable {
    /// Saves of this process, and perhaps of others before them.
    case saves(Token)
    /// Saves of other processes.
    case others(Token)
    /// Another epoch: history had a hole.
    case restarted(Token)
    /// The file is not what was opened.
    case outdated(OutdatedReason)
  }

  struct Job: Sendable {
    let body: Body
    var finish: Finish?
    var turn = WriterQueue.Turn()
    /// On the monotonic clock in nanoseconds.
    let arrival: UInt64
    let completion: Completion

    func refuse(_ error: StoreError) { completion(.failure(.store(error))) }
  }

  private struct Waiting {
    var jobs: WriterQueue
    var isAsleep = false
    var isClosing = false
    /// Whether no save is begun any more.
    var isEnding = false
    /// Whether others may have written.
    var isHinted = false
    /// Whether somebody wants to know when the file is not what was opened.
    var isWatched = false
    /// The positions up to which others have read, where they read on.
    var readers: [ObjectIdentifier: Int64] = [:]
  }

  /// Guards the saves that wait.
  private let waiting: Mutex<Waiting>
  /// Whether the save that runs is to be rolled back.
  private let isCancelling = Atomic(false)
  /// See ``WriterQueue/removeExpired(at:limit:)``.
  private let waitLimit: UInt64
  private let wakeUp = MonotonicSemaphore()
  private let drained = DispatchSemaphore(value: 0)
  private let mayEnd = DispatchSemaphore(value: 0)
  private let finished = DispatchSemaphore(value: 0)
  /// Guards the newest token that was committed.
  private let newest: Mutex<Token>
  /// Guards what was counted.
  private let counted = Mutex(WriterMetrics())

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - connection: of access `.write`; belongs to the thread from now on.
  ///   - watch: says whether the file is still what was opened; nil: nobody asks.
  ///   - onCommit: called on the thread after each commit, before the saves are answered.
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
      let upkeep = WriterMaintenance(
        connection: connection, history: history, settings: settings, watch: watch)
      let group = WriterGroup(
        connection: connection, history: history, files: watch?.files, token: token,
        duration: settings.groupDuration)
      work(group, upkeep, settings.pollInterval, onCommit)
    }
    guard isStarted else { throw .failed("no thread could be started") }
  }

  /// The newest token that was committed and noticed here.
  var newestToken: Token { newest.withLock { $0 } }

  /// What was counted so far.
  var figures: WriterMetrics { counted.withLock { $0 } }

  /// Queues a save. `completion` is called on the writer's thread, after the commit, or on any
  /// thread where the save is refused.
  func save(
    _ body: @escaping Body, finish: Finish? = nil, turn: WriterQueue.Turn = .init(),
    completion: @escaping Completion
  ) {
    let job = Job(
      body: body, finish: finish, turn: turn, arrival: monotonicNanoseconds(),
      completion: completion)
    let (refusals, isAsleep) = waiting.withLock { waiting in
      if waiting.isEnding { return ([Refusal(job, .shuttingDown)], false) }
      if waiting.isClosing { return ([Refusal(job, .busy)], false) }
      var refusals: [Refusal] = []
      switch waiting.jobs.append(job) {
      case .queued: break
      case .refused: refusals.append(Refusal(job, .overloaded))
      case .replaced(let other): refusals.append(Refusal(other, .overloaded))
      }
      defer { waiting.isAsleep = false }
      return (refusals, waiting.isAsleep)
    }
    if isAsleep { wakeUp.signal() }
    refuse(refusals)
  }

  private typealias Refusal = (job: Job, error: StoreError)

  private func refuse(_ refusals: [Refusal]) {
    guard !refusals.isEmpty else { return }
    counted.withLock { $0.refused += refusals.count }
    for (job, error) in refusals { job.refuse(error) }
  }

  /// How many saves wait.
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

  /// Calls `completion` once it is known whether a commit succeeds, on any thread, with its error.
  func probe(_ completion: @escaping WriteProbe.Completion) {
    writeProbe.run(on: self, completion)
  }

  /// What `reader` has still to read is not forgotten, as long as it makes progress.
  ///
  /// Whoever demands ``RetentionDemand/new`` before it begins to read finds everything that is
  /// committed after the state that it reads: what is being forgotten meanwhile is older.
  func demand(_ demand: RetentionDemand, of reader: ObjectIdentifier) {
    let position: Int64? =
      switch demand {
      case .nothing: nil
      case .new: newestToken.position
      case .after(let position): position
      }
    waiting.withLock { $0.readers[reader] = position }
  }

  /// Others may have written: look soon.
  func hint() {
    let isAsleep = waiting.withLock { waiting in
      waiting.isHinted = true
      defer { waiting.isAsleep = false }
      return waiting.isAsleep
    }
    if isAsleep { wakeUp.signal() }
  }

  /// From now on a file that is not what was opened is told as such; before, it is served on as far
  /// as that goes.
  func watchFile() { waiting.withLock { $0.isWatched = true } }

  /// Carries out what waits, then ends the thread and closes its connection. Later saves are
  /// refused.
  ///
  /// Whoever closes a file last puts its log away; that has to be the writer. So close the readers
  /// in `closeReaders`, which is called when the last save is answered.
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
  /// Milliseconds of waiting for another process after which its earlier commits are looked for.
  private static let patienceBetweenLooks: Int32 = 50

  private func work(
    _ group: consuming WriterGroup, _ upkeep: consuming WriterMaintenance, _ pollInterval: UInt64,
    _ onCommit: (Commit) -> Void
  ) {
    while let jobs = take() {
      // A save that ends the sleep is not to wait for the upkeep.
      if jobs.isEmpty, !sleep(nanoseconds: upkeep.isBusy ? 5_000_000 : pollInterval),
        let commit = upkeep.run(&group, takeNotice())
      {
        publish(commit, group.token, onCommit)
      }
      var rest = jobs[...]
      while !rest.isEmpty {
        let began = monotonicNanoseconds()
        let outcome = run(rest, &group, &upkeep, onCommit)
        counted.withLock { $0.count(outcome) }
        writeProbe.note(didCommit: outcome.commitNanoseconds > 0)
        if outcome.didCommit { publish(.saves(group.token), group.token, onCommit) }
        for (job, result) in zip(rest, outcome.results) {
          job.completion(result.mapError { cause(of: $0, job, began) })
        }
        rest = rest.dropFirst(outcome.results.count)
        rest = refuseEnded(rest)
        if let commit = upkeep.run(&group, takeNotice()) { publish(commit, group.token, onCommit) }
      }
      let (bytes, rows) = (upkeep.size.total, upkeep.size.rows)
      counted.withLock { $0.holds(historyBytes: bytes, rows: rows) }
    }
    drained.signal()
    mayEnd.wait()
    upkeep.finish()
    finished.signal()
  }

  /// Carries saves out. While another process holds the file, what was committed before is told.
  private func run(
    _ jobs: ArraySlice<Job>, _ group: inout WriterGroup, _ upkeep: inout WriterMaintenance,
    _ onCommit: (Commit) -> Void
  ) -> WriterGroup.Outcome {
    var patience = group.connection.busyTimeout
    group.connection.cancels { [self] in isCancelling.load(ordering: .relaxed) }
    defer { group.connection.cancels(nil) }
    while true {
      let share = min(patience, Self.patienceBetweenLooks)
      let outcome = group.run(jobs, patience: share)
      patience -= share
      guard outcome.isHeldUp, patience > 0, !isCancelling.load(ordering: .relaxed) else {
        return outcome
      }
      let commit = upkeep.lookForOthers(&group, takeNotice())
      if let commit { publish(commit, group.token, onCommit) }
    }
  }

  /// Saves that were taken and not begun are refused once the server ends.
  private func refuseEnded(_ jobs: ArraySlice<Job>) -> ArraySlice<Job> {
    guard !jobs.isEmpty, waiting.withLock({ $0.isEnding }) else { return jobs }
    refuse(jobs.map { Refusal($0, .shuttingDown) })
    return []
  }

  /// Why a save that ran out of time was refused: it was cancelled, it waited for longer than it
  /// ran, or it takes too long.
  private func cause(of error: SaveError, _ job: Job, _ began: UInt64) -> SaveError {
    guard error == .store(.queryTimeout) else { return error }
    if isCancelling.load(ordering: .relaxed) { return .store(.shuttingDown) }
    return began &- job.arrival > waitLimit / 2 ? .store(.overloaded) : error
  }

  private func takeNotice() -> WriterMaintenance.Notice {
    waiting.withLock { waiting in
      defer { waiting.isHinted = false }
      return WriterMaintenance.Notice(
        isHinted: waiting.isHinted, isWatched: waiting.isWatched,
        unread: waiting.readers.values.min())
    }
  }

  /// The saves that are made next, none if none wait; nil when there will be no more. Refuses those
  /// that have waited for too long.
  private func take() -> [Job]? {
    let (jobs, expired): ([Job]?, [Job]) = waiting.withLock { waiting in
      let now = monotonicNanoseconds()
      let expired = waiting.jobs.removeExpired(at: now, limit: waitLimit)
      if waiting.jobs.isEmpty {
        waiting.isAsleep = !waiting.isClosing && !waiting.isHinted
        return (waiting.isClosing ? nil : [], expired)
      }
      return (waiting.jobs.takeGroup(), expired)
    }
    refuse(expired.map { Refusal($0, .overloaded) })
    return jobs
  }

  /// Whether a save came before the time was over.
  private func sleep(nanoseconds: UInt64) -> Bool {
    let (isAsleep, isHinted) = waiting.withLock { ($0.isAsleep, $0.isHinted) }
    if isHinted { return false }
    guard isAsleep else { return true }
    defer { waiting.withLock { $0.isAsleep = false } }
    return wakeUp.wait(nanoseconds: nanoseconds)
  }

  private func publish(_ commit: Commit, _ token: Token, _ onCommit: (Commit) -> Void) {
    newest.withLock { $0 = token }
    counted.withLock { $0.count(commit) }
    onCommit(commit)
  }
}
