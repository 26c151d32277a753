// A LiveFetch server as an object store, over HTTP.

import Bytes
import FetchModel
import Foundation
import HTTPClient
import Synchronization

/// A store behind a LiveFetch server.
///
/// A network or a gateway may send something in place of the server's response: a 502, 503 or 504 of any
/// form, a 429, an HTML page, a truncated response. Each of these is
/// ``ObjectStoreError/unreachable(_:)``: a results controller is offline then, tries again and continues
/// from its token. A problem response of the server itself is final.
public final class RemoteStore: ModelledStore {
  /// The protocol by which the server reports the changes of a fetch.
  public enum Transport: Sendable {
    /// A request for each change, held by the server until there is one. Works through every proxy.
    case longPoll
    /// Server-sent events over a connection of its own for each fetch that is followed. Changes arrive
    /// without a request, and the connection closes as soon as the fetch is not followed any more.
    ///
    /// While something between the server and this process buffers the events, long polls replace
    /// the stream for five minutes at a time.
    case stream
  }

  /// Headers and time limits of the requests.
  public struct Options: Sendable {
    /// Sent with each request, for example for a gateway. Headers that the library sets itself, such as
    /// `Content-Type` and, with a token, `Authorization`, cannot be overridden. A store with an invalid
    /// name or value refuses every request.
    public var headers: [String: String]
    /// Seconds without a byte after which the server counts as unreachable, up to a day; 90 if it is
    /// not positive. A request that the server holds gets 20 seconds more than its wait instead.
    public var timeout: Double

    /// - Parameters:
    ///   - headers: sent with each request.
    ///   - timeout: seconds without a byte after which the server counts as unreachable, up to 86,400;
    ///     90 if it is not positive.
    public init(headers: [String: String] = [:], timeout: Double = 90) {
      self.headers = headers
      self.timeout = timeout
    }

    var timeLimit: Double { timeout > 0 ? min(timeout, 86_400) : 90 }

    /// nil if the address or a header is invalid.
    func server(at address: URL, _ credential: Credential?) -> RemoteServer? {
      areValid ? RemoteServer(address, credential: credential, headers: headers) : nil
    }

    private var areValid: Bool {
      headers.allSatisfy { name, value in
        !name.isEmpty && name.utf8.allSatisfy(ClientRequest.isTokenByte)
          && Credential.isValid(value)
      }
    }
  }

  /// The protocol in use.
  public let transport: Transport
  private let timeout: Double
  /// The destinations in the server's model.
  private enum Destinations: Sendable {
    case unknown
    /// The server has refused to tell its model.
    case unavailable
    case known(RelationshipDestinations?)
  }

  /// Protects the destinations.
  private let destinations = Mutex(Destinations.unknown)
  private let server: RemoteServer?

  /// - Parameters:
  ///   - address: of the server: `http://127.0.0.1:8080` or `https://…`, with a path if a gateway
  ///     serves the API under one. A store with a user, a password or a query in it refuses every request.
  ///   - token: the bearer token, if the server requires one.
  ///   - transport: how fetches are followed.
  ///   - options: headers and time limits.
  public init(
    _ address: URL, token: String? = nil, transport: Transport = .stream,
    options: Options = Options()
  ) {
    self.transport = transport
    timeout = options.timeLimit
    let credential = token.map { Credential(token: $0) }
    server =
      token.map(Credential.isValid) ?? true ? options.server(at: address, credential) : nil
  }

  /// A store whose credential is renewed.
  ///
  /// `token` is called before the first request, and again when the server answers 401, also to a
  /// request that waits and on a stream. The request is then made once more, so a fetch that is
  /// followed continues from its token. Requests at the same time share one call. If the new token is
  /// refused too, or is the old one, the error is ``ObjectStoreError/refused(_:)`` with the code
  /// `unauthorized`. If `token` throws, the store is ``ObjectStoreError/unreachable(_:)``, and a
  /// results controller tries again.
  ///
  /// - Parameters:
  ///   - address: of the server, as above.
  ///   - token: returns a bearer token that is valid now.
  ///   - transport: how fetches are followed.
  ///   - options: headers and time limits.
  public init(
    _ address: URL, token: @escaping @Sendable () async throws -> String,
    transport: Transport = .stream, options: Options = Options()
  ) {
    self.transport = transport
    timeout = options.timeLimit
    server = options.server(at: address, Credential(provider: token))
  }

