// Counts the saves between their request and their response. Promises: a service that ends can wait
// until each of them has its response.

import LiveFetchThreads
import Synchronization

/// The saves that were passed to the store and have no response yet.
final class InFlightSaves: Sendable {
  private struct State {
    var count = 0
    var isClosed = false
  }

  // Protects the count.
  private let state = Mutex(State())
  private let done = MonotonicSemaphore()

  /// Counts one more save. Returns false once the server ends: the save must not be executed.
  func begin() -> Bool {
    state.withLock { state in
      if !state.isClosed { state.count += 1 }
      return !state.isClosed
    }
  }

  /// True if there is at most one save.
  var isAlone: Bool { state.withLock { $0.count <= 1 } }

  /// Counts a save less, because it has its response.
  func end() {
    let isLast = state.withLock { state in
      state.count -= 1
      return state.isClosed && state.count == 0
    }
    if isLast { done.signal() }
  }

  /// Lets no further save begin.
  func close() { state.withLock { $0.isClosed = true } }

  /// Waits until every save has its response; false if that takes longer. Call ``close()`` before.
  func wait(seconds: Double) -> Bool {
    if state.withLock({ $0.count == 0 }) { return true }
    return done.wait(seconds: seconds)
  }
}
