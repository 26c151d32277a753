// Threads of lower priority: on Linux each thread has a nice value of its own. Elsewhere all threads have
// the same priority.
//
// Linux lets a thread of higher priority wait until the running thread's time slice ends, which takes some
// milliseconds. So a thread whose work may take long leaves its processor once in a millisecond.
//
// A thread begins with the nice value of the thread that starts it, and may not lower it. So a thread of
// its own starts the threads that threads of lower priority need.

import Synchronization

#if canImport(Glibc)
  import Glibc
  private let ofThread = Int32(PRIO_PROCESS.rawValue)
#elseif canImport(Musl)
  import Musl
  private let ofThread = Int32(PRIO_PROCESS)
#endif

/// Starts threads for those of lower priority, until the process ends.
final class ThreadStarter: Sendable {
  /// The starter; nil before ``prepare()``, and where it is not needed.
  private static let shared = Mutex<ThreadStarter?>(nil)

  private let niceValue: Int32
  private let requests = Mutex<[@Sendable () -> Void]>([])
  private let ready = MonotonicSemaphore()

  private init(niceValue: Int32) { self.niceValue = niceValue }

  /// Makes the starter, on a thread of normal priority, before there are threads of lower priority.
  static func prepare() {
    #if os(Linux)
      shared.withLock { shared in
        guard shared == nil else { return }
        let starter = ThreadStarter(niceValue: getpriority(ofThread, 0))
        guard let thread = JoinableThread.startHere("lf-starter", starter.serve) else { return }
        thread.detach()
        shared = starter
      }
    #endif
  }

  /// The starter if the current thread has a lower priority.
  static var ifNeeded: ThreadStarter? {
    #if os(Linux)
      let niceValue = getpriority(ofThread, 0)
      return shared.withLock { starter in starter.flatMap { niceValue > $0.niceValue ? $0 : nil } }
    #else
      return nil
    #endif
  }

  /// Runs `start` on the starter's thread and returns its result.
  func run(_ start: @escaping @Sendable () -> JoinableThread?) -> JoinableThread? {
    let started = Started()
    requests.withLock { requests in
      requests.append {
        started.thread.withLock { $0 = start() }
        started.done.signal()
      }
    }
    ready.signal()
    started.done.wait()
    return started.thread.withLock { $0 }
  }

  private final class Started: Sendable {
    let thread = Mutex<JoinableThread?>(nil)
    let done = MonotonicSemaphore()
  }

  @Sendable private func serve() {
    while true {
      ready.wait()
      requests.withLock { $0.isEmpty ? nil : $0.removeFirst() }?()
    }
  }
}

/// Lets other threads go before the current one where there are not enough processors.
func leaveProcessorToOthers() {
  #if os(Linux)
    _ = setpriority(ofThread, 0, min(getpriority(ofThread, 0) + 10, 19))
  #endif
}

/// Makes ``leaveProcessorBriefly()`` work on the current thread.
func beginLeavingProcessor() {
  #if os(Linux)
    lastLeave.set(1)
  #endif
}

/// Lets threads that wait for a processor run before the current thread, if this is one whose work may take
/// long and has not done so for a millisecond. It costs a few nanoseconds, or the shortest sleep of the system,
/// about 60 µs.
package func leaveProcessorBriefly() {
  #if os(Linux)
    let last = lastLeave.get()
    guard last != 0 else { return }
    let now = Int(truncatingIfNeeded: monotonicNanoseconds())
    guard now &- last > 1_000_000 else { return }
    // `sched_yield` would forfeit the rest of the thread's share next to other busy processes.
    var pause = timespec(tv_sec: 0, tv_nsec: 1)
    nanosleep(&pause, nil)
    lastLeave.set(now)
  #endif
}

#if os(Linux)
  /// When the thread left its processor last, in nanoseconds of the monotonic clock; 0 in threads that do not
  /// leave it.
  private let lastLeave = ThreadNumber()

  /// A number of each thread; 0 at first.
  private struct ThreadNumber: Sendable {
    private let key: pthread_key_t

    init() {
      var key = pthread_key_t()
      pthread_key_create(&key, nil)
      self.key = key
    }

    func get() -> Int { Int(bitPattern: pthread_getspecific(key)) }
    func set(_ number: Int) { pthread_setspecific(key, UnsafeRawPointer(bitPattern: number)) }
  }
#endif
