// A LiveFetch server as an object store, over HTTP.

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A store behind a LiveFetch server.
///
/// Whatever a network or a gateway puts in place of the server's answer (a 502, 503 or 504 of any
/// form, a 429, a page, half an answer) is ``ObjectStoreError/unreachable(_:)``: who follows a fetch
/// is offline then, tries again and goes on from its token. A refusal of the server's own is final.
public final class RemoteStore: ObjectStore {
  /// How the server tells what changes in a fetch.
  public enum Transport: Sendable {
    /// A request for each change, held by the server until there is one. Gets through everywhere.
    case longPoll
    /// Server-sent events over a connection of its own for each fetch that is followed. Changes come
    /// without a request, and who stops following is gone at once.
    ///
    /// Spoken over `http` alone, straight to the server. Over `https`, and for five minutes where
    /// something in between holds the events back, it is long polls instead.
    case stream
  }

  public let transport: Transport
  private let address: URL
  private let token: String?
  private let session: URLSession

  /// - Parameters:
  ///   - address: of the server: `http://127.0.0.1:8080`.
  ///   - token: the bearer token, where the server asks for one.
  ///   - transport: how fetches are followed.
  public init(_ address: URL, token: String? = nil, transport: Transport = .longPoll) {
    self.address = address
    self.token = token
    self.transport = transport
    let configuration = URLSessionConfiguration.ephemeral
    // A held request is answered after a minute at the latest; the rest is the network's.
    configuration.timeoutIntervalForRequest = 90
    configuration.httpMaximumConnectionsPerHost = 512
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    session = URLSession(configuration: configuration)
  }

  /// Whoever waits keeps the store: requests that nobody waits for alone are left, and end by themselves.
  deinit { session.finishTasksAndInvalidate() }

  public func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    try await post("/v1/fetch", request, timeout: request["since"] == nil ? nil : held(request))
  }

  /// How long the answer to a held request may take.
  private func held(_ request: JSON) -> Double {
    guard case .number(let text)? = request["wait"], let wait = Double(text) else { return 45 }
    return wait + 20
  }

  /// Makes a save under an idempotency key of its own. Where the answer is lost (the connection broke,
  /// a gateway gave up) it is asked for once more under the same key, so the save is made once.
  ///
  /// - Throws: ``ObjectStoreError``. Where it is `unreachable` without an ``Outage/code`` the save may
  ///   have been made; ``save(_:idempotencyKey:)`` lets a caller find out.
  public func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    try await save(request, idempotencyKey: UUID().uuidString)
  }

  /// Makes a save that may be asked for again: for 24 hours the same save under the same key is made
  /// once, and answered as the first time.
  ///
  /// - Parameter idempotencyKey: 1 to 255 printable ASCII characters.
  /// - Throws: as ``save(_:)``; `idempotency-key-reused` where the key was another save's.
  public func save(
    _ request: JSON, idempotencyKey: String
  ) async throws(ObjectStoreError) -> SaveReceipt {
    let answer: JSON
    do throws(ObjectStoreError) {
      answer = try await post("/v1/save", request, idempotencyKey: idempotencyKey)
    } catch .unreachable(let outage) where outage.isAnswerLost {
      let pause = min(outage.retryAfter ?? 0.2, 5) * Double.random(in: 1...1.25)
      do { try await Task.sleep(for: .seconds(pause)) } catch { throw .cancelled }
      answer = try await post("/v1/save", request, idempotencyKey: idempotencyKey)
    }
    guard let receipt = SaveReceipt(json: answer) else { throw .notUnderstood("no save's answer") }
    return receipt
  }

  public func changes(since token: String) async throws(ObjectStoreError) -> JSON {
    let path = address.appendingPathComponent("/v1/changes")
    guard var parts = URLComponents(url: path, resolvingAgainstBaseURL: false) else {
      throw .notUnderstood("no address")
    }
    parts.queryItems = [.init(name: "since", value: token), .init(name: "wait", value: "0")]
    guard let url = parts.url else { throw .notUnderstood("no address") }
    return try await answer(to: URLRequest(url: url))
  }

  public func feed(of request: JSON) -> any FetchFeed {
    let polls = PolledFeed(store: self, request: request.members)
    guard transport == .stream, let server = EventServer(address, token: token) else {
      return polls
    }
    return EventFeed(server, request: request.members, polls: polls)
  }

  private func post(
    _ path: String, _ body: JSON, idempotencyKey: String? = nil, timeout: Double? = nil
  ) async throws(ObjectStoreError) -> JSON {
    var request = URLRequest(url: address.appendingPathComponent(path))
    request.httpMethod = "POST"
    request.httpBody = Data(body.bytes)
    if let timeout { request.timeoutInterval = timeout }
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    if let idempotencyKey {
      request.setValue(idempotencyKey, forHTTPHeaderField: "Idempotency-Key")
    }
    return try await answer(to: request)
  }

  private func answer(to request: URLRequest) async throws(ObjectStoreError) -> JSON {
    var request = request
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    switch await HTTPCall().answer(to: request, in: session) {
    case .success((let data, let response)):
      guard let response = response as? HTTPURLResponse else {
        throw .unreachable(Outage("no HTTP answer"))
      }
      return try RemoteAnswer(
        status: response.statusCode, body: Array(data),
        retryAfter: response.value(forHTTPHeaderField: "Retry-After")
      ).json()
    case .failure(let error):
      if Task.isCancelled { throw .cancelled }
      throw .unreachable(Outage(error.localizedDescription))
    }
  }
}
