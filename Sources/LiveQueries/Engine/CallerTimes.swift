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

    func time(at now: ContinuousClock.Instant) -> Duration {
      max(.zero, time - last.duration(to: now) * CallerTimes.share)
    }

    mutating func update(_ now: ContinuousClock.Instant) { (time, last) = (time(at: now), now) }
  }

  /// Used time counts less and less: by this part of the time that has passed.
  private static let share = 0.05
  /// A caller without requests and fetches with changes for this time does not count.
  private static let retention = Duration.seconds(60)
  /// A fetch of more callers is used by none of them in particular.
  private static let maxShared = 50

  /// The time that a caller may use at once; nil for no limit.
  private(set) var limit: Duration?
  private var uses: [String: Use] = [:]
  /// Time counts less while a save with many objects is processed, which takes long for every fetch.
  private var scale = 1.0
  private static let objectsPerScale = 50.0

  init(limit: Duration?) { self.limit = limit }

  /// True if the time of callers is limited: there is a limit, and more than one caller.
  var isLimiting: Bool { limit != nil && uses.count > 1 }

  /// Removes the limit.
  func disable() { limit = nil }

  /// Notes a request of a caller.
  func note(_ caller: String, now: ContinuousClock.Instant) {
    if limit != nil { uses[caller, default: Use(last: now)].update(now) }
  }

  /// Runs `body`, which processes a save that changed this number of objects.
  func processing<Result>(
    objects: Int, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    scale = max(1, Double(objects) / Self.objectsPerScale)
    defer { scale = 1 }
    return try body()
  }

  /// Adds the time that a fetch of `callers` took; each has used an equal part of it.
  func charge(
    _ time: Duration, to callers: Set<String>, now: ContinuousClock.Instant = .now
  ) {
    guard limit != nil, !callers.isEmpty, callers.count <= Self.maxShared else { return }
    for caller in callers {
      uses[caller, default: Use(last: now)].update(now)
      uses[caller]?.time += time / Double(callers.count) / scale
    }
  }

  /// The time that a fetch of `callers` may still use; nil for no limit.
  func timeLeft(
    for callers: Set<String>, now: ContinuousClock.Instant = .now
  ) -> Duration? {
    guard let limit, isLimiting, !callers.isEmpty, callers.count <= Self.maxShared else {
      return nil
    }
    let left = callers.reduce(Duration.zero) { sum, caller in
      sum + max(.zero, limit - (uses[caller]?.time(at: now) ?? .zero))
    }
    return left * scale
  }

  /// True if a fetch of `callers` may use time.
  func hasTime(for callers: Set<String>) -> Bool { timeLeft(for: callers) != .zero }

  /// Drops the callers that do not count any more.
  func sweep(_ now: ContinuousClock.Instant) {
    uses = uses.filter { $0.value.last + Self.retention > now }
  }
}
