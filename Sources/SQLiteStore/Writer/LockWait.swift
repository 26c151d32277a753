// The times at which another process was seen to hold the write lock → which saves have waited for it for
// long enough.

/// How long saves wait for another process that holds the write lock.
///
/// A save waits once: from its arrival, or from the time at which the lock was first seen, whichever is
/// later. A save that waits behind others for the same lock does not begin another wait.
struct LockWait {
  /// The longest wait, in nanoseconds.
  let limit: UInt64
  /// The time at which the lock was first seen, in nanoseconds of the monotonic clock; nil if it was not
  /// seen when it was last tried.
  private var began: UInt64?

  init(limit: UInt64) { self.limit = limit }

  /// Records whether another process held the lock when it was tried at `time`.
  mutating func record(isLocked: Bool, at time: UInt64) {
    began = isLocked ? began ?? time : nil
  }

  /// True if a save that arrived at `arrival` is refused at `now`.
  func isOver(for arrival: UInt64, at now: UInt64) -> Bool {
    guard let began else { return false }
    return now >= max(began, arrival) &+ limit
  }
}
