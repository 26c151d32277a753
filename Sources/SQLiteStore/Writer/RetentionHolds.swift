// How far those who follow a store have read → up to where its history may be forgotten.

/// Keeps what somebody has still to read, for a while.
struct RetentionHolds {
  /// How long it is kept for a reader that does not get any further, in nanoseconds.
  static let patience: UInt64 = 60_000_000_000

  private var position: Int64 = -1
  private var since: UInt64 = 0

  /// The last position that may be forgotten up to.
  ///
  /// - Parameters:
  ///   - unread: the position after which somebody has still to read; nil: nobody has.
  ///   - newest: the newest position.
  ///   - now: a monotonic time in nanoseconds.
  mutating func limit(_ unread: Int64?, newest: Int64, _ now: UInt64) -> Int64 {
    guard let unread, unread < newest else {
      position = -1
      return newest
    }
    if unread != position { (position, since) = (unread, now) }
    return now &- since > Self.patience ? newest : unread
  }
}
