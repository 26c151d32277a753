// Timers for the end of a long poll and the heartbeat of a stream.
//
// Each closure runs once at its time, on one thread, in the order of the times, unless it is
// cancelled. Scheduling is O(log n). Cancelling is O(1) and releases the closure at once.

import CMicrohttpd
import Glibc
import LiveFetchThreads

/// A thread that runs closures at given times. The closures must be short: they delay each other.
public final class Deadlines: Sendable {
  private struct State {
    var heap = DeadlineHeap()
    var isStopped = false
  }

  /// Protects the heap and the timer's setting.
  private let state = SanitizedMutex(State())
  /// The descriptor of the timerfd. It expires at the time of the first deadline.
  private let timer: Int32
  /// Protects the thread, which is nil after ``stop()``.
  private let thread = SanitizedMutex<JoinableThread?>(nil)

  /// Starts the thread.
  ///
  /// - Throws: ``HTTPServerError/cannotStart`` without a descriptor or a thread.
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

  /// Runs `body` once after `seconds`, from 0 to 10⁹; never after ``stop()``. O(log n).
  @discardableResult
  public func schedule(
    after seconds: Double, _ body: @escaping @Sendable () -> Void
  ) -> Deadline {
    let nanoseconds = UInt64(min(max(seconds, 0), 1e9) * 1e9)
    return schedule(at: Self.now &+ nanoseconds, body)
  }

  /// Runs `body` once at `time`, in nanoseconds of the clock of ``now``; soon if the time has passed. Never
  /// runs it after ``stop()``. O(log n).
  @discardableResult
  public func schedule(at time: UInt64, _ body: @escaping @Sendable () -> Void) -> Deadline {
    let deadline = Deadline(body)
    state.withLock { state in
      guard !state.isStopped else { return }
      if state.heap.insert(deadline, at: time) { setTimer(time) }
    }
    return deadline
  }

  /// The number of scheduled closures, including cancelled ones that were not removed yet.
  public var count: Int {
    state.withLock { $0.heap.count }
  }

  /// Ends the thread; pending closures never run. May be called from a closure.
  public func stop() {
    // Releases the closures after the lock: an object that one of them holds may use this one in its deinit.
    _ = state.withLock { state in
      defer { state.heap = DeadlineHeap() }
      state.isStopped = true
      setTimer(1)
      return state.heap
    }
    let running = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    guard let running else { return }
    running.isCurrent ? running.detach() : running.join()
  }

  /// Lets the timer expire at `time`, in nanoseconds. Call this while holding the lock of `state`.
  private func setTimer(_ time: UInt64) {
    // A time of zero would disarm the timer.
    let time = max(time, 1)
    var setting = itimerspec()
    setting.it_value.tv_sec = Int(truncatingIfNeeded: time / 1_000_000_000)
    setting.it_value.tv_nsec = Int(truncatingIfNeeded: time % 1_000_000_000)
    timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &setting, nil)
  }

  /// Starts the thread. While it waits, it holds only a weak reference, so that it does not keep this object
  /// alive. It has a descriptor of its own, because this object closes its own one when it is released.
  private func launch() -> JoinableThread? {
    let timer = fcntl(timer, F_DUPFD_CLOEXEC, 0)
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

  /// Runs the closures that are due, and sets the timer for the next one. Returns false once stopped.
  private func runDue() -> Bool {
    while true {
      let (due, isStopped): ([Deadline], Bool) = state.withLock { state in
        guard !state.isStopped else { return ([], true) }
        let due = state.heap.removeDue(Self.now)
        if due.isEmpty, let next = state.heap.first { setTimer(next) }
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
  /// Protects the closure, which is nil after it began to run or was cancelled.
  private let body: SanitizedMutex<(@Sendable () -> Void)?>

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = SanitizedMutex(body)
  }

  /// Releases the closure. Returns true if it has not begun to run: then it never runs. O(1).
  @discardableResult
  public func cancel() -> Bool {
    take() != nil
  }

  /// True if the closure has begun to run or was cancelled.
  var isSpent: Bool {
    body.withLock { $0 == nil }
  }

  func run() {
    take()?()
  }

  /// Removes and returns the closure.
  private func take() -> (@Sendable () -> Void)? {
    body.withLock { body in
      defer { body = nil }
      return body
    }
  }
}
