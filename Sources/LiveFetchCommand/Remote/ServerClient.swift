// Sends requests to a LiveFetch server and returns their JSON. An error response (problem details, RFC
// 9457) ends the command.

import ArgumentParser
import Bytes
import FetchModel
import Foundation
import HTTPClient

/// A LiveFetch server. Requests block the command's thread until their response is complete.
struct ServerClient {
  /// In seconds.
  private static let limits = TransferTimeLimits(connect: 20)

  let address: String
  /// `http://HOST:PORT/PATH`, without `/v1` and without a slash at the end.
  private let base: String
  private let token: String?

  /// - Parameter address: `http://HOST:PORT` or `https://…`, optionally with a path in front of the
  ///   API's.
  init(address: String, token: String?) throws {
    guard let url = URLComponents(string: address), let host = url.host, !host.isEmpty else {
      throw failure("\(withoutCredentials(address)): is not an address", .usage)
    }
    guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
      throw failure(
        "\(withoutCredentials(address)): an address begins with http:// or https://", .usage)
    }
    // The message does not repeat the address, which may have a password.
    guard url.user == nil, url.password == nil, (url.percentEncodedQuery ?? "").isEmpty else {
      throw failure(
        """
        the address of a server has no user, password or query; --token or LIVEFETCH_TOKEN gives the \
        credential
        """, .usage)
    }
    var path = url.percentEncodedPath
    while path.hasSuffix("/") { path.removeLast() }
    if path.hasSuffix("/v1") { path.removeLast(3) }
    let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    self.address = address
    base = "\(scheme)://\(name)\(url.port.map { ":\($0)" } ?? "")\(path)"
    self.token = token
  }

  /// Sends a request and returns its response, whatever the status.
  ///
  /// - Throws: an `ExitCode` if there is no response; the reason was printed to standard error.
  func response(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) throws -> ClientResponse {
    do {
      return try transfer(method, path, query: query, body: body)
    } catch {
      throw failure(message(error), .unavailable)
    }
  }

  /// Returns why there is no response, for a person.
  func message(_ error: TransferError) -> String {
    "\(address): \(error.reason(within: Self.limits))"
  }

  /// As ``response(_:_:query:body:)``, but prints nothing.
  func transfer(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) throws(TransferError) -> ClientResponse {
    var headers = [(name: "Accept", value: "application/json")]
    if let token { headers.append(("Authorization", "Bearer \(token)")) }
    if !body.isEmpty { headers.append(("Content-Type", "application/json")) }
    let request = ClientRequest(
      method, base + path + Self.encoded(query), headers: headers, body: body,
      limits: Self.limits)
    return try request.waitForResponse()
  }

  /// Sends a request and returns the JSON of its response.
  ///
  /// - Parameter predicate: the text of the request's predicate, in which the message marks an error.
  /// - Throws: an `ExitCode` if the server cannot be reached, refuses the request, or does not respond
  ///   with JSON; the reason was printed to standard error.
  func json(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [],
    body: [UInt8] = [], predicate: String? = nil
  ) throws -> JSON {
    let response = try response(method, path, query: query, body: body)
    guard let json = try? JSON(result: response.body) else {
      throw failure("\(address): the response (\(response.status)) is not JSON", .unavailable)
    }
    guard response.status < 400 else {
      throw ProblemReport(status: response.status, json: json, predicate: predicate).failure()
    }
    return json
  }

  /// Returns the query string with its `?`; empty without parameters.
  static func encoded(_ query: [(name: String, value: String)]) -> String {
    guard !query.isEmpty else { return "" }
    return "?"
      + query.map { item in
        "\(PercentEncoding.encodeComponent(item.name))=\(PercentEncoding.encodeComponent(item.value))"
      }.joined(separator: "&")
  }
}
