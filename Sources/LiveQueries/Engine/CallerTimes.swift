// The time that each caller's fetches take on an engine's thread: durations enter, the time that is left
// leaves. A caller whose time is used up is served by another thread, so that the diffs of other callers
// do not wait for its fetches.

import FetchModel

/// The use of one thread by the callers of the last minute. Accessed on that thread only.
final class CallerTimes {
  private struct Use {
    /// The time that counts at `last`.
    var time = Duration.zero
    var last: ContinuousClock.Instant
    /// The exempt time that was used in the transaction with this number.
    var transaction = 0
    var exempt = Duration.zero
  }

  /// Used time counts less and less: by this part of the time that has passed.
  private let share: Double
  /// A caller without requests and fetches with changes for this time does not count.
  private static let retention = Duration.seconds(60)
  /// A fetch of more callers is used by none of them in particular.
  private static let maxShared = 50

  /// The time that a caller may use at once; nil for no limit.
  private(set) var limit: Duration?
  private var uses: [String: Use] = [:]
  /// The number of the transaction that is being processed.
  private var transaction = 0
  /// The time in this transaction that does not count for a caller: ordinary fetches need it.
  private var exemptTime = Duration.zero
  private static let exemptTimePerTransaction = Duration.microseconds(200)
  private static let exemptTimePerObject = Duration.microseconds(20)

  init(limit: Duration?, share: Double = 0.05) { (self.limit, self.share) = (limit, share) }

  /// True if the time of callers is limited: there is a limit, and more than one caller.
  var isLimiting: Bool { limit != nil && uses.count > 1 }

  /// Removes the limit.
  func disable() { limit = nil }

  /// Notes a request of a caller.
  func note(_ caller: String, now: ContinuousClock.Instant) {
    if limit != nil { uses[caller] = use(of: caller, now) }
  }

  private func use(of caller: String, _ now: ContinuousClock.Instant) -> Use {
    var use = uses[caller] ?? Use(last: now)
    use.time = max(.zero, use.time - use.last.duration(to: now) * share)
    use.last = now
    return use
  }

  /// Begins the processing of a transaction in which this number of objects has changed.
  func beginTransaction(changes objects: Int) {
    transaction += 1
    exemptTime = Self.exemptTimePerTransaction + Self.exemptTimePerObject * objects
  }

  /// Adds the time that a fetch of `callers` took; each has used an equal part of it.
  func charge(
    _ time: Duration, to callers: Set<String>, now: ContinuousClock.Instant = .now
  ) {
    guard limit != nil, !callers.isEmpty, callers.count <= Self.maxShared else { return }
    for caller in callers {
      var use = use(of: caller, now)
      let part = time / callers.count
      let exempt = min(part, exemptTimeLeft(use))
      (use.transaction, use.exempt) = (transaction, exemptTime - exemptTimeLeft(use) + exempt)
      use.time += part - exempt
      uses[caller] = use
    }
  }

  private func exemptTimeLeft(_ use: Use) -> Duration {
    use.transaction == transaction ? exemptTime - use.exempt : exemptTime
  }

  /// The time that a fetch of `callers` may still use; nil for no limit.
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

  /// True if a fetch of `callers` may use time.
  func hasTime(for callers: Set<String>) -> Bool { timeLeft(for: callers) != .zero }

  /// Drops the callers that do not count any more.
  func sweep(_ now: ContinuousClock.Instant) {
    uses = uses.filter { $0.value.last + Self.retention > now }
  }
}
