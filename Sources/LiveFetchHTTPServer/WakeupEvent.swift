// Signals from any thread → a wakeup of one worker, because a connection was resumed or the worker
// has to end.

import CMicrohttpd
import Glibc
import Synchronization

/// Wakes one worker. Signals before the worker listens count as one.
///
/// libmicrohttpd does not signal resumed connections to daemons that run on their caller's thread.
final class WakeupEvent: Sendable {
  private let descriptor: Int32
  private let isSignalled = Atomic<Bool>(false)
  private let isEndSignalled = Atomic<Bool>(false)

  /// Returns nil if the system has no descriptor left.
  init?() {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC))
    guard descriptor >= 0 else { return nil }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Wakes the worker. Publish the work before signalling. One system call, or none if an earlier
  /// signal has not been received.
  func signal() {
    if !isSignalled.exchange(true, ordering: .acquiringAndReleasing) {
      eventfd_write(descriptor, 1)
    }
  }

  /// Makes the worker end.
  func signalEnd() {
    isEndSignalled.store(true, ordering: .releasing)
    signal()
  }

  /// Makes a daemon's epoll set wake for each signal. The event is edge-triggered, so its counter
  /// is never read.
  func add(to set: Int32) -> Bool {
    chttp_add_wakeup(set, descriptor) == 0
  }

  /// Returns true if it was signalled, and resets it. Work that was published before is visible
  /// now; later signals wake the worker again.
  func consume() -> Bool {
    isSignalled.load(ordering: .relaxed)
      && isSignalled.exchange(false, ordering: .acquiringAndReleasing)
  }

  /// True once ``signalEnd()`` was called.
  var isEnding: Bool {
    isEndSignalled.load(ordering: .acquiring)
  }
}
