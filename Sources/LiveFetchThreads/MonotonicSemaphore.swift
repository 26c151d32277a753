// A counting semaphore with time limits on the monotonic clock.
//
// `DispatchSemaphore` measures its limits on Linux by the wall clock: if that is set back by an
// hour during a wait of 50 ms, the wait takes an hour.

#if canImport(Glibc) || canImport(Musl)
  import LiveFetchCLibrary

  /// Counts signals; each lets one wait return.
  package final class MonotonicSemaphore: @unchecked Sendable {
    // Protects the count. Lock and condition are allocated separately, because they must not move.
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var count: Int

    /// - Parameter value: the number of waits that return at once.
    package init(value: Int = 0) {
      count = value
      pthread_mutex_init(lock, nil)
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    }

    deinit {
      pthread_cond_destroy(condition)
      pthread_mutex_destroy(lock)
      condition.deallocate()
      lock.deallocate()
    }

    /// Lets one wait return, now or later.
    package func signal() {
      pthread_mutex_lock(lock)
      count += 1
      pthread_mutex_unlock(lock)
      pthread_cond_signal(condition)
    }

    /// Waits for a signal and consumes it. Signals from before count.
    package func wait() {
      pthread_mutex_lock(lock)
      while count == 0 { pthread_cond_wait(condition, lock) }
      count -= 1
      pthread_mutex_unlock(lock)
    }

    /// Waits for a signal, at most this many nanoseconds and at most a year, and consumes it. Returns
    /// false if none came.
    package func wait(nanoseconds: UInt64) -> Bool {
      var end = Self.deadline(in: nanoseconds)
      pthread_mutex_lock(lock)
      defer { pthread_mutex_unlock(lock) }
      while count == 0 {
        if pthread_cond_timedwait(condition, lock, &end) != 0, count == 0 { return false }
      }
      count -= 1
      return true
    }

    private static func deadline(in nanoseconds: UInt64) -> timespec {
      var end = timespec()
      clock_gettime(CLOCK_MONOTONIC, &end)
      let total = Int(min(nanoseconds, maxNanoseconds)) + end.tv_nsec
      end.tv_sec += total / 1_000_000_000
      end.tv_nsec = total % 1_000_000_000
      return end
    }
  }
#else
  import Dispatch

  /// Counts signals; each lets one wait return.
  package final class MonotonicSemaphore: Sendable {
    private let semaphore: DispatchSemaphore

    /// - Parameter value: the number of waits that return at once.
    package init(value: Int = 0) { semaphore = DispatchSemaphore(value: value) }

    /// Lets one wait return, now or later.
    package func signal() { semaphore.signal() }

    /// Waits for a signal and consumes it. Signals from before count.
    package func wait() { semaphore.wait() }

    /// Waits for a signal, at most this many nanoseconds and at most a year, and consumes it. Returns
    /// false if none came.
    package func wait(nanoseconds: UInt64) -> Bool {
      let limit = Int(min(nanoseconds, Self.maxNanoseconds))
      return semaphore.wait(timeout: .now() + .nanoseconds(limit)) == .success
    }
  }
#endif

extension MonotonicSemaphore {
  /// A year, the longest wait.
  private static let maxNanoseconds: UInt64 = 31_536_000 * 1_000_000_000

  /// Waits for a signal, at most this many seconds and at most a year, and consumes it. Returns false
  /// if none came.
  package func wait(seconds: Double) -> Bool {
    wait(nanoseconds: UInt64(min(max(seconds, 0) * 1e9, Double(Self.maxNanoseconds))))
  }
}
