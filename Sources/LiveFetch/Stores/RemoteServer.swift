// The address of a server and the token for it → its responses and event streams.

import Foundation
import HTTPClient

/// A LiveFetch server, as HTTP requests reach it.
struct RemoteServer: Sendable {
  /// `http://HOST:PORT/PATH`, without a slash at the end.
  private let base: String
  private let token: String?

  /// nil if the address is not `http` or `https`, or no header can hold the token.
  init?(_ address: URL, token: String?) {
    guard let parts = URLComponents(url: address, resolvingAgainstBaseURL: true),
      let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
      let host = parts.encodedHost ?? parts.host, !host.isEmpty,
      token?.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) ?? true
    else { return nil }
    let isBare = host.contains(":") && !host.hasPrefix("[")
    let port = parts.port.map { ":\($0)" } ?? ""
    var path = parts.percentEncodedPath
    while path.hasSuffix("/") { path.removeLast() }
    base = "\(scheme)://\(isBare ? "[\(host)]" : host)\(port)\(path)"
    self.token = token
  }

  /// The response to a request.
  ///
  /// - Parameters:
  ///   - target: the path behind the server's address, and the query.
  ///   - timeout: seconds without a byte after which the server counts as unreachable.
  func response(
    _ method: String, _ target: String, headers: [(name: String, value: String)] = [],
    body: [UInt8] = [], timeout: Double
  ) async throws(ObjectStoreError) -> RemoteResponse {
    var request = request(method, target, accept: "application/json", body)
    request.headers += headers
    request.limits = TransferTimeLimits(response: timeout, idle: timeout)
    do throws(TransferError) {
      let response = try await request.response()
      return RemoteResponse(response.head, body: response.body)
    } catch {
      switch error {
      case .cancelled: throw .cancelled
      default: throw .unreachable(ServiceUnavailable(error.reason(within: request.limits)))
      }
    }
  }

  /// Opens a stream of server-sent events.
  func eventStream(
    _ target: String, _ body: JSON, limits: TransferTimeLimits = EventStream.timeLimits
  ) -> EventStream {
    var request = request("POST", target, accept: "text/event-stream", body.bytes)
    request.limits = limits
    return EventStream(request)
  }

  private func request(
    _ method: String, _ target: String, accept: String, _ body: [UInt8]
  ) -> ClientRequest {
    var headers = [(name: "Accept", value: accept)]
    if let token { headers.append(("Authorization", "Bearer \(token)")) }
    if !body.isEmpty { headers.append(("Content-Type", "application/json")) }
    return ClientRequest(method, base + target, headers: headers, body: body)
  }
}
