// A handler whose behaviour is a closure of the test.

@testable import LiveFetchHTTPServer

/// Runs a closure for each request.
struct ScriptedHandler: HTTPHandler {
  let body: @Sendable (HTTPRequest, HTTPExchange) -> Void

  func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
    body(request, exchange)
  }
}

extension HTTPServerConfiguration {
  /// The default configuration of tests: a free port.
  static var test: HTTPServerConfiguration { changed { _ in } }

  /// The same with changes.
  static func changed(_ change: (inout HTTPServerConfiguration) -> Void) -> Self {
    var configuration = HTTPServerConfiguration()
    configuration.port = 0
    configuration.workers = 4
    change(&configuration)
    return configuration
  }
}

/// Starts a server on a free port, runs the test, and stops the server.
func withServer(
  _ configuration: HTTPServerConfiguration = .test,
  handler: @escaping @Sendable (HTTPRequest, HTTPExchange) -> Void = echo,
  _ body: (HTTPServer) async throws -> Void
) async throws {
  let server = try HTTPServer(configuration, handler: ScriptedHandler(body: handler))
  defer { server.stop(grace: 0.5) }
  try await body(server)
}

/// The same with a handler written out.
func serving(
  _ configuration: HTTPServerConfiguration = .test,
  _ handler: @escaping @Sendable (HTTPRequest, HTTPExchange) -> Void,
  during body: (HTTPServer) async throws -> Void
) async throws {
  try await withServer(configuration, handler: handler, body)
}

/// Responds with the request's own values.
@Sendable func echo(_ request: HTTPRequest, _ exchange: HTTPExchange) {
  let text = "\(request.method) \(request.target) \(request.body.count)"
  exchange.respond(
    HTTPResponse(headers: [("Content-Type", "text/plain")], body: .text(text)))
}

/// Values gathered from several threads.
final class ConcurrentList<Value: Sendable>: Sendable {
  private let values = SanitizedMutex<[Value]>([])

  func append(_ value: Value) {
    values.withLock { $0.append(value) }
  }

  var all: [Value] {
    values.withLock { $0 }
  }

  func takeAll() -> [Value] {
    values.withLock { values in
      defer { values = [] }
      return values
    }
  }

  var count: Int {
    values.withLock { $0.count }
  }
}

/// Waits until `condition` holds; false after `seconds`.
func eventually(_ seconds: Double = 300, _ condition: () -> Bool) async -> Bool {
  let clock = ContinuousClock()
  let end = clock.now + .seconds(seconds)
  while clock.now < end {
    if condition() { return true }
    try? await Task.sleep(for: .milliseconds(5))
  }
  return condition()
}
