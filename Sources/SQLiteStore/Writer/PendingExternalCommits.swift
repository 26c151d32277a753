// Positions of other processes' commits → the times at which the writer stamps them, that is,
// records them as saves in `livefetch_save`. Every position is stamped at most a second after the
// first pending one arrived, unless another process holds the file.

/// Commits of other processes that are not stamped yet. Stamping takes the write lock, so it waits
/// until the other processes pause: a program that writes statement after statement and does not
/// wait for locks would otherwise fail with SQLITE_BUSY.
struct PendingExternalCommits {
  /// The pause without commits that stamping waits for, in nanoseconds.
  private static let pause: UInt64 = 100_000_000
  /// The longest time that stamping waits for a pause, in nanoseconds.
  private static let longestWait: UInt64 = 1_000_000_000
  /// The maximum number of pending positions; further commits replace the last one and are stamped
  /// together.
  private static let maxCount = 256

  private var positions: [Int64] = []
  /// The time at which the first pending position arrived.
  private var start: UInt64 = 0
  /// The time of the next stamping, in nanoseconds of the monotonic clock.
  private(set) var due = UInt64.max

  /// Adds a position that arrived at `now`, in nanoseconds of the monotonic clock.
  mutating func append(_ position: Int64, _ now: UInt64) {
    if positions.isEmpty { start = now }
    if positions.count >= Self.maxCount { positions.removeLast() }
    positions.append(position)
    due = min(now &+ Self.pause, start &+ Self.longestWait)
  }

  /// Removes and returns the pending positions.
  mutating func takeAll() -> [Int64] {
    defer { (positions, due) = ([], .max) }
    return positions
  }
}
