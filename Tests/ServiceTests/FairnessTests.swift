// Clients with more expensive requests than there are threads.

import Foundation
import LiveFetchHTTPServer
import SQLiteStore
import Service
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Clients with expensive requests do not block other clients", .mayBlock)
struct FairnessTests {
  private static let fixture = """
    CREATE TABLE tree(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE leaf(id INTEGER PRIMARY KEY, n INTEGER, text TEXT,
      tree_id INTEGER REFERENCES tree(id));
    CREATE INDEX leaf_tree ON leaf(tree_id);
    INSERT INTO tree VALUES (1, 'one');
    WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 4000)
      INSERT INTO leaf SELECT x, x, printf('%.*c', 1000, 'a'), 1 FROM c;
    """
  /// A query that would take hours.
  private static let endless = percentEncoded(
    "SUBQUERY(tree.leaf, $a, SUBQUERY(tree.leaf, $b, $a.n * $b.n == -n).@count > 0).@count > 0")

  private static func percentEncoded(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
  }

  private static func head(_ method: String, _ target: String, _ body: String = "") -> String {
    let type = body.isEmpty ? "" : "Content-Type: application/json\r\n"
    return "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n\(type)"
      + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  /// A client on a socket that reads its response on demand.
  private final class Client {
    private let descriptor: Int32

    init(_ port: Int, _ request: String) throws {
      descriptor = try LoopbackSocket.connect(to: port)
      let bytes = Array(request.utf8)
      try #require(write(descriptor, bytes, bytes.count) == bytes.count)
    }

    deinit { close(descriptor) }

    /// Returns the response up to the first occurrence of `end`.
    func answer(until end: String = "\r\n\r\n") -> String {
      LoopbackSocket.setTimeout(120, of: descriptor)
      var (text, buffer) = ("", [UInt8](repeating: 0, count: 1 << 14))
      while !text.contains(end) {
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { break }
        text += String(decoding: buffer[..<count], as: UTF8.self)
      }
      return text
    }

    var hasAnswer: Bool {
      var query = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      return poll(&query, 1, 0) > 0
    }
  }

  private static func serve(
    _ configuration: ServiceConfiguration, _ options: SQLiteStoreOptions, sql: String = fixture,
    _ body: (ServedFile, Int) throws -> Void
  ) throws {
    let file = try ServedFile(sql, options: options, configuration: configuration)
    var http = HTTPServerConfiguration()
    http.port = 0
    http.workers = 4
    let server = try HTTPServer(http, handler: file.service)
    defer { server.stop() }
    try body(file, server.port)
  }

  private static func limited(
    _ seconds: Double
  ) -> (configuration: ServiceConfiguration, options: SQLiteStoreOptions) {
    var (configuration, options) = (ServiceConfiguration(), SQLiteStoreOptions())
    configuration.queryTimeout = seconds
    options.queryTimeout = seconds
    return (configuration, options)
  }

  private static func running(_ file: ServedFile) throws -> Int {
    Int(try MetricsText(file.ask("/metrics").text)["livefetch_slow_queries_running"] ?? 0)
  }

  private static func waiting(_ file: ServedFile) throws -> Int {
    Int(try MetricsText(file.ask("/metrics").text)["livefetch_slow_queries_waiting"] ?? 0)
  }

  @Test(arguments: ["", "Accept: text/event-stream\r\n"])
  func aShortQueryIsAnsweredWhileEndlessOnesTakeTheThreads(accept: String) throws {
    let (configuration, options) = Self.limited(600)
    try Self.serve(configuration, options) { file, port in
      let endless = try (0..<12).map { number in
        let target = "/v1/objects/leaf?as=count&offset=\(number)&where=\(Self.endless)"
        return try Client(port, Self.head("GET", target))
      }
      #expect(try eventually(within: .seconds(60)) { try Self.running(file) >= 3 })
      let scan = Self.percentEncoded("text CONTAINS 'b'")
      let target = "/v1/objects/leaf?as=ids&limit=1&where=\(scan)"
      let request = "GET \(target) HTTP/1.1\r\nHost: localhost\r\n\(accept)\r\n"
      let answer = try Client(port, request).answer(until: "\"count\":0")
      #expect(answer.hasPrefix("HTTP/1.1 200"))
      #expect(answer.contains("\"count\":0"))
      #expect(endless.allSatisfy { !$0.hasAnswer })
    }
  }

  @Test func oneCallerLeavesAThreadForSlowQueriesToOthers() throws {
    var (configuration, options) = Self.limited(600)
    configuration.slowQueries = 2
    let file = try ServedFile(Self.fixture, options: options, configuration: configuration)
    let request = { (predicate: String, number: Int, address: String) in
      Pending.begin(
        file.service,
        HTTPRequest(
          method: "GET", target: "/v1/objects/leaf?as=count&offset=\(number)&where=\(predicate)",
          remoteAddress: address, connectionNumber: UInt64(number)))
    }
    let endless = (0..<6).map { request(Self.endless, $0, "203.0.113.1") }
    // They have passed the attempts that are limited, so that they take only the last one's threads.
    #expect(
      try eventually(within: .seconds(60)) {
        try Self.running(file) == 1 && Self.waiting(file) == 5
      })
    // It needs more than half a second, the limit of the attempts before.
    let long = Self.percentEncoded("n <= 50 AND SUBQUERY(tree.leaf, $a, $a.n == -n).@count == 0")
    let answer = request(long, 7, "203.0.113.2").wait()
    #expect(answer?.status == 200)
    #expect(answer?.json["total"]?.integer == 50)
    #expect(endless.allSatisfy { !$0.isThere })
  }

