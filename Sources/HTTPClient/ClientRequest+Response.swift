// A request → its whole response, awaited by a task or by a thread.

import Dispatch
import Synchronization

extension ClientRequest {
  /// Sends the request and returns the whole response. Cancelling the task closes the connection.
  package func response() async throws(TransferError) -> ClientResponse {
    let transfer = Transfer(self)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        ResponseCollector(transfer).collect { continuation.resume(returning: $0) }
      }
    } onCancel: {
      transfer.cancel()
    }
    return try result.get()
  }

  /// Sends the request and returns the whole response. Blocks the thread, so it must not be a thread of
  /// Swift's cooperative pool.
  package func waitForResponse() throws(TransferError) -> ClientResponse {
    let done = DispatchSemaphore(value: 0)
    let result = Mutex(Result<ClientResponse, TransferError>.failure(.cancelled))
    ResponseCollector(Transfer(self)).collect { collected in
      result.withLock { $0 = collected }
      done.signal()
    }
    done.wait()
    return try result.withLock { $0 }.get()
  }
}

/// Reads the events of a transfer on the engine's thread until the last one.
private final class ResponseCollector: Sendable {
  typealias Completion = @Sendable (Result<ClientResponse, TransferError>) -> Void

  private let transfer: Transfer
  // Protects what has arrived. One event at a time is read, so it is never contended.
  private let parts = Mutex<(head: ResponseHead?, body: [UInt8])>((nil, []))

  init(_ transfer: Transfer) { self.transfer = transfer }

  func collect(_ completion: @escaping Completion) {
    transfer.next { [self] event in
      switch event {
      case .head(let head): parts.withLock { $0.head = head }
      case .body(let piece):
        guard append(piece) else {
          transfer.cancel()
          let most = transfer.request.maxResponseBytes
          return completion(.failure(.failed("the response has more than \(most) bytes")))
        }
      case .end: return completion(whole)
      case .failed(let error): return completion(.failure(error))
      }
      collect(completion)
    }
  }

  /// False if the body is longer than the request allows.
  private func append(_ piece: [UInt8]) -> Bool {
    parts.withLock { parts in
      let left = transfer.request.maxResponseBytes - parts.body.count
      guard piece.count <= left else { return false }
      parts.body += piece
      return true
    }
  }

  private var whole: Result<ClientResponse, TransferError> {
    let (head, body) = parts.withLock { $0 }
    guard let head else { return .failure(.failed("the response has no head")) }
    return .success(ClientResponse(head: head, body: body))
  }
}
