// How a long loop over one value ends early: it asks now and then whether the time of its query is over.

/// Counts the steps of a loop and asks `isOver` once for many of them.
package struct Interruption {
  /// Steps between two questions: well below a millisecond for the cheapest ones.
  package static let steps = 1 << 15

  private let isOver: () -> Bool
  private var left = steps
  private(set) var hasEnded = false

  init(_ isOver: @escaping () -> Bool) { self.isOver = isOver }

  /// Counts `steps`; true once the loop has to end.
  @inline(__always)
  mutating func ends(after steps: Int = 1) -> Bool {
    left &-= steps
    return left > 0 ? false : ask()
  }

  @inline(never)
  private mutating func ask() -> Bool {
    left = Self.steps
    hasEnded = hasEnded || isOver()
    if hasEnded { left = 0 }
    return hasEnded
  }
}
