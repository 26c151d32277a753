// Clients that disconnect during a slow query: the query ends, a save is completed.

import Foundation
import LiveFetchHTTPServer
import SQLiteStore
import TestSupport
import Testing

@testable import Service

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Queries of disconnected clients are cancelled", .mayBlock)
struct DisconnectedClientsTests {
  /// A query that reads the links of every owner takes 30,000 squared steps. No planner joins the tables,
  /// since each owner is compared with its own links' maximum.
  private static let fixture = """
    CREATE TABLE owner(id INTEGER PRIMARY KEY);
    CREATE TABLE thing(id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES owner(id));
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
      INSERT INTO owner SELECT i FROM n;
    INSERT INTO thing SELECT id, id FROM owner;
    """

  private static let target = "/v1/objects/owner?as=count&where=thing.@max.id%3Eid"
  private static let fetches =
    #"{"fetches":{"a":{"entity":"owner","as":"count","where":"thing.@max.id > id"}}}"#

  private static func post(_ headers: String = "") -> String {
    "POST /v1/live HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      + "Content-Length: \(fetches.utf8.count)\r\n\(headers)\r\n\(fetches)"
  }

  static let requests = [
    "GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET \(target) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n",
    post(), post("Accept: text/event-stream\r\n"),
  ]

  private static func serve(
    _ file: ServedFile, _ configure: (inout HTTPServerConfiguration) -> Void
  ) throws -> HTTPServer {
    var configuration = HTTPServerConfiguration()
    configuration.port = 0
    configure(&configuration)
    return try HTTPServer(configuration, handler: file.service)
  }

  @Test(arguments: requests)
  func aReadEndsWhenItsClientLeaves(request: String) throws {
    var options = SQLiteStoreOptions()
    options.queryTimeout = 3600
    let file = try ServedFile(Self.fixture, options: options)
    let server = try Self.serve(file) { $0.workers = 1 }
    defer { server.stop() }
    let client = try LoopbackSocket.connect(to: server.port)
    let bytes = Array(request.utf8)
    try #require(write(client, bytes, bytes.count) == bytes.count)
    let runs = try eventually(within: .seconds(300)) { try Self.running(file) == 1 }
    // It is running, even on a busy machine.
    Thread.sleep(forTimeInterval: 0.2)
    LoopbackSocket.close(client)
    #expect(runs)
    #expect(try eventually(within: .seconds(300)) { try Self.running(file) == 0 })
  }

  @Test(arguments: [
    ("/v1/fetch", #"{"entity":"owner","since":"now","wait":60}"#),
    ("/v1/live", #"{"fetches":{"a":{"entity":"owner","since":"now"}},"wait":60}"#),
  ])
  func aRequestWhoseClientLeftBeforeItWasParsedDoesNotWait(target: String, fetch: String) throws {
    let file = try ServedFile("CREATE TABLE owner(id INTEGER PRIMARY KEY);")
    let server = try Self.serve(file) { $0.workers = 1 }
    defer { server.stop() }
    // Bodies of this length are parsed on three threads, of which one caller uses two.
    let blanks = String(repeating: " ", count: 20_000)
    let isFree = DispatchSemaphore(value: 0)
    for address in ["192.0.2.1", "192.0.2.1", "192.0.2.2"] {
      let request = HTTPRequest(
        method: "POST", target: "/v1/fetch", body: Array(blanks.utf8), remoteAddress: address)
      var context = RequestContext(request, HTTPExchange { _ in }, file.service)
      context.route = .postedFetch
      try file.service.pools.parse(context) {
        isFree.wait()
      } then: { _ in
      }
    }
    let client = try LoopbackSocket.connect(to: server.port)
    let request = Array(
      """
      POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
      Content-Length: \(fetch.utf8.count + 20_000)\r\n\r\n\(fetch)\(blanks)
      """.utf8)
    try #require(write(client, request, request.count) == request.count)
    #expect(eventually(within: .seconds(300)) { server.waitingCount == 1 })
    LoopbackSocket.close(client, abruptly: true)
    #expect(eventually(within: .seconds(300)) { server.connectionCount == 0 })
    for _ in 0..<3 { isFree.signal() }
    // Once these are answered, the engine has the client's request as well.
    let empty = #"{"entity":"owner","since":"now","wait":0}"# + blanks
    for _ in 0..<10 { #expect(try file.ask("POST", "/v1/fetch", body: empty).status == 200) }
    try awaitWaitingFetches(0) { try file.ask($0) }
  }

  /// The write lock of another program keeps the saves waiting for longer than other requests of such
  /// clients may wait.
  @Test func aSaveIsAnsweredAfterItsClientFinishedSending() throws {
    let file = try ServedFile(Self.fixture)
    let server = try Self.serve(file) { $0.finishedPeerTimeout = 0.05 }
    defer { server.stop() }
    let holder = try WriteLockHolder(file.path)
    let clients = try (50_000..<50_010).map { id in
      let client = try LoopbackSocket.connect(to: server.port)
      LoopbackSocket.setTimeout(60, of: client)
      let body = #"{"changes":[{"insert":"owner","values":{"id":\#(id)}}]}"#
      let request = Array(
        """
        POST /v1/save HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
        Content-Length: \(body.utf8.count)\r\n\r\n\(body)
        """.utf8)
      try #require(write(client, request, request.count) == request.count)
      shutdown(client, Int32(SHUT_WR))
      return client
    }
    Thread.sleep(forTimeInterval: 0.5)
    holder.release()
    for client in clients {
      var answer = [UInt8](repeating: 0, count: 4096)
      let count = read(client, &answer, answer.count)
      #expect(
        String(decoding: answer.prefix(max(0, count)), as: UTF8.self).hasPrefix("HTTP/1.1 200"))
      LoopbackSocket.close(client)
    }
    #expect(
      try file.ask("/v1/objects/owner?as=count&where=id%3E=50000").text.contains("\"total\":10"))
  }

  private static func running(_ file: ServedFile) throws -> Double? {
    try MetricsText(file.ask("/metrics").text)["livefetch_slow_queries_running"]
  }
}
