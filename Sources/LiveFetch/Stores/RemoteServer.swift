// The address of a server and the credential for it → its responses and event streams.

import Foundation
import HTTPClient

/// A LiveFetch server, as HTTP requests reach it.
struct RemoteServer: Sendable {
  /// `http://HOST:PORT/PATH`, without a slash at the end.
  private let base: String
  private let credential: Credential?
  private let headers: [(name: String, value: String)]

  /// nil if the address is not `http` or `https`, or has a user, a password or a query, which requests
  /// would not contain.
  ///
  /// - Parameter headers: sent with each request, except those that the request sets itself.
  init?(_ address: URL, credential: Credential?, headers: [String: String] = [:]) {
    guard let parts = URLComponents(url: address, resolvingAgainstBaseURL: true),
      let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
      let host = parts.encodedHost ?? parts.host, !host.isEmpty,
      parts.user == nil, parts.password == nil, (parts.percentEncodedQuery ?? "").isEmpty
    else { return nil }
    let isBare = host.contains(":") && !host.hasPrefix("[")
    let port = parts.port.map { ":\($0)" } ?? ""
    var path = parts.percentEncodedPath
    while path.hasSuffix("/") { path.removeLast() }
    base = "\(scheme)://\(isBare ? "[\(host)]" : host)\(port)\(path)"
    self.credential = credential
    self.headers = headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
  }

  /// The response to a request. After a 401 the request is sent once more if there is a newer token;
  /// a server that refuses a credential has done nothing.
  ///
  /// - Parameters:
  ///   - target: the path after the server's address, and the query.
  ///   - timeout: seconds without a byte after which the server counts as unreachable.
  func response(
    _ method: String, _ target: String, headers: [(name: String, value: String)] = [],
    body: [UInt8] = [], timeout: Double
  ) async throws(ObjectStoreError) -> RemoteResponse {
    let token = try await token()
    var request = request(method, target, accept: "application/json", body)
    request.headers += headers
    request.limits = TransferTimeLimits(response: timeout, idle: timeout)
    let response = try await self.response(to: request, token)
    guard response.status == 401, let newer = try await self.token(replacing: token),
      newer != token
    else { return response }
    return try await self.response(to: request, newer)
  }

  /// The token to send; nil for a server that requires none.
  ///
  /// - Parameter refused: a token that the server has answered with 401.
  func token(replacing refused: String? = nil) async throws(ObjectStoreError) -> String? {
    guard let credential else { return nil }
    return try await credential.token(replacing: refused)
  }

  private func response(
    to request: ClientRequest, _ token: String?
  ) async throws(ObjectStoreError) -> RemoteResponse {
    do throws(TransferError) {
      let response = try await authorized(request, token).response()
      return RemoteResponse(response.head, body: response.body)
    } catch {
      switch error {
      case .cancelled: throw .cancelled
      default:
        var unavailability = ServiceUnavailable(error.reason(within: request.limits))
        unavailability.isUnsent = error.isUnsent
        throw .unreachable(unavailability)
      }
    }
  }

  /// Opens a stream of server-sent events.
  func eventStream(
    _ target: String, _ body: JSON, token: String? = nil,
    limits: TransferTimeLimits = EventStream.timeLimits
  ) -> EventStream {
    var request = request("POST", target, accept: "text/event-stream", body.bytes)
    request.limits = limits
    return EventStream(authorized(request, token))
  }

  private func authorized(_ request: ClientRequest, _ token: String?) -> ClientRequest {
    var request = request
    if let token { request.headers.append(("Authorization", "Bearer \(token)")) }
    let names = Set(request.headers.map { $0.name.lowercased() })
    request.headers += headers.filter { !names.contains($0.name.lowercased()) }
    return request
  }

  private func request(
    _ method: String, _ target: String, accept: String, _ body: [UInt8]
  ) -> ClientRequest {
    var headers = [(name: "Accept", value: accept)]
    if !body.isEmpty { headers.append(("Content-Type", "application/json")) }
    return ClientRequest(method, base + target, headers: headers, body: body)
  }
}
