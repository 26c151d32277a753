// Positions of other processes' commits → the times at which the writer stamps them, that is,
// records them as saves in `livefetch_save`. Every position is stamped at most a second after the
// first pending one arrived, unless another process holds the file.

/// Commits of other processes that are not stamped yet. Stamping takes the write lock, so it waits
/// until the other processes pause: a program that writes statement after statement and does not
/// wait for locks would otherwise fail with SQLITE_BUSY.
struct PendingExternalCommits {
  /// The pause without commits that stamping waits for, and the longest time that it waits, in
  /// nanoseconds.
  private static let pause: UInt64 = 100_000_000
  private static let longest: UInt64 = 1_000_000_000
  /// The maximum number of pending positions; further commits replace the last one and are stamped together.
  private static let most = 256

  private var positions: [Int64] = []
  private var first: UInt64 = 0
  /// The time of the next stamping, in nanoseconds of the monotonic clock.
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
