// The address of a server over `http` → requests on sockets of their own.
//
// Not through a URL session. On Linux one that gets half a head ends the process, and cancelling its
// tasks under load ends it too, or hangs; both are what servers that go bring about.

import Foundation

/// A server that is spoken to over sockets. Each request has a connection.
struct RemoteHost: Sendable {
  let name: String
  let port: Int
  private let path: String
  private let headers: String

  /// nil where a socket alone does not do: over `https`, or with a token that no header can hold.
  init?(_ address: URL, token: String?) {
    guard let parts = URLComponents(url: address, resolvingAgainstBaseURL: true),
      parts.scheme?.lowercased() == "http", let host = parts.encodedHost ?? parts.host,
      !host.isEmpty, token?.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) ?? true
    else { return nil }
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    name = isBracketed ? String(host.dropFirst().dropLast()) : host
    port = parts.port ?? 80
    var path = parts.percentEncodedPath
    while path.hasSuffix("/") { path.removeLast() }
    self.path = path
    let shown = name.contains(":") ? "[\(name)]" : name
    let credentials = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
    headers = "Host: \(shown):\(port)\r\n\(credentials)"
  }

  /// A connection on which a stream is asked for.
  func stream(_ target: String, _ body: JSON) -> HTTPConnection {
    let request = request("POST", target, ["Accept: text/event-stream"], body.bytes)
    return HTTPConnection(host: name, port: port, request: request, wants: .stream)
  }

  /// The answer to a request.
  ///
  /// - Parameter timeout: the seconds without a byte after which there is none.
  func answer(
    _ method: String, _ target: String, _ headers: [String], body: [UInt8], timeout: Double
  ) async throws(ObjectStoreError) -> RemoteAnswer {
    let own = ["Accept: application/json", "Connection: close"] + headers
    let connection = HTTPConnection(
      host: name, port: port, request: request(method, target, own, body), wants: .answer,
      patience: ConnectionPatience(beginning: timeout))
    defer { connection.close() }
    switch await connection.next() {
    case .answered(let answer): return answer
    case .ended(let reason): throw .unreachable(Outage(reason))
    case .event: throw .unreachable(Outage("a stream in place of an answer"))
    case .heldBack: throw .unreachable(Outage("no answer in \(Int(timeout)) s"))
    case .cancelled: throw .cancelled
    }
  }

  private func request(
    _ method: String, _ target: String, _ more: [String], _ body: [UInt8]
  ) -> [UInt8] {
    var head = "\(method) \(path)\(target) HTTP/1.1\r\n\(headers)"
    for header in more { head += header + "\r\n" }
    if !body.isEmpty {
      head += "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n"
    }
    return Array((head + "\r\n").utf8) + body
  }
}
