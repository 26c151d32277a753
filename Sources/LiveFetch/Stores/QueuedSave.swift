// A save that was given to a store: made, or kept by the store until it can be made.

import Synchronization

/// The result of ``ObjectStore/submit(_:idempotencyKey:)``.
public enum SubmittedSave: Sendable {
  /// The store made the save.
  case made(SaveReceipt)
  /// The store keeps the save, and makes it when it can. It survives the end of the program.
  case queued(QueuedSave)
}

/// A save that waits in a store's queue.
public final class QueuedSave: Sendable {
  typealias Answer = Result<SaveReceipt, ObjectStoreError>

  enum Phase: Sendable {
    /// The server has not received it.
    case waiting
    /// The server may have made it.
    case sent
    case answered(Answer)
  }

  private struct State {
    var phase = Phase.waiting
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  // Protects the phase and the callers that wait for the next one.
  private let state = Mutex(State())

  init() {}

  /// The answer; nil if there is none yet.
  var answer: Answer? { if case .answered(let answer) = phase { answer } else { nil } }

  /// False while the server may have made the save without an answer.
  var isCertain: Bool { if case .sent = phase { false } else { true } }

  private var phase: Phase { state.withLock { $0.phase } }

  func enter(_ phase: Phase) {
    let waiters = state.withLock { state in
      state.phase = phase
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Waits for the answer.
  func ended() async { await wait { if case .answered = $0 { true } else { false } } }

  /// Waits until the save certainly was not made, or has its answer.
  func certain() async { await wait { if case .sent = $0 { false } else { true } } }

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
