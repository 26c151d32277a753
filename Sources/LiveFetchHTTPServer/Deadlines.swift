// Timers for the end of a long poll and the heartbeat of a stream.
//
// Each closure runs once at its time, on one thread, in the order of the times, unless it is
// cancelled. Scheduling is O(log n). Cancelling is O(1) and releases the closure at once.

import CMicrohttpd
import Glibc
import LiveFetchThreads

/// A thread that runs closures at given times. The closures must be short.
public final class Deadlines: Sendable {
  private struct Plan {
    var heap = DeadlineHeap()
    var isStopped = false
  }

  /// Protects the heap and the timer's setting.
  private let plan = SanitizedMutex(Plan())
  private let timer: Int32
  private let thread = SanitizedMutex<JoinableThread?>(nil)

  /// Starts the thread.
  public init() throws(HTTPServerError) {
    timer = timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC))
    guard timer >= 0 else { throw .cannotStart }
    guard let started = launch() else { throw .cannotStart }
    thread.withLock { $0 = started }
  }

  deinit {
    stop()
    close(timer)
  }

  /// The current time of the deadlines' clock, in nanoseconds.
  public static var now: UInt64 { monotonicNanoseconds() }

  /// Runs `body` once after this many seconds; never after ``stop()``. O(log n).
  @discardableResult
  public func schedule(
    after seconds: Double, _ body: @escaping @Sendable () -> Void
  ) -> Deadline {
    let nanoseconds = UInt64(min(max(seconds, 0), 1e9) * 1e9)
    return schedule(at: Self.now &+ nanoseconds, body)
  }

  /// Runs `body` once at a time of ``now``'s clock; soon if that has passed.
  @discardableResult
  public func schedule(at time: UInt64, _ body: @escaping @Sendable () -> Void) -> Deadline {
    let deadline = Deadline(body)
    plan.withLock { plan in
      guard !plan.isStopped else { return }
      if plan.heap.insert(deadline, at: time) { setTimer(time) }
    }
    return deadline
  }

  /// The number of scheduled closures, including cancelled ones that were not removed yet.
  public var count: Int {
    plan.withLock { $0.heap.count }
  }

  /// Ends the thread; pending closures never run. May be called from a closure.
  public func stop() {
    let released = plan.withLock { plan in
      defer { plan.heap = DeadlineHeap() }
      plan.isStopped = true
      setTimer(1)
      return plan.heap
    }
    _ = released
    let running = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    guard let running else { return }
    running.isCurrent ? running.detach() : running.join()
  }

  private func setTimer(_ time: UInt64) {
    // A time of zero would disarm the timer.
    let time = max(time, 1)
    var setting = itimerspec()
    setting.it_value.tv_sec = Int(truncatingIfNeeded: time / 1_000_000_000)
    setting.it_value.tv_nsec = Int(truncatingIfNeeded: time % 1_000_000_000)
    timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &setting, nil)
  }

  /// Starts the thread, which holds only a weak reference between closures, so that releasing the
  /// owner ends it.
  private func launch() -> JoinableThread? {
    let timer = dup(timer)
    guard timer >= 0 else { return nil }
    let started = JoinableThread("deadlines") { [weak self] in
      defer { close(timer) }
      var ticks: UInt64 = 0
      repeat {
        read(timer, &ticks, 8)
      } while self?.runDue() ?? false
    }
    if started == nil { close(timer) }
    return started
  }

  /// Runs the closures that are due. Returns false once stopped.
  private func runDue() -> Bool {
    while true {
      let (due, isStopped): ([Deadline], Bool) = plan.withLock { plan in
        guard !plan.isStopped else { return ([], true) }
        let due = plan.heap.removeDue(Self.now)
        if due.isEmpty, let next = plan.heap.first { setTimer(next) }
        return (due, false)
      }
      if isStopped { return false }
      if due.isEmpty { return true }
      for deadline in due { deadline.run() }
    }
  }
}

/// A scheduled closure.
public final class Deadline: Sendable {
  /// Protects the closure, which runs at most once.
  private let body: SanitizedMutex<(@Sendable () -> Void)?>

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = SanitizedMutex(body)
  }

  /// Releases the closure. Returns true if it had not run and never will.
  @discardableResult
  public func cancel() -> Bool {
    take() != nil
  }

  var isSpent: Bool {
    body.withLock { $0 == nil }
  }

  func run() {
    take()?()
  }

  private func take() -> (@Sendable () -> Void)? {
    body.withLock { body in
      defer { body = nil }
      return body
    }
  }
}
