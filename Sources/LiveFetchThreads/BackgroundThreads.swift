// Threads of lower priority: on Linux each thread has a nice value of its own. Elsewhere all threads have
// the same priority.
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
      guard let starter = shared.withLock({ $0 }), getpriority(ofThread, 0) > starter.niceValue
      else { return nil }
      return starter
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
