// A LiveFetch server as an object store, over HTTP.

import Foundation
import Synchronization

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
  // Guards what the model was found to say.
  private let destinations = Mutex<RelationshipDestinations??>(nil)
  /// Over `http`.
  private let host: RemoteHost?
  /// Over `https`, and whatever else sockets alone cannot speak.
  private let session: URLSession?

  /// - Parameters:
  ///   - address: of the server: `http://127.0.0.1:8080`.
  ///   - token: the bearer token, where the server asks for one.
  ///   - transport: how fetches are followed.
  public init(_ address: URL, token: String? = nil, transport: Transport = .longPoll) {
    self.address = address
    self.token = token
    self.transport = transport
    host = RemoteHost(address, token: token)
    session = host == nil ? Self.makeSession() : nil
  }

  private static func makeSession() -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    // A held request is answered after a minute at the latest; the rest is the network's.
    configuration.timeoutIntervalForRequest = 90
    configuration.httpMaximumConnectionsPerHost = 512
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    return URLSession(configuration: configuration)
  }

  /// Whoever waits keeps the store: requests that nobody waits for alone are left, and end by themselves.
  deinit { session?.finishTasksAndInvalidate() }

  public func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    try await post("/v1/fetch", request, timeout: request["since"] == nil ? nil : held(request))
  }

  /// How long the answer to a held request may take: what no server grants is not waited for.
  private func held(_ request: JSON) -> Double {
    guard case .number(let text)? = request["wait"], let wait = Double(text) else { return 45 }
    return min(max(0, wait), 3_600) + 20
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
  /// - Parameters:
  ///   - request: the changes, as ``save(_:)`` takes them.
  ///   - idempotencyKey: 1 to 255 printable ASCII characters.
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
    try await send("GET", "/v1/changes?since=\(PercentEncoding.encodeSegment(token))&wait=0")
  }

  /// As the server's model says, which is asked for once. Where it does not tell, nothing is known.
  public func relationshipDestinations() async -> RelationshipDestinations? {
    if let known = destinations.withLock({ $0 }) { return known }
    do throws(ObjectStoreError) {
      let found = RelationshipDestinations(json: try await send("GET", "/v1/model"))
      destinations.withLock { $0 = .some(found) }
      return found
    } catch {
      if !error.mayPass { destinations.withLock { $0 = .some(nil) } }
      return nil
    }
  }

  public func feed(of request: JSON) -> any FetchFeed {
    let polls = PolledFeed(store: self, request: request.members)
    guard transport == .stream, let host else { return polls }
    return EventFeed(host, request: request.members, polls: polls)
  }

  private func post(
    _ path: String, _ body: JSON, idempotencyKey: String? = nil, timeout: Double? = nil
  ) async throws(ObjectStoreError) -> JSON {
    if let key = idempotencyKey, !key.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) {
      throw .notUnderstood("an idempotency key is printable ASCII")
    }
    let headers = idempotencyKey.map { [("Idempotency-Key", $0)] } ?? []
    return try await send("POST", path, headers, body.bytes, timeout ?? 90)
  }

  private func send(
    _ method: String, _ target: String, _ headers: [(String, String)] = [], _ body: [UInt8] = [],
    _ timeout: Double = 90
  ) async throws(ObjectStoreError) -> JSON {
    guard let session else {
      guard let host else { throw .notUnderstood("no address") }
      return try await host.answer(
        method, target, headers.map { "\($0.0): \($0.1)" }, body: body, timeout: timeout
      ).json()
    }
    let request = try request(method, target, headers, body, timeout)
    return try Self.answer(await HTTPCall.answer(to: request, in: session)).json()
  }

  // MARK: - Through a session

  private func request(
    _ method: String, _ target: String, _ headers: [(String, String)], _ body: [UInt8],
    _ timeout: Double
  ) throws(ObjectStoreError) -> URLRequest {
    var base = address.absoluteString
    while base.hasSuffix("/") { base.removeLast() }
    guard let url = URL(string: base + target) else { throw .notUnderstood("no address") }
    var request = URLRequest(url: url, timeoutInterval: timeout)
    request.httpMethod = method
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    guard !body.isEmpty else { return request }
    request.httpBody = Data(body)
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    return request
  }

  private static func answer(
    _ result: HTTPCall.Answer
  ) throws(ObjectStoreError) -> RemoteAnswer {
    switch result {
    case .success((let data, let response)):
      guard let response = response as? HTTPURLResponse else {
        throw .unreachable(Outage("no HTTP answer"))
      }
      return RemoteAnswer(
        status: response.statusCode, body: Array(data),
        retryAfter: response.value(forHTTPHeaderField: "Retry-After"))
    case .failure(let error):
      if Task.isCancelled { throw .cancelled }
      throw .unreachable(Outage(error.localizedDescription))
    }
  }
}
