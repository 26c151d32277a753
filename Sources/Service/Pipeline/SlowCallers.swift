// The callers whose queries took too long for an HTTP worker.
//
// Promise: attempts in vain of one caller take at most about a tenth of a worker's time, on however many
// connections, so that requests of others find the workers free.

import Synchronization

/// Decides whose queries are tried on an HTTP worker.
final class SlowCallers: Sendable {
  /// For how long a caller's queries are not tried after one that took too long: ten times as long as an
  /// attempt may take.
  private static let pause = Duration.milliseconds(30)
  /// The number of callers above which those whose pause is over are forgotten.
  private static let maxCallers = 1_000

  /// By caller, the end of its pause.
  private let pauses = Mutex<[String: ContinuousClock.Instant]>([:])

  /// True if a query of the caller may be tried on a worker.
  func mayTry(_ caller: String, at now: @autoclosure () -> ContinuousClock.Instant = .now) -> Bool {
    pauses.withLock { pauses in
      guard !pauses.isEmpty, let end = pauses[caller] else { return true }
      guard now() >= end else { return false }
      pauses[caller] = nil
      return true
    }
  }

  /// Notes that a query of the caller took too long.
  func record(_ caller: String, at now: ContinuousClock.Instant = .now) {
    pauses.withLock { pauses in
      pauses[caller] = now + Self.pause
      guard pauses.count > Self.maxCallers else { return }
      pauses = pauses.filter { $0.value > now }
    }
  }
}
