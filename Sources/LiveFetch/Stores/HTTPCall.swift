// One request of a URL session, awaited. Foundation's tasks are never cancelled: on Linux, cancelling
// one that is just ending ends the process, or waits under its lock for the queue that resumes it. Who
// is cancelled goes on at once; the request ends by itself when its hold is over.

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A call whose wait can be cancelled at any moment.
enum HTTPCall {
  typealias Answer = Result<(Data, URLResponse), any Error>

  /// Sends `request`; the task that waits may be cancelled.
  static func answer(to request: URLRequest, in session: URLSession) async -> Answer {
    let waiting = OneAnswer<Answer>()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard waiting.begin(continuation) else { return }
        session.dataTask(with: request) { data, response, error in
          if let response, error == nil {
            waiting.end(.success((data ?? Data(), response)))
          } else {
            waiting.end(.failure(error ?? URLError(.unknown)))
          }
        }.resume()
      }
    } onCancel: {
      waiting.end(.failure(URLError(.cancelled)))
    }
  }
}
