// Closures of many callers → a few background threads that run them, in an order that is fair
// between the callers. A pool may leave some of its threads to other callers than the one that has
// most work.

import Synchronization

/// A few threads and a bounded queue of work. Threads start when they are needed, and end with
/// ``close()``.
package final class ThreadPool: Sendable {
  /// The reason why work was not run.
  package enum Refusal: Sendable {
    /// The queue is full.
    case full
    /// It waited until its deadline.
    case expired
    /// The pool is closed.
    case closed
  }

  private struct Work: Sendable {
    let caller: String
    /// The end of the wait, on the monotonic clock.
    let deadline: ContinuousClock.Instant?
    /// Called if the work is refused later; nil for work that is not refused once it is queued.
    let refused: (@Sendable (Refusal) -> Void)?
    let run: @Sendable () -> Void

    func refuse(_ refusal: Refusal) {
      if let refused { refused(refusal) } else { run() }
    }

    func isExpired(at now: ContinuousClock.Instant) -> Bool { deadline.map { $0 <= now } ?? false }
  }

  private struct State {
    var queue: FairQueue<Work>
    /// Threads that sleep and have not been woken yet.
    var idle = 0
    var threads = 0
    /// The number of threads that run work of each caller.
    var running: [String: Int] = [:]
    var isClosed = false

    /// Removes the next work of a caller that uses fewer than `limit` threads.
    mutating func next(limit: Int) -> Work? {
      guard let work = queue.popFirst(where: { running[$0, default: 0] < limit }) else {
        return nil
      }
      running[work.caller, default: 0] += 1
      return work
    }

    mutating func end(_ work: Work) {
      running[work.caller, default: 1] -= 1
      if running[work.caller] == 0 { running[work.caller] = nil }
    }
  }

  // Protects the queue; never held while work runs.
  private let state: Mutex<State>
  private let ready = MonotonicSemaphore()
  private let name: String
  private let maxThreads: Int
  private let maxThreadsPerCaller: Int
  private let isInBackground: Bool

  /// - Parameters:
  ///   - name: the name of its threads in system tools.
  ///   - threads: the most threads; at least one.
  ///   - leftToOthers: how many of them one caller leaves to others; it may use one in any case.
  ///   - queue: the most closures that may wait while all threads are busy.
  ///   - isInBackground: true if the work takes long, so that other threads go first where there are
  ///     not enough processors.
  package init(
    name: String = "livefetch", threads: Int, leftToOthers: Int = 0, queue: Int,
    isInBackground: Bool = false
  ) {
    self.name = name
    self.isInBackground = isInBackground
    if isInBackground { ThreadStarter.prepare() }
    maxThreads = max(1, threads)
    maxThreadsPerCaller = max(1, maxThreads - leftToOthers)
    state = Mutex(State(queue: FairQueue(capacity: queue)))
  }

  /// The number of closures that wait for a thread.
  package var waiting: Int { state.withLock { $0.queue.count } }

  /// The number of threads that are not idle.
  package var running: Int { state.withLock { $0.threads - $0.idle } }

  /// Queues `work` for one of the threads, in the order of arrival. Returns false if the queue is
  /// full or the pool is closed.
  package func run(_ work: @escaping @Sendable () -> Void) -> Bool {
    enqueue(Work(caller: "", deadline: nil, refused: nil, run: work), for: QueueKey()) == nil
  }

  /// Queues `work` for one of the threads, in its caller's turn. Exactly one of `work` and
  /// `refused` is called, once; `refused` perhaps on this thread.
  ///
  /// - Parameter deadline: the end of its wait; see ``refuseExpired()``.
  package func run(
    for key: QueueKey, until deadline: ContinuousClock.Instant?,
    refused: @escaping @Sendable (Refusal) -> Void, _ work: @escaping @Sendable () -> Void
  ) {
    let work = Work(caller: key.caller, deadline: deadline, refused: refused, run: work)
    if let refusal = enqueue(work, for: key) { refused(refusal) }
  }

  private func enqueue(_ work: Work, for key: QueueKey) -> Refusal? {
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
      // Busy threads check the queue before they sleep.
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

  /// Starts a thread. If the system has none left, the running threads do the work, and the next
  /// work tries to start one again. If no thread runs, the waiting work is refused; work that
  /// cannot be refused runs here.
  private func start() {
    let isStarted = startThread(name: name, isInBackground: isInBackground) { [self] in serve() }
    if isStarted { return }
    let unstarted: [Work] = state.withLock { state in
      state.threads -= 1
      return state.threads == 0 ? state.queue.removeAll() : []
    }
    for work in unstarted { work.refuse(.full) }
  }

  /// Refuses work whose deadline has passed. The owner calls this when a deadline passes.
  package func refuseExpired() {
    let now = ContinuousClock.now
    let expired = state.withLock { $0.queue.removeFirst { $0.isExpired(at: now) } }
    for work in expired { work.refuse(.expired) }
  }

  /// Waits until a pool of one thread has completed the work queued before, at most this long, then
  /// closes it.
  package func finish(seconds: Double = .infinity) {
    let done = MonotonicSemaphore()
    if run({ done.signal() }) { _ = done.wait(seconds: seconds) }
    close()
  }

  /// Accepts no more work, and ends the threads once the queue is empty.
  ///
  /// - Parameter refusesWaiting: true to refuse waiting work instead of running it.
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
    var done: Work?
    while true {
      let step: Step = state.withLock { state in
        if let done { state.end(done) }
        if let work = state.next(limit: maxThreadsPerCaller) { return .work(work) }
        if state.isClosed {
          state.threads -= 1
          return .end
        }
        state.idle += 1
        return .sleep
      }
      done = nil
      switch step {
      case .work(let work):
        work.isExpired(at: .now) ? work.refuse(.expired) : work.run()
        done = work
      case .sleep: ready.wait()
      case .end: return
      }
    }
  }
}
