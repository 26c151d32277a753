// A loop over the bytes of one value → whether it has to end early, because the time limit of its query
// has passed. The clock is read once for many steps.

/// Counts the steps of a loop and calls `isOver` once for many of them.
public struct Interruption {
  /// Steps between two calls: well below a millisecond for the cheapest ones.
  public static let steps = 1 << 15

  private let isOver: () -> Bool
  @usableFromInline var left = Interruption.steps
  /// True once `isOver` has returned true.
  public private(set) var hasEnded = false

  public init(_ isOver: @escaping () -> Bool) { self.isOver = isOver }

  /// Counts `steps`. Returns true once the loop has to end.
  @inlinable
  public mutating func ends(after steps: Int = 1) -> Bool {
    left &-= steps
    return left > 0 ? false : checkTime()
  }

  @inline(never) @usableFromInline
  mutating func checkTime() -> Bool {
    left = Self.steps
    hasEnded = hasEnded || isOver()
    if hasEnded { left = 0 }
    return hasEnded
  }
}
