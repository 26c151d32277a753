// Ends a loop over the bytes of a long value when its query is cancelled or has no time left. The test,
// which reads the clock, is made once for many steps.

/// Counts the steps of a loop and calls `isCancelled` once for many of them.
public struct Interruption {
  /// Steps between two calls: well below a millisecond for the cheapest ones.
  public static let steps = 1 << 15

  private let isCancelled: () -> Bool
  @usableFromInline var left = Interruption.steps
  /// True once `isCancelled` has returned true.
  public private(set) var isInterrupted = false

  /// - Parameter isCancelled: returns true if the loop has to end.
  public init(_ isCancelled: @escaping () -> Bool) { self.isCancelled = isCancelled }

  /// Counts `steps`. Returns true once the loop has to end.
  @inlinable
  public mutating func ends(after steps: Int = 1) -> Bool {
    left &-= steps
    return left > 0 ? false : checkCancellation()
  }

  @inline(never) @usableFromInline
  mutating func checkCancellation() -> Bool {
    left = Self.steps
    isInterrupted = isInterrupted || isCancelled()
    if isInterrupted { left = 0 }
    return isInterrupted
  }
}
