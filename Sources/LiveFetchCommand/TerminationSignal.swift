// SIGTERM, SIGINT and SIGHUP are blocked in every thread; one thread waits for them and calls a closure, ends
// the process with status 0, or deletes unfinished files and lets the signal end the process.

import Foundation
import LiveFetchThreads
import Synchronization

/// Waits for the signals that terminate a process.
enum TerminationSignal {
  /// Blocks SIGTERM and SIGINT in this thread and in those that it starts later, so that
  /// ``wait(hangUp:onHangUp:)`` receives them. Ignores SIGPIPE and SIGXFSZ.
  ///
  /// - Parameter hangUp: true to block SIGHUP too.
  static func block(hangUp: Bool = false) {
    var signals = signalSet(hangUp: hangUp)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    signal(SIGPIPE, SIG_IGN)
    // Writing beyond the limit on file sizes then fails with EFBIG instead of ending the process.
    signal(SIGXFSZ, SIG_IGN)
  }

  /// Ignores signals without a meaning here: their default action ends the process.
  static func ignoreOthers() {
    for number in [SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGIO] { signal(number, SIG_IGN) }
  }

  /// Returns on SIGTERM or SIGINT.
  ///
  /// - Parameters:
  ///   - hangUp: true if SIGHUP is blocked too.
  ///   - onHangUp: called on each SIGHUP. A terminal that closes sends one too.
  static func wait(hangUp: Bool = false, onHangUp: () -> Void = {}) {
    var signals = signalSet(hangUp: hangUp)
    while true {
      var received: Int32 = 0
      guard sigwait(&signals, &received) == 0 else { continue }
      guard received == SIGHUP else { return }
      onHangUp()
    }
  }

  /// Starts a thread that waits for SIGTERM or SIGINT, runs `body` and ends the process with status
  /// 0. For commands that run until they are interrupted.
  static func exitOnSignal(running body: @escaping @Sendable () -> Void = {}) {
    block()
    Thread.detachNewThread {
      wait()
      body()
      exit(0)
    }
  }

  /// Starts a thread that waits for SIGTERM, SIGINT or SIGHUP, deletes the ``UnfinishedFiles``, and lets the
  /// signal end the process. For commands that write files. A signal that the caller has the process ignore,
  /// as `nohup` and `&` in a script do, stays ignored.
  static func deletingUnfinishedFiles() {
    var awaited = sigset_t()
    sigemptyset(&awaited)
    for number in [SIGTERM, SIGINT, SIGHUP] where !isIgnored(number) {
      sigaddset(&awaited, number)
    }
    pthread_sigmask(SIG_BLOCK, &awaited, nil)
    Thread.detachNewThread { [awaited] in
      var signals = awaited
      var received: Int32 = 0
      while sigwait(&signals, &received) != 0 {}
      UnfinishedFiles.deleteAll {
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        kill(getpid(), received)
      }
    }
  }

  /// True if the process ignores a signal.
  private static func isIgnored(_ number: Int32) -> Bool {
    let action = signal(number, SIG_IGN)
    signal(number, action)
    return unsafeBitCast(action, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Runs `body`. Until it returns, SIGTERM or SIGINT deletes the ``UnfinishedFiles`` and ends the process
  /// with status 0, after at most half a second for the log; the database rolls back an open transaction.
  /// The signals must be blocked.
  static func exitingOnSignal<Result>(during body: () throws -> Result) rethrows -> Result {
    let end = EndOfBody()
    defer { end.isReached.store(true, ordering: .releasing) }
    Thread.detachNewThread {
      var signals = signalSet(hangUp: false)
      var pause = timespec(tv_sec: 0, tv_nsec: 100_000_000)
      while !end.isReached.load(ordering: .acquiring) {
        let received = sigtimedwait(&signals, nil, &pause)
        guard received > 0 else { continue }
        if end.isReached.load(ordering: .acquiring) {
          // It belongs to the thread that waits next.
          kill(getpid(), received)
          return
        }
        UnfinishedFiles.deleteAll {
          LogOutput.errors.finish(seconds: 0.5)
          _exit(0)
        }
      }
    }
    return try body()
  }

  private final class EndOfBody: Sendable {
    let isReached = Atomic(false)
  }

  private static func signalSet(hangUp: Bool) -> sigset_t {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGTERM)
    sigaddset(&signals, SIGINT)
    if hangUp { sigaddset(&signals, SIGHUP) }
    return signals
  }
}
