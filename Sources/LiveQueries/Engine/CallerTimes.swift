// The durations of each caller's fetches on one engine thread → the time that the caller may still use there. A
// caller without time left is served by another thread, so that the diffs of other callers do not wait for its
// fetches.
//
// It is a token bucket: used time is added, and decreases at a constant rate. A part of the time of each
// transaction is exempt, because ordinary fetches need it too.

import FetchModel

/// The time that the callers of the last minute have used on one thread. Accessed on that thread only.
final class CallerTimes {
  private struct Use {
    /// The used time at `updated`.
    var time = Duration.zero
    var updated: ContinuousClock.Instant
    /// The exempt time that was used in `transaction`.
    var exempt = Duration.zero
    /// The number of the transaction in which the caller has used time last.
    var transaction = 0
  }

  /// The seconds by which the used time decreases in a second.
  private let refillRate: Double
  /// A caller is removed after this time without requests and without fetches that changed.
  private static let retention = Duration.seconds(60)
  /// A fetch of more callers than this is charged to none of them, and has no limit.
  private static let maxShared = 50

  /// The used time from which on a caller has no time left; nil for no limit.
  private(set) var limit: Duration?
  private var uses: [String: Use] = [:]
  /// The number of the transaction that is being processed.
  private var transaction = 0
  /// The time that each caller may use in this transaction without being charged.
  private var exemptTime = Duration.zero
  private static let exemptTimePerTransaction = Duration.microseconds(200)
  private static let exemptTimePerObject = Duration.microseconds(20)

  /// - Parameters:
  ///   - limit: The time that a caller may use at once; nil for no limit.
  ///   - refillRate: The seconds of it that a caller gets back in a second.
  init(limit: Duration?, refillRate: Double = 0.05) {
    self.limit = limit
    self.refillRate = refillRate
  }

  /// True if callers may run out of time: there is a limit, and more than one caller. One alone delays no other.
  var isLimiting: Bool { limit != nil && uses.count > 1 }

  /// Removes the limit.
  func disable() { limit = nil }

  /// Records that a caller made a request.
  func note(_ caller: String, now: ContinuousClock.Instant) {
    if limit != nil { uses[caller] = use(of: caller, now) }
  }

  /// Returns the use of a caller at `now`.
  private func use(of caller: String, _ now: ContinuousClock.Instant) -> Use {
    var use = uses[caller] ?? Use(updated: now)
    use.time = max(.zero, use.time - use.updated.duration(to: now) * refillRate)
    use.updated = now
    return use
  }

  /// Call this before a transaction is processed.
  ///
  /// - Parameter objects: The number of objects that the transaction has changed.
  func beginTransaction(changes objects: Int) {
    transaction += 1
    exemptTime = Self.exemptTimePerTransaction + Self.exemptTimePerObject * objects
  }

  /// Adds the time that a fetch of `callers` took, in equal parts. The exempt time is used first.
  func charge(
    _ time: Duration, to callers: Set<String>, now: ContinuousClock.Instant = .now
  ) {
    guard limit != nil, !callers.isEmpty, callers.count <= Self.maxShared else { return }
    for caller in callers {
      var use = use(of: caller, now)
      let part = time / callers.count
      let exemptLeft = exemptTimeLeft(use)
      let exempt = min(part, exemptLeft)
      use.exempt = exemptTime - exemptLeft + exempt
      use.transaction = transaction
      use.time += part - exempt
      uses[caller] = use
    }
  }

  /// Returns the exempt time of this transaction that a caller has not used.
  private func exemptTimeLeft(_ use: Use) -> Duration {
    use.transaction == transaction ? exemptTime - use.exempt : exemptTime
  }

  /// Returns the sum of the times that `callers` may still use; nil for no limit.
  func timeLeft(
    for callers: Set<String>, now: ContinuousClock.Instant = .now
  ) -> Duration? {
    guard let limit, isLimiting, !callers.isEmpty, callers.count <= Self.maxShared else {
      return nil
    }
    return callers.reduce(Duration.zero) { sum, caller in
      let use = use(of: caller, now)
      return sum + exemptTimeLeft(use) + max(.zero, limit - use.time)
    }
  }

  /// True if a fetch of `callers` has any time left.
  func hasTime(for callers: Set<String>) -> Bool { timeLeft(for: callers) != .zero }

  /// Removes the callers that were not active for a minute. O(callers).
  func sweep(_ now: ContinuousClock.Instant) {
    uses = uses.filter { $0.value.updated + Self.retention > now }
  }
}
