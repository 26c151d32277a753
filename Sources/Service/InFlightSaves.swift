// Saves between their request and their answer, so that the answer tells what became of each.

import Synchronization
import Threads

/// Counts saves until the server ends.
final class InFlightSaves: Sendable {
  private struct State {
    var count = 0
    var isClosed = false
  }

  // Guards the count.
  private let state = Mutex(State())
  private let done = MonotonicSemaphore()

  /// Counts one more; false once the server ends: the save is not to be made.
  func begin() -> Bool {
    state.withLock { state in
      if !state.isClosed { state.count += 1 }
      return !state.isClosed
    }
  }

  /// True where there is one at most.
  var isAlone: Bool { state.withLock { $0.count <= 1 } }

  /// One has been answered.
  func end() {
    let isLast = state.withLock { state in
      state.count -= 1
      return state.isClosed && state.count == 0
    }
    if isLast { done.signal() }
  }

  /// Lets no more begin.
  func close() { state.withLock { $0.isClosed = true } }

  /// Waits until every save that began is answered; false where that takes longer. After
  /// ``close()``.
  func wait(seconds: Double) -> Bool {
    if state.withLock({ $0.count == 0 }) { return true }
    return done.wait(seconds: seconds)
  }
}
