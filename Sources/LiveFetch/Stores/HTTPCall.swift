// One request of a URL session, awaited. Foundation's own async call is not used: on Linux, cancelling
// it waits, under the lock of the task, for the queue that may just be resuming that task.

import Dispatch
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A call that can be cancelled at any moment.
final class HTTPCall: Sendable {
  // Guards the session's task from the moment it is there.
  private let task = Mutex<URLSessionDataTask?>(nil)

  /// Sends `request`, once; the task that waits may be cancelled.
  func answer(
    to request: URLRequest, in session: URLSession
  ) async -> Result<(Data, URLResponse), any Error> {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let task = session.dataTask(with: request) { data, response, error in
          if let data, let response {
            continuation.resume(returning: .success((data, response)))
          } else {
            continuation.resume(returning: .failure(error ?? URLError(.unknown)))
          }
        }
        self.task.withLock { $0 = task }
        task.resume()
        if Task.isCancelled { task.cancel() }
      }
    } onCancel: {
      DispatchQueue.global().async { self.task.withLock { $0 }?.cancel() }
    }
  }
}
