// A LiveFetch server as an object store, over HTTP.

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A store behind a LiveFetch server.
public final class RemoteStore: ObjectStore {
  private let address: URL
  private let token: String?
  private let session: URLSession

  /// - Parameters:
  ///   - address: of the server: `http://127.0.0.1:8080`.
  ///   - token: the bearer token, where the server asks for one.
  public init(_ address: URL, token: String? = nil) {
    self.address = address
    self.token = token
    let configuration = URLSessionConfiguration.ephemeral
    // A held request is answered after a minute at the latest; the rest is the network's.
    configuration.timeoutIntervalForRequest = 90
    configuration.httpMaximumConnectionsPerHost = 64
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    session = URLSession(configuration: configuration)
  }

  /// Whoever waits keeps the store, so that cancelled calls alone are left. On Linux, a session that
  /// cancels these again ends the process.
  deinit { session.finishTasksAndInvalidate() }

  public func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    try await post("/v1/fetch", request)
  }

  public func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    let answer = try await post("/v1/save", request)
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

  private func post(_ path: String, _ body: JSON) async throws(ObjectStoreError) -> JSON {
    var request = URLRequest(url: address.appendingPathComponent(path))
    request.httpMethod = "POST"
    request.httpBody = Data(body.bytes)
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    return try await answer(to: request)
  }

  private func answer(to request: URLRequest) async throws(ObjectStoreError) -> JSON {
    var request = request
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    let (data, response) = try await send(request)
    guard let json = try? JSON(parsing: Array(data)) else {
      throw .notUnderstood("no JSON in an answer of \(data.count) bytes")
    }
    guard let status = (response as? HTTPURLResponse)?.statusCode else {
      throw .notUnderstood("no HTTP answer")
    }
    if (200..<300).contains(status) { return json }
    throw Self.error(status, json)
  }

  private func send(
    _ request: URLRequest
  ) async throws(ObjectStoreError) -> (Data, URLResponse) {
    switch await HTTPCall().answer(to: request, in: session) {
    case .success(let answer): return answer
    case .failure(let error):
      if Task.isCancelled { throw .cancelled }
      throw .unreachable(error.localizedDescription)
    }
  }

  private static func error(_ status: Int, _ json: JSON) -> ObjectStoreError {
    guard let problem = Problem(json: json, status: status) else {
      return .notUnderstood("status \(status) without a problem")
    }
    switch problem.code {
    case "token-expired": return .tokenExpired
    case "shutting-down": return .unreachable(problem.detail)
    default: return .refused(problem)
    }
  }
}
