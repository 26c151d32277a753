// The steps of the engine between whose ends lie other states. A client may have read such a state: a
// value that changed and changed back is the same at both ends of the step, and not in between.

import FetchModel

/// The steps in which the engine passed states that a client may know. Used on the engine's thread.
final class PassedPositions {
  private struct Step {
    let base: HistoryPosition
    let end: HistoryPosition
  }

  private static let maxCount = 16_384

  private var steps: [Step] = []
  /// Nothing is known of the states before.
  private var start: HistoryPosition?

  func append(from base: HistoryPosition, to end: HistoryPosition) {
    steps.append(Step(base: base, end: end))
    guard steps.count > Self.maxCount else { return }
    let dropped = steps.count / 2
    start = steps[dropped - 1].end
    steps.removeFirst(dropped)
  }

  func removeAll() {
    steps = []
    start = nil
  }

  /// True if the state at `position` may lie within a step. O(log steps).
  func contains(_ position: HistoryPosition) -> Bool {
    if let start, !position.includes(start) { return true }
    let next = steps.partitionPoint { position.includes($0.end) }
    return next < steps.count && !steps[next].base.includes(position)
  }
}
