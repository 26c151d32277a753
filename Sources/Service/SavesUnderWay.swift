// Saves between their request and their answer, so that none is made and then not told.

import Synchronization
import Threads

/// Counts saves until the server ends.
final class SavesUnderWay: Sendable {
  private struct State {
    var count = 0
    var isFinishing = false
  }

  // Guards the count; held for moments only.
  private let state = Mutex(State())
  private let done = TimedSignal()

  /// Counts one more; false once the server ends: the save is not to be made.
  func begin() -> Bool {
    state.withLock { state in
      if !state.isFinishing { state.count += 1 }
      return !state.isFinishing
    }
  }

  /// Whether there is one at most.
  var isAlone: Bool { state.withLock { $0.count <= 1 } }

  /// One has been answered.
  func end() {
    let isLast = state.withLock { state in
      state.count -= 1
      return state.isFinishing && state.count == 0
    }
    if isLast { done.signal() }
  }

  /// Lets no more begin, and waits for the answers of those that did.
  func finish(seconds: Double = 10) {
    let mustWait = state.withLock { state in
      defer { state.isFinishing = true }
      return !state.isFinishing && state.count > 0
    }
    if mustWait { _ = done.wait(seconds: seconds) }
  }
}
