// The callers whose requests take long for the threads that serve brief ones.
//
// Promise: of one caller, parsing and queries that take half a millisecond or more use at most about a
// tenth of an HTTP worker's time, on however many connections; those of a few milliseconds use less and
// less if the caller goes on with them. So requests of others find the workers free. The same holds for
// queries of more than 50 ms on the threads that try queries first.

import Synchronization

/// Decides whose requests are parsed, and whose queries are tried, on the threads of brief requests.
final class SlowCallers: Sendable {
  /// Work that takes less time has no pause after it.
  private static let shortest = Duration.microseconds(500)
  /// For how many times as long as the work took the caller does not use these threads.
  private static let pauseFactor = 10
  /// That number after a caller has gone on with such work again and again.
  private static let maxPauseFactor = 320
  /// The longest pause that has a larger factor than the first one.
  private static let longestPause = Duration.seconds(1)
  /// The number of callers above which those whose pauses are over are removed.
  private static let maxCallers = 1_000

  /// A time in which a caller does not use these threads.
  private struct Pause {
    let end: ContinuousClock.Instant
    let length: Duration
    let factor: Int

    /// Until then, further work that takes long has twice the factor.
    var endOfMemory: ContinuousClock.Instant { end + length }
  }

  private let pauses = Mutex<[String: Pause]>([:])

  /// True if the caller's requests and queries do not run on these threads now.
  func isPaused(
    _ caller: String, at now: @autoclosure () -> ContinuousClock.Instant = .now
  ) -> Bool {
    pauses.withLock { pauses in
      guard !pauses.isEmpty, let pause = pauses[caller] else { return false }
      let now = now()
      if now >= pause.endOfMemory { pauses[caller] = nil }
      return now < pause.end
    }
  }

  /// Runs work of the caller on this thread and records its processor time, also if it fails.
  func measure<Result, Failure: Error>(
    _ caller: String, _ work: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // Processor time: on a busy machine, brief work takes long as well.
    let start = QueryAttempt.processorTime
    defer { record(caller, .nanoseconds(Int64(QueryAttempt.processorTime - start))) }
    return try work()
  }

  /// Records the processor time that work of the caller took.
  func record(
    _ caller: String, _ time: Duration, at now: @autoclosure () -> ContinuousClock.Instant = .now
  ) {
    guard time >= Self.shortest else { return }
    let now = now()
    pauses.withLock { pauses in
      let last = pauses[caller].flatMap { now < $0.endOfMemory ? $0 : nil }
      // Work that began before the last pause does not count as going on.
      let factor =
        last.map { now < $0.end ? $0.factor : min($0.factor * 2, Self.maxPauseFactor) }
        ?? Self.pauseFactor
      let length = max(time * Self.pauseFactor, min(time * factor, Self.longestPause))
      if let last, now + length < last.end { return }
      pauses[caller] = Pause(end: now + length, length: length, factor: factor)
      guard pauses.count > Self.maxCallers else { return }
      pauses = pauses.filter { $0.value.endOfMemory > now }
    }
  }
}
