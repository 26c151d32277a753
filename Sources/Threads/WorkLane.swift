// Where work goes that others are not to wait for: closures enter, a few threads run them in order.

import DequeModule
import Synchronization

/// A few threads and a bounded queue of work. Threads are begun as they are needed, and end with
/// ``close()``.
package final class WorkLane: Sendable {
  private struct State {
    var queue: Deque<@Sendable () -> Void> = []
    /// Threads that sleep and were not woken yet.
    var idle = 0
    var threads = 0
    var isClosed = false
  }

  // Guards the queue; held for moments only, never while work runs.
  private let state = Mutex(State())
  private let ready = TimedSignal()
  private let name: String
  private let maxThreads: Int
  private let maxQueue: Int

  /// - Parameters:
  ///   - name: what the system's tools show of its threads.
  ///   - threads: how many there are at the most; one at least.
  ///   - queue: how much may wait while all of them are busy.
  package init(name: String = "livefetch", threads: Int, queue: Int) {
    self.name = name
    maxThreads = max(1, threads)
    maxQueue = queue
  }

  /// How much waits for a thread.
  package var waiting: Int { state.withLock { $0.queue.count } }

  /// How much runs.
  package var running: Int { state.withLock { $0.threads - $0.idle } }

  /// Takes `work` to be run on one of its threads; false if too much waits already, or it is closed.
  package func run(_ work: @escaping @Sendable () -> Void) -> Bool {
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
    switch outcome {
    case .refused: return false
    case .queued: break
    case .wakesThread: ready.signal()
    case .needsThread: return start()
    }
    return true
  }

  /// Where the system has no thread left, those that run do the work, and the next work asks for one
  /// again; where none runs, the work is not taken.
  private func start() -> Bool {
    if startThread(name: name, { [self] in serve() }) { return true }
    return state.withLock { state in
      state.threads -= 1
      guard state.threads == 0, !state.queue.isEmpty else { return true }
      state.queue.removeLast()
      return false
    }
  }

  /// Closes a lane of one thread, and returns when it has done what it took before.
  package func finish() {
    let done = TimedSignal()
    if run({ done.signal() }) { done.wait() }
    close()
  }

  /// Ends the threads once their queue is empty.
  package func close() {
    let sleepers = state.withLock { state in
      state.isClosed = true
      defer { state.idle = 0 }
      return state.idle
    }
    for _ in 0..<sleepers { ready.signal() }
  }

  private func serve() {
    enum Step {
      case work(@Sendable () -> Void)
      case sleep, end
    }
    while true {
      let step: Step = state.withLock { state in
        if let work = state.queue.popFirst() { return .work(work) }
        if state.isClosed {
          state.threads -= 1
          return .end
        }
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
