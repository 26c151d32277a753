// Streams of events as the library reads them: in pieces of any size, other responses in their place,
// thousands of connections that begin and end.

import Foundation
import HTTPClient
import Synchronization
import TestSupport
import Testing

@testable import LiveFetch

@Suite("Reading a stream of events", .mayBlock)
struct EventStreamTests {
  private static let text =
    "retry: 2000\n\n:\n\nevent: snapshot\nid: k1\ndata: {\"a\":1}\n\nevent: diff\r\ndata:{\r\n"
    + "data: }\r\n\r\rdata: x\r\revent: empty\n\nid: k2\n\ndata: é\n\nevent: diff\ndata: half\n"
  private static let events = [
    ServerSentEvent(name: "snapshot", data: Array(#"{"a":1}"#.utf8)),
    ServerSentEvent(name: "diff", data: Array("{\n}".utf8)),
    ServerSentEvent(data: Array("x".utf8)), ServerSentEvent(data: Array("é".utf8)),
  ]

  @Test("gives the same events wherever the bytes are cut", arguments: [1, 2, 3, 7, 1000])
  func cuts(size: Int) {
    var parser = EventParser()
    let bytes = Array(Self.text.utf8)
    let events = stride(from: 0, to: bytes.count, by: size).flatMap {
      parser.read(bytes[$0..<min($0 + size, bytes.count)])
    }
    #expect(events == Self.events)
  }

  @Test("an empty line after a CRLF that was cut in two ends the event")
  func cutLineEnd() {
    var parser = EventParser()
    #expect(parser.read(Array("data: x\r".utf8)).isEmpty)
    #expect(parser.read(Array("\n".utf8)).isEmpty)
    #expect(parser.read(Array("\n".utf8)) == [ServerSentEvent(data: Array("x".utf8))])
  }

  @Test(
    "`Retry-After` is seconds or a date",
    arguments: [("7", 7), ("0", 0), ("-3", 0), ("soon", nil), ("nan", nil)] as [(String, Double?)])
  func retryAfter(text: String, seconds: Double?) {
    #expect(RemoteResponse(status: 503, body: [], retryAfter: text).retryAfter == seconds)
  }

  @Test("a date of `Retry-After` is the time until then")
  func retryDate() throws {
    let past = RemoteResponse(
      status: 503, body: [], retryAfter: "Wed, 21 Oct 2015 07:28:00 GMT")
    #expect(past.retryAfter == 0)
    let far = RemoteResponse(
      status: 503, body: [], retryAfter: "Wed, 21 Oct 2315 07:28:00 GMT")
    #expect(try #require(far.retryAfter) > 1e9)
  }
}

@Suite("Connections for streams", .mayBlock, .serialized)
struct EventConnectionTests {
  private let request = JSON.object([.init(name: "entity", value: .string("City"))])

  private func token(_ store: RemoteStore) async throws -> String {
    try #require(try await store.fetch(request)["token"]?.string)
  }

  @Test("thousands begin and end at any moment, and none is left")
  func cycles() async throws {
    let server = try Restarting()
    let proxy = try FaultProxy(host: #require(server.address.host), port: server.port)
    let direct = RemoteStore(server.address, transport: .stream)
    let token = try await token(direct)
    let request = request
    let past = try #require(URL(string: "http://127.0.0.1:\(proxy.port)"))
    let counted = RemoteStore(past, transport: .stream)
    let open = Task { try? await counted.feed(of: request).next(since: token, hold: 25) }
    try await eventually { proxy.connections > 0 }
    open.cancel()
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<16 {
        group.addTask {
          for cycle in 0..<200 {
            let feed = (worker == 0 ? counted : direct).feed(of: request)
            let wait = Task { try? await feed.next(since: token, hold: 25) }
            if cycle % 4 > 0 { try? await Task.sleep(for: .microseconds(cycle % 7 * 500)) }
            wait.cancel()
            #expect(await wait.value == nil)
          }
        }
      }
    }
    try await eventually { proxy.connections == 0 }
  }

  @Test("one that is let go between two events is closed")
  func lettingGo() async throws {
    let server = try Restarting()
    let proxy = try FaultProxy(host: #require(server.address.host), port: server.port)
    let address = try #require(URL(string: "http://127.0.0.1:\(proxy.port)"))
    let direct = RemoteStore(server.address)
    let token = try await token(direct)
    do {
      let feed = RemoteStore(address, transport: .stream).feed(of: request)
      let save = #"{"changes":[{"update":"City","id":1,"values":{"population":5}}]}"#
      _ = try await direct.save(JSON(parsing: Array(save.utf8)))
      let diff = try await feed.next(since: token, hold: 25)
      #expect(diff["from"]?.string == token)
      #expect(proxy.connections == 1)
    }
    try await eventually { proxy.connections == 0 }
  }

  @Test("a reader that is slow gets one diff for what happened meanwhile")
  func slowReader() async throws {
    let server = try Restarting()
    let store = RemoteStore(server.address, transport: .stream)
    let direct = RemoteStore(server.address)
    let feed = store.feed(of: request)
    var token = try await token(direct)
    let long = String(repeating: "x", count: 200_000)
    func save(_ step: Int) async throws {
      let save =
        #"{"changes":[{"update":"City","id":1,"values":{"name":"\#(step)\#(long)"}}]}"#
      _ = try await direct.save(JSON(parsing: Array(save.utf8)))
    }
    try await save(0)
    token = try #require(try await feed.next(since: token, hold: 25)["to"]?.string)
    for step in 1...80 { try await save(step) }
    let newest = try await self.token(direct)
    var count = 0
    while token != newest {
      let diff = try await feed.next(since: token, hold: 25)
      #expect(diff["from"]?.string == token)
      token = try #require(diff["to"]?.string)
      count += 1
    }
    // Events that fit into the sockets' buffers were sent one by one; the rest arrived as one.
    #expect(count < 80)
  }

  @Test("silence, late beginnings and servers that are not there are distinguished")
  func timeLimits() async throws {
    let server = try Restarting()
    let proxy = try FaultProxy(host: #require(server.address.host), port: server.port)
    let token = try await token(RemoteStore(server.address))
    let body = JSON.object([
      .init(name: "entity", value: .string("City")), .init(name: "since", value: .string(token)),
    ])
    let past = try #require(URL(string: "http://127.0.0.1:\(proxy.port)"))
    func outcome(_ address: URL, _ limits: TransferTimeLimits) async throws -> String {
      let remote = try #require(RemoteServer(address, credential: nil))
      return "\(await remote.eventStream("/v1/fetch", body, limits: limits).next())"
    }
    var limits = EventStream.timeLimits
    limits.idle = 0.4
    #expect(
      try await outcome(server.address, limits)
        == #"ended("the response paused for more than 0 s")"#)
    proxy.set(.heldBack)
    limits.response = 0.4
    #expect(try await outcome(past, limits) == "buffered")
    server.stop()
    #expect(try await outcome(server.address, limits) == #"ended("Connection refused")"#)
  }

  @Test("a stream goes on over https as over http")
  func secure() throws {
    let address = try #require(URL(string: "https://example.org"))
    #expect(RemoteStore(address, transport: .stream).feed(of: request) is EventFeed)
  }

  @Test(
    "an address or a token that no request can hold is refused",
    arguments: [("http://example.org", "a\r\nb: c"), ("ftp://a", nil)] as [(String, String?)])
  func refusals(address: String, token: String?) async throws {
    let store = RemoteStore(
      try #require(URL(string: address)), token: token, transport: .stream)
    #expect(store.feed(of: request) is PolledFeed)
    do throws(ObjectStoreError) {
      _ = try await store.fetch(request)
      Issue.record("it was sent")
    } catch {
      guard case .notUnderstood = error else { throw error }
    }
  }
}
