// The oldest position that a reader of the history still needs → the position up to which history
// may be pruned. A reader that makes no progress loses its hold after a minute.

/// Delays pruning for the slowest reader, for a limited time.
struct RetentionHolds {
  /// The time after which a reader without progress no longer delays pruning, in nanoseconds.
  static let timeLimit: UInt64 = 60_000_000_000

  private var position: Int64 = -1
  private var since: UInt64 = 0

  /// Returns the last position that may be pruned.
  ///
  /// - Parameters:
  ///   - unread: the position after which a reader still has to read; nil if no reader does.
  ///   - newest: the newest position.
  ///   - now: a monotonic time in nanoseconds.
  mutating func limit(_ unread: Int64?, newest: Int64, _ now: UInt64) -> Int64 {
    guard let unread, unread < newest else {
      position = -1
      return newest
    }
    if unread != position { (position, since) = (unread, now) }
    return now &- since > Self.timeLimit ? newest : unread
  }
}