  @Test func theTimeThatAQueryWaitsCounts() throws {
    var (configuration, options) = Self.limited(1.5)
    configuration.slowQueries = 1
    try Self.serve(configuration, options) { _, port in
      let endless = try (0..<12).map { number in
        let target = "/v1/objects/leaf?as=count&offset=\(number)&where=\(Self.endless)"
        return try Client(port, Self.head("GET", target))
      }
      let answers = endless.map { $0.answer() }
      let refused = answers.filter { $0.hasPrefix("HTTP/1.1 503") }
      #expect(refused.count >= 6)
      #expect(refused.allSatisfy { $0.contains("Retry-After: 1\r\n") })
      #expect(answers.allSatisfy { $0.hasPrefix("HTTP/1.1 503") || $0.hasPrefix("HTTP/1.1 504") })
    }
  }

  @Test(.onlyForFiles) func aBatchThatSearchesForHoursDoesNotHoldOtherSaves() throws {
    let (configuration, options) = Self.limited(600)
    let file = try ServedFile(Self.fixture, options: options, configuration: configuration)
    let endless = Self.endlessSaves[..<2].map { method, target, body in
      file.begin(method, target, body: body, address: "203.0.113.1")
    }
    #expect(
      try eventually(within: .seconds(60)) { try Self.running(file) + Self.waiting(file) == 2 })
    let insert = file.begin(
      "POST", "/v1/objects/tree", body: #"{"name":"other"}"#, address: "203.0.113.2")
    #expect(insert.wait()?.status == 201)
    let batch = file.begin(
      "PATCH", "/v1/objects/leaf?where=n%3D%3D7", body: #"{"n":70}"#, address: "203.0.113.2")
    #expect(batch.wait()?.json["updated"]?.integer == 1)
    #expect(endless.allSatisfy { !$0.isThere })
  }

  /// Saves that would take hours: a batch, batches among the changes of a save, and a trigger of the
  /// file's own that runs for a change of one object.
  private static let endlessSaves: [(method: String, target: String, body: String)] = [
    ("PATCH", "/v1/objects/leaf?where=\(endless)", #"{"n":1}"#),
    (
      "POST", "/v1/save",
      """
      {"changes":[{"insert":"tree","values":{"name":"late"}},
        {"update":"leaf","where":"id == 1","values":{"n":7}},
        {"delete":"leaf","where":"SUBQUERY(tree.leaf, $a, SUBQUERY(tree.leaf, $b, $a.n * $b.n == \
      -n).@count > 0).@count > 0"}]}
      """
    ),
    ("PATCH", "/v1/objects/slow/1", #"{"n":1}"#),
  ]

  private static let slowTrigger = """
    CREATE TABLE slow(id INTEGER PRIMARY KEY, n INTEGER);
    INSERT INTO slow VALUES (1, 0);
    CREATE TRIGGER counts AFTER UPDATE ON slow BEGIN
      UPDATE tree SET name = 'late' WHERE (SELECT count(*) FROM leaf a, leaf b, leaf c) = 0;
    END;
    """

  @Test(.onlyForFiles, arguments: endlessSaves)
  func aSaveThatWouldTakeHoursEndsChangesNothingAndOtherSavesAreMade(
    method: String, target: String, body: String
  ) throws {
    let (configuration, options) = Self.limited(2)
    try Self.serve(configuration, options, sql: Self.fixture + Self.slowTrigger) { file, port in
      let save = try Client(port, Self.head(method, target, body))
      // Saves of another caller that arrive meanwhile.
      let others = try (0..<3).map {
        try Client(port, Self.head("POST", "/v1/objects/tree", "{\"name\":\"other \($0)\"}"))
      }
      let answer = save.answer(until: "}")
      #expect(answer.hasPrefix("HTTP/1.1 504"), "\(answer)")
      #expect(answer.contains(#""code":"query-timeout""#))
      // Those that had to wait for very long are refused, and not made.
      let answers = others.map { $0.answer() }
      let made = answers.count { $0.hasPrefix("HTTP/1.1 201") }
      #expect(made + answers.count { $0.hasPrefix("HTTP/1.1 503") } == 3)
      let later = Self.head("POST", "/v1/objects/tree", #"{"name":"later"}"#)
      #expect(
        try eventually(within: .seconds(60)) {
          try Client(port, later).answer().hasPrefix("HTTP/1.1 201")
        })
      let stored = try SQLiteShell.integer(
        """
        SELECT (SELECT count(*) FROM tree WHERE name LIKE 'other%' OR name = 'later') * 100
          + (SELECT count(*) FROM tree WHERE name = 'late') + (SELECT count(*) FROM leaf WHERE n <> id)
          + 4000 - (SELECT count(*) FROM leaf) + (SELECT n FROM slow)
        """, path: file.path)
      #expect(stored == Int64(made + 1) * 100)
    }
  }

  @Test(.onlyForFiles) func aSaveRefusedAtShutdownIsNeverExecuted() throws {
    let (configuration, options) = Self.limited(600)
    try Self.serve(configuration, options, sql: Self.fixture + Self.slowTrigger) { file, port in
      let batch = try Client(port, Self.head("PATCH", "/v1/objects/slow/1", #"{"n":1}"#))
      // A save that arrives before this one runs is executed.
      var saves: [Client] = []
      #expect(
        try eventually(within: .seconds(60)) {
          let text = try file.ask("/metrics").text
          if try MetricsText(text)["livefetch_saves_waiting"] ?? 0 >= 3 { return true }
          let body = "{\"name\":\"late \(saves.count)\"}"
          saves.append(try Client(port, Self.head("POST", "/v1/objects/tree", body)))
          Thread.sleep(forTimeInterval: 0.1)
          return false
        })
      file.service.drain(within: 4)
      let refusal = batch.answer(until: "}")
      #expect(refusal.hasPrefix("HTTP/1.1 503"))
      #expect(refusal.contains("\"code\":\"shutting-down\""))
      let answers = saves.map { $0.answer(until: "}") }
      let made = answers.count { $0.hasPrefix("HTTP/1.1 201") }
      #expect(answers.count { $0.contains("\"code\":\"shutting-down\"") } == saves.count - made)
      file.store.close()
      let stored = try SQLiteShell.integer(
        "SELECT count(*) FROM tree WHERE name LIKE 'late%'", path: file.path)
      #expect(stored == Int64(made))
    }
  }
}
