// SIGTERM and SIGINT, waited for instead of handled.

import Foundation

/// Waits for the signals that ask a process to end.
enum TerminationSignal {
  /// Has every thread started from now on leave these signals to ``wait()``. Call it first.
  static func hold() {
    var signals = set
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    signal(SIGPIPE, SIG_IGN)
    // A file that may not grow further is an error of writing, and no reason to end.
    signal(SIGXFSZ, SIG_IGN)
  }

  /// Keeps signals from ending a server that it has no use for: SIGHUP, as a terminal that closes
  /// sends it, SIGUSR1 and SIGUSR2.
  static func ignoreOthers() {
    for number in [SIGHUP, SIGUSR1, SIGUSR2] { signal(number, SIG_IGN) }
  }

  /// Returns when one has come.
  static func wait() {
    var signals = set
    var received: Int32 = 0
    while sigwait(&signals, &received) != 0 {}
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

  private static var set: sigset_t {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGTERM)
    sigaddset(&signals, SIGINT)
    return signals
  }
}
