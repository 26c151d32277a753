// The one answer that a task waits for: the answer, the cancellation and the beginning of the wait come in
// any order, and the first answer counts.

import Synchronization

/// A task that waits for one answer.
final class OneAnswer<Answer: Sendable>: Sendable {
  typealias Continuation = CheckedContinuation<Answer, Never>

  private enum State {
    case idle
    case waiting(Continuation)
    case ended(Answer)
  }

  // Guards the one resumption.
  private let state = Mutex(State.idle)

  /// Takes the task's continuation; false if the answer was there before, which resumes it.
  func begin(_ continuation: Continuation) -> Bool {
    let early: Answer? = state.withLock { state in
      if case .ended(let answer) = state { return answer }
      state = .waiting(continuation)
      return nil
    }
    if let early { continuation.resume(returning: early) }
    return early == nil
  }

  /// Resumes the task with `answer`, once.
  func end(_ answer: Answer) {
    let continuation: Continuation? = state.withLock { state in
      if case .ended = state { return nil }
      defer { state = .ended(answer) }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume(returning: answer)
  }
}
