// Where queries run that are too slow for the threads that serve connections.

import Synchronization

/// A few threads and a bounded queue of work.
final class SlowLane: Sendable {
  private struct State {
    var queue: [@Sendable () -> Void] = []
    /// Threads that sleep and were not woken yet.
    var idle = 0
    var threads = 0
    var isClosed = false
  }

  // Guards the queue; held for moments only, never while work runs.
  private let state = Mutex(State())
  private let ready = Signal()
  private let maxThreads: Int
  private let maxQueue: Int

  init(threads: Int, queue: Int) {
    maxThreads = max(1, threads)
    maxQueue = queue
  }

  /// How much waits for a thread.
  var waiting: Int { state.withLock { $0.queue.count } }

  /// How much runs.
  var running: Int { state.withLock { $0.threads - $0.idle } }

  /// Takes `work` to be run on a thread of its own kind; false if too much waits already.
  func run(_ work: @escaping @Sendable () -> Void) -> Bool {
    enum Outcome { case refused, queued, wakesThread, needsThread }
    let outcome: Outcome = state.withLock { state in
      guard !state.isClosed, state.queue.count < maxQueue else { return .refused }
      state.queue.append(work)
      if state.idle > 0 {
        state.idle -= 1
        return .wakesThread
      }
      // Threads that are busy look at the queue before they sleep.
      guard state.threads < maxThreads else { return .queued }
      state.threads += 1
      return .needsThread
    }
    if outcome == .needsThread { startThread { [self] in serve() } }
    if outcome == .wakesThread { ready.raise() }
    return outcome != .refused
  }

  /// Ends the threads once their queue is empty.
  func close() {
    let sleepers = state.withLock { state in
      state.isClosed = true
      defer { state.idle = 0 }
      return state.idle
    }
    for _ in 0..<sleepers { ready.raise() }
  }

  private func serve() {
    enum Step {
      case work(@Sendable () -> Void)
      case sleep, end
    }
    while true {
      let step: Step = state.withLock { state in
        if !state.queue.isEmpty { return .work(state.queue.removeFirst()) }
        if state.isClosed { return .end }
        state.idle += 1
        return .sleep
      }
      switch step {
      case .work(let work): work()
      case .sleep: ready.wait()
      case .end: return
      }
    }
  }
}
