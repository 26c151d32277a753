// Answers of status 500, the readiness, and the log.

import FetchModel
import LiveFetchHTTPServer
import Logging
import Service
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Collects the events of a logger.
private final class CollectedEvents: Sendable {
  struct Event: Sendable {
    let level: Logger.Level
    let text: String
    let metadata: [String: String]
  }

  // Protects the events.
  private let events = Mutex<[Event]>([])
  var all: [Event] { events.withLock { $0 } }
  func append(_ event: Event) { events.withLock { $0.append(event) } }
  func removeAll() { events.withLock { $0 = [] } }
  var logger: Logger { Logger(label: "test") { [self] _ in Handler(events: self) } }

  private struct Handler: LogHandler {
    let events: CollectedEvents
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      events.append(
        Event(
          level: event.level, text: event.message.description,
          metadata: (event.metadata ?? [:]).mapValues(\.description)))
    }
  }
}

@Suite("An answer of status 500 is logged with its request's id", .mayBlock)
struct FailureLogTests {
  /// A view that SQLite cannot calculate once `thing` has the least integer.
  private static let fixture = """
    CREATE TABLE thing(id INTEGER PRIMARY KEY, n INTEGER);
    CREATE VIEW positive AS SELECT id, abs(n) AS n FROM thing;
    """

  @Test(.onlyForFiles) func theLogHasTheCauseAndTheAnswerTheIDOnly() throws {
    let events = CollectedEvents()
    var configuration = ServiceConfiguration()
    configuration.errorLogger = events.logger
    let file = try ServedFile(Self.fixture, configuration: configuration)
    let least = #"{"n":-9223372036854775808}"#
    #expect(try file.ask("POST", "/v1/objects/thing", body: least).status == 201)
    #expect(try file.ask("/v1/objects/nothing").status == 404)
    #expect(events.all.isEmpty)
    let answer = try file.ask("/v1/objects/positive")
    #expect(answer.status == 500)
    #expect(answer.code == "internal-error")
    let id = try #require(answer.json["requestID"]?.string)
    #expect(id.count == 32)
    #expect(answer["X-Request-Id"] == id)
    let event = try #require(events.all.first)
    #expect(events.all.count == 1)
    #expect(event.level == .error)
    #expect(event.text.contains("integer overflow"), "\(event.text)")
    #expect(!answer.text.contains("overflow"))
    #expect(
      event.metadata == [
        "id": id, "method": "GET", "route": "/v1/objects/{Entity}", "status": "500",
        "code": "internal-error",
      ])
    let second = try file.ask("/v1/objects/positive")
    #expect(second.json["requestID"]?.string != id)
    #expect(events.all.count == 2)
  }

  @Test func overASocketTheIDIsTheClientsOwn() throws {
    let events = CollectedEvents()
    var http = HTTPServerConfiguration()
    http.port = 0
    http.renderProblem = { [logger = events.logger] in Problem.response(to: $0, logger) }
    let server = try HTTPServer(http, handler: SilentHandler())
    defer { server.stop() }
    for sent in ["X-Request-Id: mine-1\r\n", ""] {
      events.removeAll()
      let answer = try Self.get(from: server.port, sent)
      #expect(answer.hasPrefix("HTTP/1.1 500"))
      let event = try #require(events.all.first)
      #expect(event.level == .error)
      #expect(event.metadata["code"] == "unanswered")
      let id = try #require(event.metadata["id"])
      if !sent.isEmpty { #expect(id == "mine-1") }
      #expect(answer.contains("X-Request-Id: \(id)\r\n"))
      #expect(answer.contains("\"requestID\":\"\(id)\""))
    }
  }

  /// The whole answer as it arrives.
  private static func get(from port: Int, _ header: String) throws -> String {
    let descriptor = try LoopbackSocket.connect(to: port)
    defer { LoopbackSocket.close(descriptor) }
    LoopbackSocket.setTimeout(60, of: descriptor)
    let head = Array(
      "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(header)\r\n".utf8)
    try #require(write(descriptor, head, head.count) == head.count)
    var (text, buffer) = ("", [UInt8](repeating: 0, count: 1 << 14))
    while case let count = read(descriptor, &buffer, buffer.count), count > 0 {
      text += String(decoding: buffer[..<count], as: UTF8.self)
    }
    return text
  }

  private struct SilentHandler: HTTPHandler {
    func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {}
  }
}

@Suite("The readiness is logged when it changes", .mayBlock)
struct ReadinessLogTests {
  @Test func reasonsAreLoggedOnceUntilTheyChange() {
    let (events, log) = (CollectedEvents(), ReadinessLog())
    let full = StoreFault("disk-full", "The disk is full.")
    let unread = StoreFault("read-failed", "The store cannot be read.")
    let checks: [[StoreFault]] = [[], [full], [full], [full, unread], [], []]
    for faults in checks { log.record(faults, events.logger) }
    #expect(
      events.all.map { "\($0.level): \($0.text) \($0.metadata["reasons"] ?? "-")" } == [
        "error: The server is not ready: The disk is full. disk-full",
        "error: The server is not ready: The disk is full. The store cannot be read. "
          + "disk-full,read-failed",
        "notice: The server is ready again. -",
      ])
  }

  @Test(.onlyForFiles) func aSaveThatFailsIsEnoughWithoutProbes() throws {
    let events = CollectedEvents()
    var configuration = ServiceConfiguration()
    configuration.errorLogger = events.logger
    let file = try ServedFile(
      "CREATE TABLE thing(id INTEGER PRIMARY KEY, n INTEGER)", configuration: configuration)
    let holder = try WriteLockHolder(file.path)
    let save = try file.ask("POST", "/v1/objects/thing", body: #"{"n":1}"#)
    #expect(save.code == "busy")
    #expect(eventually(within: .seconds(300)) { !events.all.isEmpty })
    let first = try #require(events.all.first)
    #expect(first.level == .error)
    #expect(first.text.hasPrefix("The server is not ready: "), "\(first.text)")
    #expect(first.metadata == ["reasons": "busy"])
    holder.release()
    #expect(
      eventually(within: .seconds(300)) { events.all.last?.text == "The server is ready again." })
    #expect(events.all.last?.level == .notice)
  }
}
