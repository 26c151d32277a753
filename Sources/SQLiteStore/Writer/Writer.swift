// Saves of many threads → groups, one transaction each, in the order in which they came.
//
// One thread owns the only connection of this process that writes or checkpoints. It takes whatever
// saves wait, runs each in a savepoint, commits once, publishes the newest token, and then answers
// them all. Between groups it looks after the file: commits of other processes, checkpoints, the
// history's length.

import Dispatch
import FetchModel
import Synchronization

/// The thread that writes.
final class Writer: Sendable {
  /// One save. May be called more than once: where a group fails, its saves run again one by one.
  /// The token stands in the result until the save's own is known.
  typealias Body = @Sendable (Connection, Token) throws(SaveError) -> SaveResult
  typealias Completion = @Sendable (Result<SaveResult, SaveError>) -> Void

  /// What was committed.
  enum Commit: Sendable, Hashable {
    /// Saves of this process, and perhaps of others before them.
    case saves(Token)
    /// Saves of other processes.
    case others(Token)
    /// Another epoch: history had a hole.
    case restarted(Token)
  }

  struct Job: Sendable {
    let body: Body
    let completion: Completion
  }

  private struct Waiting {
    var jobs: [Job] = []
    var isAsleep = false
    var isClosing = false
  }

  /// Guards the saves that wait.
  private let waiting = Mutex(Waiting())
  private let wakeUp = DispatchSemaphore(value: 0)
  private let drained = DispatchSemaphore(value: 0)
  private let mayEnd = DispatchSemaphore(value: 0)
  private let finished = DispatchSemaphore(value: 0)
  /// Guards the newest token that was committed.
  private let newest: Mutex<Token>

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - connection: of access `.write`; belongs to the thread from now on.
  ///   - onCommit: called on the thread after each commit, before the saves are answered.
  init(
    connection: Connection, history: History, settings: WriterSettings = WriterSettings(),
    onCommit: @escaping @Sendable (Commit) -> Void
  ) throws(StoreError) {
    let token = try history.newestToken(on: connection)
    newest = Mutex(token)
    let isStarted = startThread { [self] in
      let upkeep = WriterUpkeep(connection: connection, history: history, settings: settings)
      let group = WriterGroup(
        connection: connection, history: history, token: token, duration: settings.groupDuration)
      work(group, upkeep, settings.pollInterval, onCommit)
    }
    guard isStarted else { throw .failed("no thread could be started") }
  }

  /// The newest token that was committed and noticed here.
  var newestToken: Token { newest.withLock { $0 } }

  /// Queues a save. `completion` is called on the writer's thread, after the commit.
  func save(_ body: @escaping Body, completion: @escaping Completion) {
    let job = Job(body: body, completion: completion)
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
  private func work(
    _ group: consuming WriterGroup, _ upkeep: consuming WriterUpkeep, _ pollInterval: UInt64,
    _ onCommit: (Commit) -> Void
  ) {
    while let jobs = take() {
      // A save that ends the sleep is not to wait for the upkeep.
      if jobs.isEmpty, !sleep(nanoseconds: pollInterval), let commit = upkeep.run(&group) {
        publish(commit, group.token, onCommit)
      }
      var rest = jobs[...]
      while !rest.isEmpty {
        let outcome = group.run(rest)
        if outcome.didCommit { publish(.saves(group.token), group.token, onCommit) }
        for (job, result) in zip(rest, outcome.results) { job.completion(result) }
        rest = rest.dropFirst(outcome.results.count)
        if let commit = upkeep.run(&group) { publish(commit, group.token, onCommit) }
      }
    }
    drained.signal()
    mayEnd.wait()
    upkeep.finish()
    finished.signal()
  }

  /// The saves that wait, none if there are none; nil when there will be no more.
  private func take() -> [Job]? {
    waiting.withLock { waiting in
      if waiting.jobs.isEmpty {
        waiting.isAsleep = !waiting.isClosing
        return waiting.isClosing ? nil : []
      }
      defer { waiting.jobs = [] }
      return waiting.jobs
    }
  }

  /// Whether it was woken before the time was over.
  private func sleep(nanoseconds: UInt64) -> Bool {
    let outcome = wakeUp.wait(timeout: .now() + .nanoseconds(Int(nanoseconds)))
    waiting.withLock { $0.isAsleep = false }
    return outcome == .success
  }

  private func publish(_ commit: Commit, _ token: Token, _ onCommit: (Commit) -> Void) {
    newest.withLock { $0 = token }
    onCommit(commit)
  }
}
