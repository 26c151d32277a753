// A save that was given to a store → its state: waiting, sent or answered. Callers wait for the answer, or
// until the state is certain. Errors are part of the answer.

import Synchronization

/// The result of ``ObjectStore/submit(_:idempotencyKey:)``.
public enum SubmittedSave: Sendable {
  /// The store executed the save.
  case made(SaveReceipt)
  /// The store keeps the save, and executes it when it can. It survives the end of the program.
  case queued(QueuedSave)
}

/// A save that waits in a store's queue.
public final class QueuedSave: Sendable {
  typealias Answer = Result<SaveReceipt, ObjectStoreError>

  enum Phase: Sendable {
    /// The server has not received it.
    case waiting
    /// The server may have executed it.
    case sent
    case answered(Answer)
  }

  private struct State {
    var phase = Phase.waiting
    var waiters: [CheckedContinuation<Void, Never>] = []
    var receiver: SingleShotContinuation<Answer?>?
  }

  // Protects the phase, and the callers that wait for the next one or for the answer.
  private let state = Mutex(State())

  init() {}

  /// The answer; nil if there is none yet.
  var answer: Answer? { if case .answered(let answer) = phase { answer } else { nil } }

  /// False while the server may have executed the save without an answer.
  var isCertain: Bool { if case .sent = phase { false } else { true } }

  private var phase: Phase { state.withLock { $0.phase } }

  /// Sets the phase and resumes the waiters.
  ///
  /// - Returns: true if a caller of ``waitForAnswer()`` gets the answer.
  @discardableResult
  func enter(_ phase: Phase) -> Bool {
    let (waiters, receiver) = state.withLock { state in
      state.phase = phase
      defer { state.waiters = [] }
      return (state.waiters, state.receiver)
    }
    for waiter in waiters { waiter.resume() }
    guard case .answered(let answer) = phase else { return false }
    return receiver?.end(answer) ?? false
  }

  /// Waits for the answer. The caller reports a refusal itself, so the store does not, unless the answer
  /// came before this call. For one caller only.
  ///
  /// - Returns: nil if the task is cancelled before.
  func waitForAnswer() async -> Answer? {
    let receiver = SingleShotContinuation<Answer?>()
    return await receiver.value(cancelled: nil) {
      state.withLock { $0.receiver = receiver }
      // The answer may have come before.
      if let answer { receiver.end(answer) }
    }
  }

  /// Waits for the answer, also if the task is cancelled.
  func waitUntilAnswered() async { await wait { if case .answered = $0 { true } else { false } } }

  /// Waits until the server certainly has not executed the save, or has answered, also if the task is
  /// cancelled.
  func waitUntilCertain() async { await wait { if case .sent = $0 { false } else { true } } }

  private func wait(until isReached: @Sendable (Phase) -> Bool) async {
    while !isReached(phase) {
      await withCheckedContinuation { continuation in
        let isLate = state.withLock { state in
          if isReached(state.phase) { return true }
          state.waiters.append(continuation)
          return false
        }
        if isLate { continuation.resume() }
      }
    }
  }
}
