// Where resumes are found out that take too long for the engine's thread: few at a time, on threads
// that end when there is nothing to do.

import Foundation
import Synchronization

/// A bounded queue of work with threads of its own.
final class ResumeLane: Sendable {
  private struct State {
    var queue: [@Sendable () -> Void] = []
    var threads = 0
  }

  private static let (mostThreads, mostWaiting) = (2, 1_000)
  // Guards the queue; never held while work runs.
  private let state = Mutex(State())

  /// Takes `work`; false where too much waits already.
  func run(_ work: @escaping @Sendable () -> Void) -> Bool {
    let needsThread: Bool? = state.withLock { state in
      guard state.queue.count < Self.mostWaiting else { return nil }
      state.queue.append(work)
      guard state.threads < Self.mostThreads else { return false }
      state.threads += 1
      return true
    }
    if needsThread == true { start() }
    return needsThread != nil
  }

  private func start() {
    let thread = Thread { [self] in
      while let work = next() { work() }
    }
    thread.name = "livefetch-resume"
    thread.stackSize = 8 << 20
    thread.start()
  }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      guard !state.queue.isEmpty else {
        state.threads -= 1
        return nil
      }
      return state.queue.removeFirst()
    }
  }
}
