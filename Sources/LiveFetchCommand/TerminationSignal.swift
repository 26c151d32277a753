// SIGTERM, SIGINT and SIGHUP, waited for instead of handled.

import Foundation

/// Waits for the signals that ask a process to end.
enum TerminationSignal {
  /// Has every thread started from now on leave these signals to ``wait()``. Call it first.
  ///
  /// - Parameter hangUp: true to leave SIGHUP to ``wait(onHangUp:)`` too.
  static func hold(hangUp: Bool = false) {
    var signals = set(hangUp: hangUp)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    signal(SIGPIPE, SIG_IGN)
    // A file that may not grow further is an error of writing, and no reason to end.
    signal(SIGXFSZ, SIG_IGN)
  }

  /// Ignores SIGUSR1 and SIGUSR2, which would end the process.
  static func ignoreOthers() {
    for number in [SIGUSR1, SIGUSR2] { signal(number, SIG_IGN) }
  }

  /// Returns on SIGTERM or SIGINT.
  ///
  /// - Parameter onHangUp: called on each SIGHUP, also on one from a terminal that closes; nil if
  ///   SIGHUP is not held.
  static func wait(onHangUp: (() -> Void)? = nil) {
    var signals = set(hangUp: onHangUp != nil)
    while true {
      var received: Int32 = 0
      guard sigwait(&signals, &received) == 0 else { continue }
      guard received == SIGHUP, let onHangUp else { return }
      onHangUp()
    }
  }

  /// Has the process end with status 0 when one has come, after `body`. For commands that go on
  /// until they are interrupted.
  static func endProcess(after body: @escaping @Sendable () -> Void = {}) {
    hold()
    Thread.detachNewThread {
      wait()
      body()
      exit(0)
    }
  }

  private static func set(hangUp: Bool) -> sigset_t {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGTERM)
    sigaddset(&signals, SIGINT)
    if hangUp { sigaddset(&signals, SIGHUP) }
    return signals
  }
}
