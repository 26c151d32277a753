// The fixture of tests with faulty networks: a server, a faulty proxy, and responses that are not the
// server's.

import Foundation
import LiveFetch
import Testing

/// A server, a proxy in front of it, and stores that use the proxy or bypass it.
@MainActor
final class FaultFixture {
  let server: Restarting
  let proxy: FaultProxy
  let store: RemoteStore
  let direct: RemoteStore
  let controller: FetchedResultsController<City>
  let callbacks: FetchedResultsControllerCallbacks<City>
  var lines: [String] = []

  init(_ transport: RemoteStore.Transport, isFollowing: Bool = true) async throws {
    server = try Restarting()
    proxy = try FaultProxy(host: #require(server.address.host), port: server.port)
    let address = try #require(URL(string: "http://127.0.0.1:\(proxy.port)"))
    store = RemoteStore(address, transport: transport)
    direct = RemoteStore(server.address)
    controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.descending("population")]),
      context: ManagedObjectContext(store: store), sectionKeyPath: "country.name")
    controller.holdTime = 2
    callbacks = FetchedResultsControllerCallbacks(controller)
    callbacks.didChangeObject = { [unowned self] change, city in
      lines.append("\(change.type) \(city?.name ?? "?")")
    }
    if isFollowing { try await controller.performFetch() }
  }

  func save(_ changes: String) async throws {
    _ = try await direct.save(JSON(parsing: Array(#"{"changes":[\#(changes)]}"#.utf8)))
  }

  func grow(_ id: Int, to population: Int) async throws {
    try await save(#"{"update":"City","id":\#(id),"values":{"population":\#(population)}}"#)
  }

  /// Waits until the controller follows and its content equals a fetch that bypasses the proxy.
  func settle(_ comment: Comment? = nil) async throws {
    let fresh = FetchedResultsController(
      fetchRequest: controller.fetchRequest, context: ManagedObjectContext(store: direct),
      section: controller.section)
    try await fresh.performFetch()
    fresh.stop()
    try await eventually(seconds: 20) {
      sections(of: controller) == sections(of: fresh) && isFollowing
    }
    #expect(sections(of: controller) == sections(of: fresh), comment)
  }

  func sections(of controller: FetchedResultsController<City>) -> [[City]] {
    controller.sections.map(\.objects)
  }

  var isFollowing: Bool { if case .following = controller.state { true } else { false } }

  var unavailability: ServiceUnavailable? {
    guard case .offline(.unreachable(let unavailability)) = controller.state else { return nil }
    return unavailability
  }

  /// The number of requests for a whole result after the first `count` requests.
  func snapshots(since count: Int) -> Int {
    proxy.requests.dropFirst(count).count { !$0.contains(#""since""#) && $0.contains("/v1/fetch") }
  }
}

/// Polls until `isTrue`, for at most `seconds`; longer if a busy machine allowed fewer than 200 polls per
/// second.
@MainActor
func eventually(seconds: Double = 60, _ isTrue: () -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(seconds)
  var looks = 0.0
  while !isTrue(), ContinuousClock.now < end || looks < seconds * 200 {
    try await Task.sleep(for: .milliseconds(5))
    looks += 1
  }
  #expect(isTrue(), "the condition did not become true in time")
}

extension RemoteStore.Transport {
  static let all: [Self] = [.longPoll, .stream]
}

/// A response that a gateway sends in place of the server's.
struct ForeignResponse: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let status: Int
  let text: String

  init(_ status: Int, _ headers: String = "", body: String, name: String) {
    self.status = status
    testDescription = "\(status) \(name)"
    text =
      "HTTP/1.1 \(status) Status\r\n\(headers)Content-Length: \(body.utf8.count)\r\n"
      + "Connection: close\r\n\r\n\(body)"
  }

  static let page = "<html><body><h1>Bad Gateway</h1></body></html>"
  static let passing = [
    ForeignResponse(502, "Content-Type: text/html\r\n", body: page, name: "page"),
    ForeignResponse(502, body: "", name: "empty"),
    ForeignResponse(
      503, "Content-Type: application/problem+json\r\n",
      body: #"{"type":"about:blank","title":"No upstream","status":503}"#, name: "problem"),
    ForeignResponse(504, body: "upstream request timeout", name: "text"),
    ForeignResponse(429, "Retry-After: 0\r\n", body: "", name: "empty"),
    ForeignResponse(500, body: "", name: "empty"),
    ForeignResponse(200, "Content-Type: text/html\r\n", body: page, name: "page"),
    ForeignResponse(
      200, "Content-Type: application/json\r\n", body: #"{"entity":"Ci"#, name: "half"),
  ]
  static let final = [
    ForeignResponse(403, "Content-Type: text/html\r\n", body: page, name: "page"),
    ForeignResponse(
      401, "Content-Type: application/problem+json\r\n",
      body: #"{"status":401,"code":"unauthorized","detail":"A token is required."}"#,
      name: "problem"),
    ForeignResponse(
      400, "Content-Type: application/problem+json\r\n",
      body: #"{"status":400,"code":"bad-token","detail":"No token."}"#, name: "problem"),
  ]
}
