// Parts of an HTTP request → values that several routes read: query parameters, JSON, `Accept`,
// `If-None-Match`.

import Bytes
import FetchModel
import LiveFetchHTTPServer

extension HTTPRequest {
  /// The names and values of the query string.
  func queryItems() throws(Problem) -> [(name: String, value: String)] {
    do {
      return try PercentEncoding.decodeQuery(query ?? "")
    } catch {
      throw Problem(error, isPath: false)
    }
  }

  /// The query string's values by name. Refuses names that are not among `names`, and repeated ones.
  @discardableResult
  func queryItems(only names: [String]) throws(Problem) -> [String: String] {
    var items: [String: String] = [:]
    for (name, value) in try queryItems() {
      guard names.contains(name) else {
        throw .badRequest(
          "unknown-parameter", "There is no parameter `\(name)` here.",
          hint: nearestName(to: name, among: names))
      }
      guard items.updateValue(value, forKey: name) == nil else {
        throw .badRequest("repeated-parameter", "`\(name)` may be given once.")
      }
    }
    return items
  }

  /// The body as JSON.
  func jsonBody() throws(Problem) -> JSON {
    try requireJSON()
    do {
      return try JSON(request: body)
    } catch {
      throw .malformedJSON(error)
    }
  }

  /// Throws if the body is not declared as JSON, is compressed, or is a part that would replace the whole.
  func requireJSON() throws(Problem) {
    if method == "PUT", header("Content-Range") != nil {
      throw .badRequest(
        "bad-request", "PUT replaces the whole object and takes no `Content-Range`.")
    }
    if let coding = header("Content-Encoding"), coding.lowercased() != "identity" {
      throw .unsupportedEncoding
    }
    let contentType = header("Content-Type") ?? ""
    if contentType == "application/json" { return }
    let type = contentType.lowercased().prefix { $0 != ";" && $0 != " " }
    guard type == "application/json" || type.hasSuffix("+json") else { throw .notJSON }
  }

  /// True if the client requests a stream, and prefers no other type to it.
  var wantsStream: Bool {
    let stream = "text/event-stream"
    guard hasHeader("Accept", containing: stream), let accept = headerList("Accept") else {
      return false
    }
    let elements = WeightedList.elements(of: accept)
    let weight = elements.first { $0.name == stream }?.weight ?? 0
    return weight > 0 && elements.allSatisfy { $0.weight <= weight }
  }

  /// True if the client has the representation that `etag` identifies.
  func ifNoneMatchContains(_ etag: String) -> Bool {
    if hasHeader("If-None-Match", etag) { return true }
    return headerValues("If-None-Match").contains { EntityTag.ifNoneMatch($0, names: etag) }
  }
}
