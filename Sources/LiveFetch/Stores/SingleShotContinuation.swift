// A task that waits for one value. The value, the cancellation and the beginning of the wait come in any
// order; the first value counts.

import Synchronization

/// Resumes one waiting task, once.
final class SingleShotContinuation<Value: Sendable>: Sendable {
  typealias Continuation = CheckedContinuation<Value, Never>

  private enum State {
    case idle
    case waiting(Continuation)
    case ended(Value)
  }

  // Protects the one resumption.
  private let state = Mutex(State.idle)

  /// Takes the task's continuation; false if there is a value already, which resumes the task.
  func begin(_ continuation: Continuation) -> Bool {
    let early: Value? = state.withLock { state in
      if case .ended(let value) = state { return value }
      state = .waiting(continuation)
      return nil
    }
    if let early { continuation.resume(returning: early) }
    return early == nil
  }

  /// Resumes the task with `value`. A second call does nothing and returns false.
  @discardableResult
  func end(_ value: Value) -> Bool {
    let (continuation, isFirst): (Continuation?, Bool) = state.withLock { state in
      if case .ended = state { return (nil, false) }
      defer { state = .ended(value) }
      if case .waiting(let continuation) = state { return (continuation, true) }
      return (nil, true)
    }
    continuation?.resume(returning: value)
    return isFirst
  }
}

extension SingleShotContinuation {
  /// Waits for the value, or until the task is cancelled, which gives `cancelled`.
  ///
  /// - Parameter began: called when the wait has begun; not if there is a value already.
  func value(cancelled: Value, _ began: @Sendable () -> Void) async -> Value {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in if begin(continuation) { began() } }
    } onCancel: {
      end(cancelled)
    }
  }

  /// Waits for `value`, or until the task is cancelled, which gives `cancelled`. `value` goes on then.
  static func value(
    cancelled: Value, _ value: @escaping @Sendable () async -> Value
  ) async -> Value {
    let waiter = SingleShotContinuation()
    return await waiter.value(cancelled: cancelled) {
      Task { waiter.end(await value()) }
    }
  }
}
