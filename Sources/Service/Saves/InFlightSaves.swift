// Counts the saves that have no response yet. A service that ends refuses further saves, and waits until the count
// is 0.

import LiveFetchThreads
import Synchronization

/// The saves that were passed to the store and have no response yet.
final class InFlightSaves: Sendable {
  private struct State {
    var count = 0
    var isClosed = false
  }

  // Protects the count, and whether further saves are refused.
  private let state = Mutex(State())
  /// Signalled once, when the last save has its response after ``close()``.
  private let done = MonotonicSemaphore()

  /// Adds a save to the count. Returns false after ``close()``: the save must not be executed.
  func begin() -> Bool {
    state.withLock { state in
      if !state.isClosed { state.count += 1 }
      return !state.isClosed
    }
  }

  /// True if the count is 0 or 1.
  var hasAtMostOne: Bool { state.withLock { $0.count <= 1 } }

  /// Removes a save from the count, because it has its response.
  func end() {
    let isLast = state.withLock { state in
      state.count -= 1
      return state.isClosed && state.count == 0
    }
    if isLast { done.signal() }
  }

  /// Refuses further saves.
  func close() { state.withLock { $0.isClosed = true } }

  /// Blocks until every save has its response. Returns false if that takes longer than `seconds`. Requires that
  /// ``close()`` was called before.
  func wait(seconds: Double) -> Bool {
    if state.withLock({ $0.count == 0 }) { return true }
    return done.wait(seconds: seconds)
  }
}
