// Saves of many threads → groups, one transaction each, in the order in which they came.
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
    let completion: Completion
  }

  private struct Waiting {
    var jobs: [Job] = []
    var isAsleep = false
    var isClosing = false
    /// Whether others may have written.
    var isHinted = false
    /// Whether somebody wants to know when the file is not what was opened.
    var isWatched = false
    /// The positions up to which others have read, where they read on.
    var readers: [ObjectIdentifier: Int64] = [:]
  }

  /// Guards the saves that wait.
  private let waiting = Mutex(Waiting())
  private let wakeUp = TimedSignal()
  private let drained = DispatchSemaphore(value: 0)
  private let mayEnd = DispatchSemaphore(value: 0)
  private let finished = DispatchSemaphore(value: 0)
  /// Guards the newest token that was committed.
  private let newest: Mutex<Token>
  /// Guards what was counted.
  private let counted = Mutex(WriterFigures())

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - connection: of access `.write`; belongs to the thread from now on.
  ///   - watch: says whether the file is still what was opened; nil: nobody asks.
  ///   - onCommit: called on the thread after each commit, before the saves are answered.
  init(
    connection: Connection, history: History, settings: WriterSettings = WriterSettings(),
    watch: FileWatch? = nil,
    onCommit: @escaping @Sendable (Commit) -> Void
  ) throws(StoreError) {
    let token = try history.newestToken(on: connection)
    newest = Mutex(token)
    let isStarted = startThread { [self] in
      let upkeep = WriterUpkeep(
        connection: connection, history: history, settings: settings, watch: watch)
      let group = WriterGroup(
        connection: connection, history: history, token: token, duration: settings.groupDuration)
      work(group, upkeep, settings.pollInterval, onCommit)
    }
    guard isStarted else { throw .failed("no thread could be started") }
  }

  /// The newest token that was committed and noticed here.
  var newestToken: Token { newest.withLock { $0 } }

  /// What was counted so far.
  var figures: WriterFigures { counted.withLock { $0 } }

  /// Queues a save. `completion` is called on the writer's thread, after the commit.
  func save(
    _ body: @escaping Body, finish: Finish? = nil, completion: @escaping Completion
  ) {
    let job = Job(body: body, finish: finish, completion: completion)
    let (isClosing, isAsleep) = waiting.withLock { waiting in
      if !waiting.isClosing { waiting.jobs.append(job) }
      defer { waiting.isAsleep = false }
      return (waiting.isClosing, waiting.isAsleep)
    }
    if isClosing {
      completion(.failure(.store(.busy)))
    } else if isAsleep {
      wakeUp.signal()
    }
  }

  /// What `reader` has still to read is not forgotten, as long as it makes progress.
  ///
  /// Whoever demands ``HistoryDemand/new`` before it begins to read finds everything that is committed
  /// after the state that it reads: what is being forgotten meanwhile is older.
  func demand(_ demand: HistoryDemand, of reader: ObjectIdentifier) {
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
    _ group: consuming WriterGroup, _ upkeep: consuming WriterUpkeep, _ pollInterval: UInt64,
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
        let outcome = run(rest, &group, &upkeep, onCommit)
        counted.withLock { $0.count(outcome) }
        if outcome.didCommit { publish(.saves(group.token), group.token, onCommit) }
        for (job, result) in zip(rest, outcome.results) { job.completion(result) }
        rest = rest.dropFirst(outcome.results.count)
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
    _ jobs: ArraySlice<Job>, _ group: inout WriterGroup, _ upkeep: inout WriterUpkeep,
    _ onCommit: (Commit) -> Void
  ) -> WriterGroup.Outcome {
    var patience = group.connection.busyTimeout
    while true {
      let share = min(patience, Self.patienceBetweenLooks)
      let outcome = group.run(jobs, patience: share)
      patience -= share
      guard outcome.isHeldUp, patience > 0 else { return outcome }
      let commit = upkeep.lookForOthers(&group, takeNotice())
      if let commit { publish(commit, group.token, onCommit) }
    }
  }

  private func takeNotice() -> WriterUpkeep.Notice {
    waiting.withLock { waiting in
      defer { waiting.isHinted = false }
      return WriterUpkeep.Notice(
        isHinted: waiting.isHinted, isWatched: waiting.isWatched,
        unread: waiting.readers.values.min())
    }
  }

  /// The saves that wait, none if there are none; nil when there will be no more.
  private func take() -> [Job]? {
    waiting.withLock { waiting in
      if waiting.jobs.isEmpty {
        waiting.isAsleep = !waiting.isClosing && !waiting.isHinted
        return waiting.isClosing ? nil : []
      }
      defer { waiting.jobs = [] }
      return waiting.jobs
    }
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
