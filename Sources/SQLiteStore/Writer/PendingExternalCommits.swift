// Commits of others that are still to be written down as saves.

/// Ends of others' saves, until they are stamped. That takes the write lock, so it waits until
/// others have paused: a program that writes one statement after the other, without waiting for
/// locks, would meet it.
struct PendingExternalCommits {
  /// How long nobody else has to have written, and how long that is waited for, in nanoseconds.
  private static let pause: UInt64 = 100_000_000
  private static let longest: UInt64 = 1_000_000_000
  /// More are stamped as one.
  private static let most = 256

  private var positions: [Int64] = []
  private var first: UInt64 = 0
  /// When they are to be stamped, by the monotonic clock.
  private(set) var due = UInt64.max

  mutating func append(_ position: Int64, _ now: UInt64) {
    if positions.isEmpty { first = now }
    if positions.count >= Self.most { positions.removeLast() }
    positions.append(position)
    due = min(now &+ Self.pause, first &+ Self.longest)
  }

  mutating func takeAll() -> [Int64] {
    defer { (positions, due) = ([], .max) }
    return positions
  }
}
