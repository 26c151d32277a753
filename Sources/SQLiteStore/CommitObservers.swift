// Commits of the writer's thread enter; calls of the observers leave: of those of every commit, of
// the first commit of another process, and of a file that is not the opened one any more.

import FetchModel
import Synchronization

/// Calls the observers of commits. Used from any thread.
final class CommitObservers: Sendable {
  /// Protects the observers of every commit; never held while one of them runs.
  private let bodies = Mutex<[@Sendable () -> Void]>([])

  func add(_ body: @escaping @Sendable () -> Void) { bodies.withLock { $0.append(body) } }

  private struct Outdated {
    var bodies: [@Sendable (OutdatedReason) -> Void] = []
    var reason: OutdatedReason?
  }

  /// Protects the observers of an outdated file, and the reason once there is one.
  private let outdated = Mutex(Outdated())
  /// Protects the observers of the first commit of another process; nil once they were called.
  private let external = Mutex<[@Sendable () -> Void]?>([])

  /// Adds an observer of an outdated file. Calls it at once if the file is outdated already.
  func addOutdated(_ body: @escaping @Sendable (OutdatedReason) -> Void) {
    let reason = outdated.withLock { outdated in
      outdated.bodies.append(body)
      return outdated.reason
    }
    if let reason { body(reason) }
  }

  /// Adds an observer of the first commit of another process. Calls it at once after that commit.
  func addExternal(_ body: @escaping @Sendable () -> Void) {
    let hasHappened = external.withLock { external in
      external?.append(body)
      return external == nil
    }
    if hasHappened { body() }
  }

  /// Calls the observers that `commit` concerns.
  func notify(_ commit: Writer.Commit) {
    switch commit {
    case .saves: break
    case .external: notifyOfExternalCommit()
    case .restarted: notifyOfExternalCommit()
    case .outdated(let reason):
      notifyOfExternalCommit()
      let bodies = outdated.withLock { outdated in
        outdated.reason = reason
        return outdated.bodies
      }
      for body in bodies { body(reason) }
      return
    }
    for body in bodies.withLock({ $0 }) { body() }
  }

  private func notifyOfExternalCommit() {
    let bodies = external.withLock { external in
      defer { external = nil }
      return external ?? []
    }
    for body in bodies { body() }
  }
}
