// One request and its response: a request enters; the head, the pieces of the body and the end leave
// as events, one per call of `next`.
//
// Back pressure: a piece of the body that arrives before the previous event was read pauses the
// connection, so the server cannot send faster than the reader reads.

import DequeModule
import Synchronization

/// Why a response did not arrive or is not complete.
package enum TransferError: Error, Sendable, Equatable {
  package enum Phase: Sendable { case connect, response, body }

  /// ``Transfer/cancel()`` was called, or the reading task was cancelled.
  case cancelled
  /// A limit of ``TransferTimeLimits`` has passed.
  case timedOut(Phase)
  /// No connection was made, so nothing was sent; the reason as a phrase.
  case notConnected(String)
  /// The connection broke, or carried something other than HTTP; the reason as a phrase.
  case failed(String)

  /// True if the server has received nothing of the request.
  package var isUnsent: Bool {
    switch self {
    case .notConnected, .timedOut(.connect): true
    case .cancelled, .timedOut, .failed: false
    }
  }
}

extension TransferError {
  /// Returns the reason as a phrase, such as `no connection within 10 s`.
  package func reason(within limits: TransferTimeLimits) -> String {
    switch self {
    case .cancelled: "cancelled"
    case .timedOut(.connect): "no connection within \(Int(limits.connect)) s"
    case .timedOut(.response): "no response within \(Int(limits.response)) s"
    case .timedOut(.body): "the response paused for more than \(Int(limits.idle)) s"
    case .notConnected(let reason), .failed(let reason): reason
    }
  }
}

/// A step of a transfer. The last one is `end` or `failed`.
package enum TransferEvent: Sendable, Equatable {
  case head(ResponseHead)
  case body([UInt8])
  case end
  case failed(TransferError)

  fileprivate var isLast: Bool {
    switch self {
    case .head, .body: false
    case .end, .failed: true
    }
  }
}

/// Carries out transfers: libcurl's on Linux, URLSession's on Apple platforms.
protocol TransferEngine: Sendable {
  /// Sends the request and passes each event to ``Transfer/receive(_:)``.
  func start(_ transfer: Transfer)
  /// Passes the piece that ``Transfer/receive(_:)`` refused again, and continues to read.
  func resume(_ transfer: Transfer)
  /// Closes the connection of a transfer that has not ended.
  func cancel(_ transfer: Transfer)
}

/// A request that was sent, and its response. Runs until it ends or is cancelled.
package final class Transfer: Sendable {
  package typealias Reader = @Sendable (TransferEvent) -> Void

  private struct State {
    /// Events that no reader has taken yet.
    var events: Deque<TransferEvent> = []
    var reader: Reader?
    /// The last event, once it is known. After the other events, every call of `next` returns it.
    var last: TransferEvent?
    /// True after `receive` has refused a piece, until the engine is resumed.
    var isPaused = false
  }

  package let request: ClientRequest
  private let engine: any TransferEngine
  /// Shared by the reader and the engine's thread. The lock is not held while a reader runs.
  private let state = Mutex(State())

  /// Sends `request`. A request that is not valid HTTP is not sent: `next` returns `notConnected`.
  package convenience init(_ request: ClientRequest) {
    self.init(request, on: systemEngine)
  }

  init(_ request: ClientRequest, on engine: any TransferEngine) {
    self.request = request
    self.engine = engine
    if let problem = request.problem {
      state.withLock { $0.last = .failed(.notConnected(problem)) }
    } else {
      engine.start(self)
    }
  }

  // MARK: - For the reader

  /// Calls `receive` once with the next event: before this method returns, on the engine's thread, or on
  /// the thread that calls ``cancel()``. `receive` must not block. One reader at a time; a second one
  /// receives `cancelled`.
  package func next(_ receive: @escaping Reader) {
    let (event, resumes): (TransferEvent?, Bool) = state.withLock { state in
      guard state.reader == nil else { return (.failed(.cancelled), false) }
      guard let event = state.events.popFirst() ?? state.last else {
        state.reader = receive
        return (nil, false)
      }
      defer { if state.events.isEmpty { state.isPaused = false } }
      return (event, state.isPaused && state.events.isEmpty)
    }
    if resumes { engine.resume(self) }
    if let event { receive(event) }
  }

  /// Returns the next event. Cancelling the task cancels the transfer.
  package func next() async -> TransferEvent {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        next { continuation.resume(returning: $0) }
      }
    } onCancel: {
      cancel()
    }
  }

  /// Ends the transfer and closes its connection. The reader receives `cancelled`. No effect after the
  /// last event.
  package func cancel() {
    let (isNew, reader): (Bool, Reader?) = state.withLock { state in
      guard state.last == nil else { return (false, nil) }
      state.last = .failed(.cancelled)
      state.events = []
      defer { state.reader = nil }
      return (true, state.reader)
    }
    guard isNew else { return }
    engine.cancel(self)
    reader?(.failed(.cancelled))
  }

  // MARK: - For the engine

  /// True once there is a last event: nothing further is received.
  var isFinished: Bool { state.withLock { $0.last != nil } }

  /// Passes `event` on to the reader or keeps it; false if the engine has to pause and to pass it
  /// again after ``TransferEngine/resume(_:)``.
  func receive(_ event: TransferEvent) -> Bool {
    let (isTaken, reader): (Bool, Reader?) = state.withLock { state in
      guard state.last == nil else { return (true, nil) }
      if event.isLast { state.last = event }
      if let reader = state.reader {
        state.reader = nil
        return (true, reader)
      }
      if event.isLast { return (true, nil) }
      if case .body = event, !state.events.isEmpty {
        state.isPaused = true
        return (false, nil)
      }
      state.events.append(event)
      return (true, nil)
    }
    reader?(event)
    return isTaken
  }
}
