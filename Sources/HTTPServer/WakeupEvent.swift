// What wakes a worker: a resumed connection, or the end.

import CMicrohttpd
import Glibc
import Synchronization

/// Wakes one worker; any number of rings until it listens are one.
///
/// libmicrohttpd gives daemons that their caller runs no signal of resumed connections.
final class WakeupEvent: Sendable {
  private let descriptor: Int32
  private let isRung = Atomic<Bool>(false)
  private let isLast = Atomic<Bool>(false)

  /// Nil if the system has no descriptor to give.
  init?() {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC))
    guard descriptor >= 0 else { return nil }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Whoever rings has done before what the worker is to find. One system call, or none while an
  /// earlier ring has not been heard.
  func ring() {
    if !isRung.exchange(true, ordering: .acquiringAndReleasing) { eventfd_write(descriptor, 1) }
  }

  /// Asks the worker to end.
  func ringForEnd() {
    isLast.store(true, ordering: .releasing)
    ring()
  }

  /// Has a daemon's epoll set wake at each ring that is written. Its edge is all: nobody reads.
  func hang(in set: Int32) -> Bool {
    chttp_add_bell(set, descriptor) == 0
  }

  /// Whether it was rung. What was done before is found by looking now; later rings wake again.
  func hear() -> Bool {
    isRung.load(ordering: .relaxed) && isRung.exchange(false, ordering: .acquiringAndReleasing)
  }

  var isOver: Bool {
    isLast.load(ordering: .acquiring)
  }
}
