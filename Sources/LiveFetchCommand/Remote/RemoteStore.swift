// The address of a server → its answers as JSON, its problems as failures of the command.

import ArgumentParser
import FetchModel
import Foundation

/// A LiveFetch server.
final class RemoteStore {
  let address: String
  private let base: String
  private let token: String?
  private let client: any HTTPSender

  /// - Parameter address: `http://HOST:PORT` or `https://…`, perhaps with a path in front of the API's.
  init(address: String, token: String?) throws {
    guard let url = URLComponents(string: address), let host = url.host, !host.isEmpty else {
      throw failure("\(address): is no address", .usage)
    }
    var path = url.percentEncodedPath
    while path.hasSuffix("/") { path.removeLast() }
    if path.hasSuffix("/v1") { path.removeLast(3) }
    self.address = address
    base = path
    self.token = token
    client = try Self.client(url, host)
  }

  /// http is spoken here, https by curl.
  private static func client(_ url: URLComponents, _ host: String) throws -> any HTTPSender {
    let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    switch url.scheme?.lowercased() {
    case "http": return HTTPClient(host: name, port: url.port ?? 80)
    case "https":
      let shown = name.contains(":") ? "[\(name)]" : name
      return CurlClient(origin: "https://\(shown):\(url.port ?? 443)")
    default:
      throw failure(
        "\(url.string ?? host): an address begins with http:// or https://", .usage)
    }
  }

  /// The answer to a request, whatever its status.
  func answer(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) throws -> HTTPAnswer {
    var headers = [("Accept", "application/json")]
    if let token { headers.append(("Authorization", "Bearer \(token)")) }
    if !body.isEmpty { headers.append(("Content-Type", "application/json")) }
    let target = base + path + Self.encoded(query)
    do {
      return try client.send(method, target, headers: headers, body: body)
    } catch {
      throw failure("\(address): \(error.detail)", .cannotListen)
    }
  }

  /// The JSON of an answer.
  ///
  /// - Throws: what a problem means for the command, said on standard error.
  func json(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [],
    body: [UInt8] = [], predicate: String? = nil
  ) throws -> JSON {
    let answer = try answer(method, path, query: query, body: body)
    guard let json = try? JSON(parsing: answer.body) else {
      throw failure("\(address): the answer (\(answer.status)) is not JSON", .cannotListen)
    }
    guard answer.status < 400 else {
      throw ProblemReport(status: answer.status, json: json, predicate: predicate).failure()
    }
    return json
  }

  private static func encoded(_ query: [(name: String, value: String)]) -> String {
    guard !query.isEmpty else { return "" }
    return "?"
      + query.map { item in
        "\(PercentEncoding.encodeSegment(item.name))=\(PercentEncoding.encodeSegment(item.value))"
      }.joined(separator: "&")
  }
}
