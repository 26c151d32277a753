// What the server says of itself: version, model, probes, files.

import FetchModel
import HTTPServer

extension Service {
  func about(_ call: Call) throws(Problem) {
    _ = try call.queryItems(only: [])
    let links = [
      ("model", "/v1/model"), ("objects", "/v1/objects/{Entity}"), ("fetch", "/v1/fetch"),
      ("live", "/v1/live"), ("save", "/v1/save"), ("changes", "/v1/changes"),
      ("openapi", "/openapi.json"),
    ]
    var json: [UInt8] = []
    json.append(
      json: .object([
        .init(name: "name", value: .string("LiveFetch")),
        .init(name: "version", value: .string(configuration.version)),
        .init(name: "store", value: .string(store.properties.kind)),
        .init(name: "readOnly", value: .boolean(store.properties.isReadOnly)),
        .init(name: "token", value: .string(store.newestToken.description)),
        .init(
          name: "links",
          value: .object(links.map { JSON.Member(name: $0.0, value: .string($0.1)) })),
      ]))
    call.respond(json: json)
  }

  func describeModel(_ call: Call) throws(Problem) {
    _ = try call.queryItems(only: [])
    call.respond(json: ModelDescription(model: store.model).json)
  }

  /// `GET /openapi.json`.
  func describeAPI(_ call: Call) throws(Problem) {
    _ = try call.queryItems(only: [])
    call.respond(json: openAPI.bytes)
  }

  /// A file of the public directory, or else one that the program carries.
  func fileResponse(to request: HTTPRequest) -> HTTPResponse? {
    if let found = files?.response(to: request) { return found }
    guard files == nil || request.path.hasPrefix("/docs/") else { return nil }
    return configuration.builtInFiles?.response(to: request)
  }

  func file(_ call: Call) throws(Problem) {
    guard var response = fileResponse(to: call.request) else { throw .noSuchPath }
    response.headers.append(("Content-Security-Policy", "default-src 'self'"))
    call.respond(response)
  }
}
