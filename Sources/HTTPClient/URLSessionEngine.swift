// Transfers through URLSession, on Apple platforms: with the system's certificates and proxies.

#if canImport(Darwin)

  import Dispatch
  import Foundation
  import Synchronization

  /// The engine of this platform.
  let systemEngine: any TransferEngine = URLSessionEngine()

  final class URLSessionEngine: NSObject, TransferEngine, URLSessionDataDelegate,
    @unchecked Sendable
  {
    private struct Active {
      let transfer: Transfer
      let task: URLSessionDataTask
      /// A piece that the reader did not take yet; the task is suspended meanwhile.
      var refused: Data?
      /// Pieces that arrived after the task was suspended.
      var later: [Data] = []
      /// The last event, if it arrived while pieces wait.
      var last: TransferEvent?
      var hasBody = false
    }

    private static let queue = DispatchQueue(label: "livefetch.http-client")
    // Created on first use, with this object as its delegate; then it never changes.
    private lazy var session = makeSession()
    /// By the task's identifier. Belongs to the queue, as do the delegate's methods.
    private var transfers: [Int: Active] = [:]
    private var identifiers: [ObjectIdentifier: Int] = [:]

    private func makeSession() -> URLSession {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = 512
      configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
      configuration.httpShouldSetCookies = false
      let operations = OperationQueue()
      operations.underlyingQueue = Self.queue
      operations.maxConcurrentOperationCount = 1
      return URLSession(configuration: configuration, delegate: self, delegateQueue: operations)
    }

    func start(_ transfer: Transfer) { Self.queue.async { self.begin(transfer) } }

    func resume(_ transfer: Transfer) { Self.queue.async { self.readOn(transfer) } }

    func cancel(_ transfer: Transfer) {
      Self.queue.async {
        guard let id = self.identifiers[ObjectIdentifier(transfer)] else { return }
        self.remove(id)?.cancel()
      }
    }

    // MARK: - On the queue

    private func begin(_ transfer: Transfer) {
      guard !transfer.isFinished else { return }
      let request = transfer.request
      guard let url = URL(string: request.url) else {
        _ = transfer.receive(.failed(.failed("the address is malformed")))
        return
      }
      let limits = request.limits
      var urlRequest = URLRequest(url: url, timeoutInterval: max(limits.response, limits.idle))
      urlRequest.httpMethod = request.method
      for (name, value) in request.headers { urlRequest.addValue(value, forHTTPHeaderField: name) }
      if !request.body.isEmpty { urlRequest.httpBody = Data(request.body) }
      let task = session.dataTask(with: urlRequest)
      transfers[task.taskIdentifier] = Active(transfer: transfer, task: task)
      identifiers[ObjectIdentifier(transfer)] = task.taskIdentifier
      task.resume()
      // The session's own limit is for every phase; a shorter one for the beginning is added.
      guard limits.response < limits.idle else { return }
      let id = task.taskIdentifier
      Self.queue.asyncAfter(deadline: .now() + limits.connect + limits.response) {
        guard let active = self.transfers[id], active.transfer === transfer, !active.hasBody else {
          return
        }
        self.remove(id)?.cancel()
        _ = transfer.receive(.failed(.timedOut(.response)))
      }
    }

    @discardableResult
    private func remove(_ id: Int) -> URLSessionDataTask? {
      guard let active = transfers.removeValue(forKey: id) else { return nil }
      identifiers[ObjectIdentifier(active.transfer)] = nil
      return active.task
    }

    private func readOn(_ transfer: Transfer) {
      guard let id = identifiers[ObjectIdentifier(transfer)],
        let refused = transfers[id]?.refused
      else { return }
      transfers[id]?.refused = nil
      var pieces = [refused] + (transfers[id]?.later ?? [])
      transfers[id]?.later = []
      while !pieces.isEmpty {
        guard transfer.receive(.body([UInt8](pieces[0]))) else {
          transfers[id]?.refused = pieces.removeFirst()
          transfers[id]?.later = pieces
          return
        }
        pieces.removeFirst()
      }
      if let last = transfers[id]?.last {
        remove(id)
        _ = transfer.receive(last)
      } else {
        transfers[id]?.task.resume()
      }
    }

    private func end(_ id: Int, _ event: TransferEvent) {
      guard let active = transfers[id] else { return }
      guard active.refused == nil else {
        transfers[id]?.last = event
        return
      }
      remove(id)
      _ = active.transfer.receive(event)
    }

    // MARK: - The delegate

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
      guard let active = transfers[dataTask.taskIdentifier],
        let response = response as? HTTPURLResponse
      else { return completionHandler(.cancel) }
      var headers: [String: String] = [:]
      for (name, value) in response.allHeaderFields {
        if let name = name as? String, let value = value as? String {
          headers[name.lowercased()] = value
        }
      }
      // Bodies arrive decompressed, so they have no encoding any more.
      headers["content-encoding"] = nil
      _ = active.transfer.receive(
        .head(ResponseHead(status: response.statusCode, headers: headers)))
      completionHandler(.allow)
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data
    ) {
      let id = dataTask.taskIdentifier
      guard let active = transfers[id] else { return }
      transfers[id]?.hasBody = true
      if active.refused != nil {
        transfers[id]?.later.append(data)
      } else if !active.transfer.receive(.body([UInt8](data))) {
        transfers[id]?.refused = data
        dataTask.suspend()
      }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
      guard let error else { return end(task.taskIdentifier, .end) }
      let hasBody = transfers[task.taskIdentifier]?.hasBody == true
      switch (error as? URLError)?.code {
      case .cancelled: end(task.taskIdentifier, .failed(.cancelled))
      case .timedOut:
        end(task.taskIdentifier, .failed(.timedOut(hasBody ? .body : .response)))
      case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet,
        .secureConnectionFailed, .serverCertificateUntrusted,
        .appTransportSecurityRequiresSecureConnection:
        end(task.taskIdentifier, .failed(.notConnected(error.localizedDescription)))
      default: end(task.taskIdentifier, .failed(.failed(error.localizedDescription)))
      }
    }

    /// Redirections are responses like others.
    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
      completionHandler: @escaping (URLRequest?) -> Void
    ) {
      completionHandler(nil)
    }
  }

#endif
