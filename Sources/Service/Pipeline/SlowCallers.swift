// The callers whose queries take long for an HTTP worker.
//
// Promise: queries of half a millisecond or more of one caller take at most about a tenth of a worker's
// time, on however many connections, so that requests of others find the workers free.

import Synchronization

/// Decides whose queries are tried on an HTTP worker.
final class SlowCallers: Sendable {
  /// Queries that take less time have no pause after them.
  private static let shortest = Duration.microseconds(500)
  /// For how many times as long as a query took the caller's queries are not tried.
  private static let pauseFactor = 10
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

  /// Notes the processor time that a query of the caller took on a worker, whether it was completed or
  /// not.
  func record(
    _ caller: String, _ time: Duration, at now: @autoclosure () -> ContinuousClock.Instant = .now
  ) {
    guard time >= Self.shortest else { return }
    let now = now()
    pauses.withLock { pauses in
      pauses[caller] = now + time * Self.pauseFactor
      guard pauses.count > Self.maxCallers else { return }
      pauses = pauses.filter { $0.value > now }
    }
  }
}
