// SIGTERM, SIGINT and SIGHUP: blocked in every thread and received by one that waits for them.

import Foundation

/// Waits for the signals that terminate a process.
enum TerminationSignal {
  /// Blocks these signals for ``wait()`` in this thread and in every thread it starts. Call it first.
  ///
  /// - Parameter hangUp: true to block SIGHUP for ``wait(hangUp:onHangUp:)`` too.
  static func hold(hangUp: Bool = false) {
    var signals = set(hangUp: hangUp)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    signal(SIGPIPE, SIG_IGN)
    // Writing beyond the limit on file sizes then fails with EFBIG instead of ending the process.
    signal(SIGXFSZ, SIG_IGN)
  }

  /// Ignores signals without a meaning here, which would end the process.
  static func ignoreOthers() {
    for number in [SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGIO] { signal(number, SIG_IGN) }
  }

  /// Returns on SIGTERM or SIGINT.
  ///
  /// - Parameters:
  ///   - hangUp: true if SIGHUP is held too.
  ///   - onHangUp: called on each SIGHUP, also on one from a terminal that closes.
  static func wait(hangUp: Bool = false, onHangUp: () -> Void = {}) {
    var signals = set(hangUp: hangUp)
    while true {
      var received: Int32 = 0
      guard sigwait(&signals, &received) == 0 else { continue }
      guard received == SIGHUP else { return }
      onHangUp()
    }
  }

  /// Ends the process with status 0 after a signal, once `body` has run. For commands that run
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
