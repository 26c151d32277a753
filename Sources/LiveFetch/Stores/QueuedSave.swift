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
    var receiver: SingleShotContinuation<Answer?>?
  }

  // Protects the phase and the callers that wait for the next one.
  private let state = Mutex(State())

  init() {}

  /// The answer; nil if there is none yet.
  var answer: Answer? { if case .answered(let answer) = phase { answer } else { nil } }

  /// False while the server may have made the save without an answer.
  var isCertain: Bool { if case .sent = phase { false } else { true } }

  private var phase: Phase { state.withLock { $0.phase } }

  /// - Returns: true if a caller of ``received()`` gets the answer.
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

  /// Waits for the answer, for one caller that throws it if it is a refusal, so that the store reports
  /// it nowhere else.
  ///
  /// - Returns: nil if the task is cancelled before.
  func received() async -> Answer? {
    let receiver = SingleShotContinuation<Answer?>()
    return await receiver.value(cancelled: nil) {
      state.withLock { $0.receiver = receiver }
      // The answer may have come before.
      if let answer { receiver.end(answer) }
    }
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
