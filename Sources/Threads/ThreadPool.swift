// Where work goes that others are not to wait for: closures enter, a few threads run them, in an
// order that is fair between the callers that they are for.

import Synchronization

/// A few threads and a bounded queue of work. Threads are begun as they are needed, and end with
/// ``close()``.
package final class ThreadPool: Sendable {
  /// Why work was not run.
  package enum Refusal: Sendable {
    /// Too much waits already.
    case full
    /// It waited until its deadline.
    case expired
    /// The lane takes no more work.
    case closed
  }

  private struct Work: Sendable {
    /// On the monotonic clock.
    let deadline: ContinuousClock.Instant?
    /// nil for work that is not refused once it was taken.
    let refused: (@Sendable (Refusal) -> Void)?
    let run: @Sendable () -> Void

    func refuse(_ refusal: Refusal) {
      if let refused { refused(refusal) } else { run() }
    }

    func isExpired(at now: ContinuousClock.Instant) -> Bool { deadline.map { $0 <= now } ?? false }
  }

  private struct State {
    var queue: FairQueue<Work>
    /// Threads that sleep and were not woken yet.
    var idle = 0
    var threads = 0
    var isClosed = false
  }

  // Guards the queue; never held while work runs.
  private let state: Mutex<State>
  private let ready = MonotonicSemaphore()
  private let name: String
  private let maxThreads: Int

  /// - Parameters:
  ///   - name: what the system's tools show of its threads.
  ///   - threads: how many there are at the most; one at least.
  ///   - queue: how much may wait while all of them are busy.
  package init(name: String = "livefetch", threads: Int, queue: Int) {
    self.name = name
    maxThreads = max(1, threads)
    state = Mutex(State(queue: FairQueue(capacity: queue)))
  }

  /// How much waits for a thread.
  package var waiting: Int { state.withLock { $0.queue.count } }

  /// How much runs.
  package var running: Int { state.withLock { $0.threads - $0.idle } }

  /// Takes `work` to be run on one of its threads, in the order in which it came; false if too much
  /// waits already, or it is closed.
  package func run(_ work: @escaping @Sendable () -> Void) -> Bool {
    take(Work(deadline: nil, refused: nil, run: work), for: QueueKey()) == nil
  }

  /// Takes `work` to be run on one of its threads when it is its caller's turn. Either `work` or
  /// `refused` is called, once; `refused` perhaps on this thread.
  ///
  /// - Parameter deadline: until when it may wait; see ``refuseExpired()``.
  package func run(
    for key: QueueKey, until deadline: ContinuousClock.Instant?,
    refused: @escaping @Sendable (Refusal) -> Void, _ work: @escaping @Sendable () -> Void
  ) {
    if let refusal = take(Work(deadline: deadline, refused: refused, run: work), for: key) {
      refused(refusal)
    }
  }

  private func take(_ work: Work, for key: QueueKey) -> Refusal? {
    enum Outcome {
      case refused(Refusal)
      case queued, wakesThread, needsThread
    }
    var displaced: Work?
    let outcome: Outcome = state.withLock { state in
      guard !state.isClosed else { return .refused(.closed) }
      switch state.queue.append(work, for: key) {
      case .refused: return .refused(.full)
      case .replaced(let other): displaced = other
      case .queued: break
      }
      if state.idle > 0 {
        state.idle -= 1
        return .wakesThread
      }
      // Threads that are busy look at the queue before they sleep.
      guard state.threads < maxThreads else { return .queued }
      state.threads += 1
      return .needsThread
    }
    displaced?.refuse(.full)
    switch outcome {
    case .refused(let refusal): return refusal
    case .queued: break
    case .wakesThread: ready.signal()
    case .needsThread: start()
    }
    return nil
  }

  /// Where the system has no thread left, those that run do the work, and the next work starts one
  /// again; where none runs, what waits is refused, or done here.
  private func start() {
    if startThread(name: name, { [self] in serve() }) { return }
    let stranded: [Work] = state.withLock { state in
      state.threads -= 1
      return state.threads == 0 ? state.queue.removeAll() : []
    }
    for work in stranded { work.refuse(.full) }
  }

  /// Refuses what has waited until its deadline. Its owner calls this when a deadline has come.
  package func refuseExpired() {
    let now = ContinuousClock.now
    let expired = state.withLock { $0.queue.removeFirst { $0.isExpired(at: now) } }
    for work in expired { work.refuse(.expired) }
  }

  /// Closes a lane of one thread, and returns when it has done what it took before.
  package func finish() {
    let done = MonotonicSemaphore()
    if run({ done.signal() }) { done.wait() }
    close()
  }

  /// Takes no more work, and ends the threads once their queue is empty.
  ///
  /// - Parameter refusesWaiting: whether what waits is refused instead of being done.
  package func close(refusesWaiting: Bool = false) {
    let (sleepers, refused) = state.withLock { state in
      state.isClosed = true
      defer { state.idle = 0 }
      return (state.idle, refusesWaiting ? state.queue.removeAll() : [])
    }
    for _ in 0..<sleepers { ready.signal() }
    for work in refused { work.refuse(.closed) }
  }

  private func serve() {
    enum Step {
      case work(Work)
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
      case .work(let work): work.isExpired(at: .now) ? work.refuse(.expired) : work.run()
      case .sleep: ready.wait()
      case .end: return
      }
    }
  }
}
