// A counting signal whose waits have a time limit.
//
// `DispatchSemaphore` does the same, but on Linux its limits are dates: where the system's date is set
// back by an hour while a thread waits for 50 ms, the thread waits for an hour. These limits are
// durations.

#if canImport(Glibc)
  import Glibc

  /// Counts signals; each lets one wait pass.
  package final class TimedSignal: @unchecked Sendable {
    // Guards the count. Both lie in memory of their own, since they must not move.
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var count: Int

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

    package func signal() {
      pthread_mutex_lock(lock)
      count += 1
      pthread_mutex_unlock(lock)
      pthread_cond_signal(condition)
    }

    package func wait() {
      pthread_mutex_lock(lock)
      while count == 0 { pthread_cond_wait(condition, lock) }
      count -= 1
      pthread_mutex_unlock(lock)
    }

    /// Whether a signal came within so many nanoseconds.
    package func wait(nanoseconds: UInt64) -> Bool {
      var end = Self.moment(in: nanoseconds)
      pthread_mutex_lock(lock)
      defer { pthread_mutex_unlock(lock) }
      while count == 0 {
        if pthread_cond_timedwait(condition, lock, &end) != 0, count == 0 { return false }
      }
      count -= 1
      return true
    }

    private static func moment(in nanoseconds: UInt64) -> timespec {
      var moment = timespec()
      clock_gettime(CLOCK_MONOTONIC, &moment)
      // No limit is longer than a year.
      let limit = Int(min(nanoseconds, 31_536_000 * 1_000_000_000)) + moment.tv_nsec
      moment.tv_sec += limit / 1_000_000_000
      moment.tv_nsec = limit % 1_000_000_000
      return moment
    }
  }
#else
  import Dispatch

  /// Counts signals; each lets one wait pass.
  package final class TimedSignal: Sendable {
    private let semaphore: DispatchSemaphore

    package init(value: Int = 0) { semaphore = DispatchSemaphore(value: value) }

    package func signal() { semaphore.signal() }

    package func wait() { semaphore.wait() }

    /// Whether a signal came within so many nanoseconds.
    package func wait(nanoseconds: UInt64) -> Bool {
      let limit = Int(min(nanoseconds, 31_536_000 * 1_000_000_000))
      return semaphore.wait(timeout: .now() + .nanoseconds(limit)) == .success
    }
  }
#endif

extension TimedSignal {
  /// Whether a signal came within so many seconds.
  package func wait(seconds: Double) -> Bool {
    wait(nanoseconds: UInt64(min(max(seconds, 0), 1e9) * 1e9))
  }
}