  /// Returns the server's response to a fetch. With `since`, the server holds the request until there is
  /// a change.
  ///
  /// - Throws: the server's refusal; ``ObjectStoreError/unreachable(_:)`` if the server does not respond.
  public func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    try await post(
      "/v1/fetch", request, timeout: request["since"] == nil ? nil : held(request))
  }

  /// The seconds that a server holds a request without `wait`.
  private static let defaultWait = 25.0
  /// The seconds that the response to a held request may take after its wait.
  private static let waitMargin = 20.0

  /// The timeout of a held request.
  private func held(_ request: JSON) -> Double {
    var wait = Self.defaultWait
    if case .number(let text)? = request["wait"], let seconds = Double(text) { wait = seconds }
    return min(max(0, wait), FetchModel.FetchRequest.longestWait) + Self.waitMargin
  }

  /// Makes a save under an idempotency key of its own. If the response is lost (the connection broke,
  /// a gateway timed out), the save is requested once more under the same key.
  ///
  /// - Throws: ``ObjectStoreError``. If it is `unreachable` without a ``ServiceUnavailable/code``, the save
  ///   may have been made, and a second call may make it twice; ``save(_:idempotencyKey:)`` lets a
  ///   caller find out. A context repeats unchanged changes under the same key.
  public func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    try await save(request, idempotencyKey: UUID().uuidString)
  }

  /// Makes a save that may be requested again: for 24 hours the same save under the same key is made
  /// once, and the server answers as the first time.
  ///
  /// - Parameters:
  ///   - request: the changes, as ``save(_:)`` takes them.
  ///   - idempotencyKey: 1 to 255 printable ASCII characters.
  /// - Throws: as ``save(_:)``; `idempotency-key-reused` if the key was another save's.
  public func save(
    _ request: JSON, idempotencyKey: String
  ) async throws(ObjectStoreError) -> SaveReceipt {
    let answer: JSON
    do throws(ObjectStoreError) {
      answer = try await post("/v1/save", request, idempotencyKey: idempotencyKey)
    } catch .unreachable(let first) where first.mayRepeat {
      let pause = min(first.retryAfter ?? 0.2, 5) * Double.random(in: 1...1.25)
      do { try await Task.sleep(for: .seconds(pause)) } catch { throw .cancelled }
      do throws(ObjectStoreError) {
        answer = try await post("/v1/save", request, idempotencyKey: idempotencyKey)
      } catch .unreachable(var second) {
        second.isUnsent = second.isUnsent && first.isUnsent
        throw .unreachable(second)
      }
    }
    guard let receipt = SaveReceipt(json: answer) else {
      throw .notUnderstood("the response is not a save's")
    }
    return receipt
  }

  /// Makes a save as ``save(_:idempotencyKey:)`` does. This store has no queue: the result is that of the
  /// server.
  public func submit(
    _ request: JSON, idempotencyKey: String
  ) async throws(ObjectStoreError) -> SubmittedSave {
    .made(try await save(request, idempotencyKey: idempotencyKey))
  }

  /// Returns the saves since `token`, as `GET /v1/changes` lists them.
  ///
  /// - Throws: as ``fetch(_:)``.
  public func changes(since token: String) async throws(ObjectStoreError) -> JSON {
    try await send("GET", "/v1/changes?since=\(PercentEncoding.encodeComponent(token))&wait=0")
  }

  /// The destinations in the server's model; nil if the server does not provide it. The model is
  /// requested until there is a response: calls at the same time and after a transient error each
  /// request it.
  func relationshipDestinations() async -> RelationshipDestinations? {
    switch destinations.withLock({ $0 }) {
    case .known(let known): return known
    case .unavailable: return nil
    case .unknown: break
    }
    do throws(ObjectStoreError) {
      let found = RelationshipDestinations(json: try await send("GET", "/v1/model"))
      destinations.withLock { $0 = .known(found) }
      return found
    } catch {
      if !error.isTransient { destinations.withLock { $0 = .unavailable } }
      return nil
    }
  }

  /// Returns a feed of the changes of a fetch, over the store's ``transport``.
  public func feed(of request: JSON) -> any FetchFeed {
    let polls = PolledFeed(store: self, request: request.members)
    guard transport == .stream, let server else { return polls }
    return EventFeed(server, request: request.members, polls: polls)
  }

  /// False if the store refuses every request.
  var isValid: Bool { server != nil }

  static let invalid = ObjectStoreError.notUnderstood(
    """
    the address is not http or https, or has a user, a password or a query, or the token or a header is \
    invalid
    """)

  /// Throws if a request cannot hold the key.
  static func check(idempotencyKey key: String) throws(ObjectStoreError) {
    guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ (0x20..<0x7F).contains($0) })
    else { throw .notUnderstood("an idempotency key has 1 to 255 printable ASCII characters") }
  }

  private func post(
    _ path: String, _ body: JSON, idempotencyKey: String? = nil, timeout: Double? = nil
  ) async throws(ObjectStoreError) -> JSON {
    if let idempotencyKey { try Self.check(idempotencyKey: idempotencyKey) }
    let headers = idempotencyKey.map { [(name: "Idempotency-Key", value: $0)] } ?? []
    return try await send("POST", path, headers, body.bytes, timeout: timeout)
  }

  private func send(
    _ method: String, _ target: String, _ headers: [(name: String, value: String)] = [],
    _ body: [UInt8] = [], timeout: Double? = nil
  ) async throws(ObjectStoreError) -> JSON {
    guard let server else { throw Self.invalid }
    return try await server.response(
      method, target, headers: headers, body: body, timeout: timeout ?? self.timeout
    ).json()
  }
}
