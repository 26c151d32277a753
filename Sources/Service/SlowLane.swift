// Where queries run that are too slow for the threads that serve connections.

import Synchronization

/// A few threads and a bounded queue of work.
final class SlowLane: Sendable {
  private struct State {
    var queue: [@Sendable () -> Void] = []
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
    enum Outcome { case refused, queued, needsThread }
    let outcome: Outcome = state.withLock { state in
      guard !state.isClosed, state.queue.count < maxQueue else { return .refused }
      state.queue.append(work)
      guard state.idle < state.queue.count, state.threads < maxThreads else { return .queued }
      state.threads += 1
      return .needsThread
    }
    if outcome == .needsThread { startThread { [self] in serve() } }
    if outcome == .queued { ready.raise() }
    return outcome != .refused
  }

  /// Ends the threads once their queue is empty.
  func close() {
    state.withLock { $0.isClosed = true }
    for _ in 0..<maxThreads { ready.raise() }
  }

  private func serve() {
    while true {
      let next = state.withLock { state -> (@Sendable () -> Void)? in
        state.queue.isEmpty ? nil : state.queue.removeFirst()
      }
      if let next {
        next()
      } else if state.withLock({ $0.isClosed }) {
        return
      } else {
        state.withLock { $0.idle += 1 }
        ready.wait()
        state.withLock { $0.idle -= 1 }
      }
    }
  }
}
