// The engine's answers → the tasks that wait for them.

import LiveQueries
import Synchronization

/// A task that waits for one answer of the engine.
final class ContinuationWaiter: LiveWaiter {
  typealias Continuation = CheckedContinuation<LiveAnswer?, Never>

  private enum State {
    case idle
    case waiting(Continuation)
    case ended
  }

  // Guards the one resumption: the answer, the cancellation and the beginning may come in any order.
  private let state = Mutex(State.idle)

  /// Takes the task's continuation; false if the wait was cancelled before, which resumes it.
  func begin(_ continuation: Continuation) -> Bool {
    let hasBegun = state.withLock { state in
      guard case .idle = state else { return false }
      state = .waiting(continuation)
      return true
    }
    if !hasBegun { continuation.resume(returning: nil) }
    return hasBegun
  }

  /// Resumes the task with `answer`, once; nil where there will be none.
  func end(_ answer: LiveAnswer?) {
    let continuation: Continuation? = state.withLock { state in
      defer { state = .ended }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume(returning: answer)
  }
}

/// Hands the engine's answers on to waiting tasks.
struct ContinuationDelivery: LiveDelivery {
  func deliver(_ answer: LiveAnswer, to waiters: [any LiveWaiter]) {
    for waiter in waiters { (waiter as? ContinuationWaiter)?.end(answer) }
  }
}

extension SaveReceipt {
  init(_ result: SaveResult) {
    self.init(
      token: result.token.description,
      ids: Dictionary(result.ids.map { ($0.name, $0.id) }) { $1 },
      inserted: result.inserted, updated: result.updated, deleted: result.deleted)
  }
}
