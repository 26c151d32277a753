// Deadlines: the end of a long poll, the next heartbeat of a stream.
//
// Enters: moments and bodies. Leaves: each body run once at its moment, on one thread, in the
// order of the moments (of scheduling where they are equal), unless it was cancelled before.
// Scheduling is O(log n); cancelling O(1), and frees the body at once.

import CMicrohttpd
import Glibc
import Threads

/// One thread that runs bodies at their moments. Bodies must be short.
public final class Deadlines: Sendable {
  private struct Plan {
    var heap = DeadlineHeap()
    var isStopped = false
  }

  /// Guards the heap and the setting of the timer.
  private let plan = Guarded(Plan())
  private let timer: Int32
  private let thread = Guarded<JoinableThread?>(nil)

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

  /// The present moment of the clock that deadlines are measured by, in nanoseconds.
  public static var now: UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(truncatingIfNeeded: now.tv_sec) &* 1_000_000_000
      &+ UInt64(truncatingIfNeeded: now.tv_nsec)
  }

  /// Has `body` run once after so many seconds, or never if the deadlines have been stopped.
  @discardableResult
  public func schedule(
    after seconds: Double, _ body: @escaping @Sendable () -> Void
  ) -> Deadline {
    let nanoseconds = UInt64(min(max(seconds, 0), 1e9) * 1e9)
    return schedule(at: Self.now &+ nanoseconds, body)
  }

  /// Has `body` run once at a moment of ``now``'s clock; soon, if that has passed.
  @discardableResult
  public func schedule(at moment: UInt64, _ body: @escaping @Sendable () -> Void) -> Deadline {
    let deadline = Deadline(body)
    plan.withLock { plan in
      guard !plan.isStopped else { return }
      if plan.heap.insert(deadline, at: moment) { setTimer(moment) }
    }
    return deadline
  }

  /// How many have not run: cancelled ones among them until they are swept out.
  public var count: Int {
    plan.withLock { $0.heap.count }
  }

  /// Ends the thread; what has not run never will. May be called from a body.
  public func stop() {
    let forgotten = plan.withLock { plan in
      defer { plan.heap = DeadlineHeap() }
      plan.isStopped = true
      setTimer(1)
      return plan.heap
    }
    _ = forgotten
    let running = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    guard let running else { return }
    running.isCurrent ? running.detach() : running.join()
  }

  private func setTimer(_ moment: UInt64) {
    // A moment of zero would disarm the timer.
    let moment = max(moment, 1)
    var setting = itimerspec()
    setting.it_value.tv_sec = Int(truncatingIfNeeded: moment / 1_000_000_000)
    setting.it_value.tv_nsec = Int(truncatingIfNeeded: moment % 1_000_000_000)
    timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &setting, nil)
  }

  /// The thread holds its owner only while it works, so that letting go of the owner ends it.
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

  /// False once stopped.
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

/// A body that waits for its moment.
public final class Deadline: Sendable {
  /// Guards the body, so that it runs once or not at all.
  private let body: Guarded<(@Sendable () -> Void)?>

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = Guarded(body)
  }

  /// Forgets the body. True if it had not run: then it never will.
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
