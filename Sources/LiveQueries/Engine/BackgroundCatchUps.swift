// Catch-ups that take too long for the engine's thread: jobs enter, finished ones are added to the
// command queue.

import FetchModel
import LiveFetchThreads

/// The threads that run catch-ups. One caller leaves one of them to others.
struct BackgroundCatchUps: Sendable {
  let store: any LiveStore
  let commandQueue: CommandQueue
  private let pool = ThreadPool(
    name: "livefetch-resume", threads: 3, leftToOthers: 1, queue: 1_000, isInBackground: true)

  init(_ store: any LiveStore, _ commandQueue: CommandQueue) {
    self.store = store
    self.commandQueue = commandQueue
  }

  /// Jobs with the same caller and token run in one turn.
  private struct Turn: Hashable {
    let caller: String
    let start: Token
  }

  /// Runs jobs in their callers' turns, those of one caller that start from the same token together.
  func run(_ jobs: [CatchUpJob]) {
    let together = Dictionary(grouping: jobs) { Turn(caller: $0.caller, start: $0.key.from) }
    for (turn, jobs) in together { run(jobs[...], for: turn.caller) }
  }

  private func run(_ jobs: ArraySlice<CatchUpJob>, for caller: String) {
    guard !jobs.isEmpty else { return }
    // An engine that ends answers the clients of its catch-ups itself.
    let report = { @Sendable [commandQueue] (finished: [FinishedCatchUp]) in
      if !commandQueue.isEnding { commandQueue.update { $0.finished += finished } }
    }
    pool.run(for: QueueKey(caller: caller), until: nil) { _ in
      report(jobs.map { $0.failed(.busy) })
    } _: { [self] in
      let isEnding = { @Sendable [commandQueue] in commandQueue.isEnding }
      let rest = CatchUpJob.run(jobs, store, cancelledWhen: isEnding, report: report)
      run(rest, for: caller)
    }
  }

  func close() { pool.close() }
}
