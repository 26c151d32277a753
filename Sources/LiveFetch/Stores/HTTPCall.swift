// One request of a URL session, awaited. Foundation's tasks are never cancelled: on Linux, cancelling
// one that is just ending ends the process, or waits under its lock for the queue that resumes it. Who
// is cancelled goes on at once; the request ends by itself when its hold is over.

import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A call whose wait can be cancelled at any moment.
final class HTTPCall: Sendable {
  typealias Answer = Result<(Data, URLResponse), any Error>

  private enum State {
    case idle
    case waiting(CheckedContinuation<Answer, Never>)
    case ended
  }

  // Guards the one resumption: the answer and the cancellation may come in any order.
  private let state = Mutex(State.idle)

  /// Sends `request`, once; the task that waits may be cancelled.
  func answer(to request: URLRequest, in session: URLSession) async -> Answer {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard begin(continuation) else { return }
        session.dataTask(with: request) { data, response, error in
          if let response, error == nil {
            self.end(.success((data ?? Data(), response)))
          } else {
            self.end(.failure(error ?? URLError(.unknown)))
          }
        }.resume()
      }
    } onCancel: {
      end(.failure(URLError(.cancelled)))
    }
  }

  /// Takes the waiting task; false if it was cancelled before, which resumes it.
  private func begin(_ continuation: CheckedContinuation<Answer, Never>) -> Bool {
    let hasBegun = state.withLock { state in
      guard case .idle = state else { return false }
      state = .waiting(continuation)
      return true
    }
    if !hasBegun { continuation.resume(returning: .failure(URLError(.cancelled))) }
    return hasBegun
  }

  private func end(_ answer: Answer) {
    let continuation: CheckedContinuation<Answer, Never>? = state.withLock { state in
      defer { state = .ended }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume(returning: answer)
  }
}
