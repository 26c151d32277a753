// A buffer between a sender and one reader in another isolation domain. Several values are read as
// one delivery, so a slow reader needs no more memory than a fast one.

import Synchronization

/// The buffered values.
protocol EventBufferContent: Sendable {
  associatedtype Delivery: Sendable

  /// True if no more values will be added; buffered ones can still be read.
  var isFinished: Bool { get set }
  /// Removes and returns the next delivery; nil if the buffer is empty.
  mutating func take() -> Delivery?
}

final class EventBuffer<Content: EventBufferContent>: Sendable {
  typealias Delivery = Content.Delivery

  private struct State {
    var content: Content
    var reader: CheckedContinuation<Delivery?, Never>?
  }

  // Protects the buffer; never held while the reader is resumed.
  private let state: Mutex<State>

  init(_ content: Content) { state = Mutex(State(content: content)) }

  var isFinished: Bool { state.withLock { $0.content.isFinished } }

  /// Changes the buffer without resuming the reader.
  func withLock<Result: Sendable>(_ change: (inout Content) -> Result) -> Result {
    state.withLock { change(&$0.content) }
  }

  /// Changes the buffer and resumes the reader if it is waiting.
  func put(_ change: (inout Content) -> Void) {
    let resumption: (CheckedContinuation<Delivery?, Never>, Delivery?)? = state.withLock { state in
      change(&state.content)
      guard let reader = state.reader else { return nil }
      let delivery = state.content.take()
      guard delivery != nil || state.content.isFinished else { return nil }
      state.reader = nil
      return (reader, delivery)
    }
    resumption.map { $0.resume(returning: $1) }
  }

  /// Adds no more values, and resumes the reader if it is waiting.
  func finish() { put { $0.isFinished = true } }

  /// The next delivery; nil after the end or if the task is cancelled, which finishes the content.
  func next() async -> Delivery? { await next { self.finish() } }

  /// The next delivery; nil after the end or if the task is cancelled.
  ///
  /// - Parameter cancel: finishes the content.
  func next(onCancel cancel: @Sendable () -> Void) async -> Delivery? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let delivery: Delivery?? = state.withLock { state in
          if let delivery = state.content.take() { return delivery }
          let isOver = state.content.isFinished || state.reader != nil || Task.isCancelled
          if isOver { return .some(nil) }
          state.reader = continuation
          return nil
        }
        if let delivery { continuation.resume(returning: delivery) }
      }
    } onCancel: {
      cancel()
    }
  }
}
