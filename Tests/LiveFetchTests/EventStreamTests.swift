// Streams of events as the library reads them: bytes cut anywhere, answers that are none, thousands
// of connections that begin and end.

import Foundation
import HTTPAnswers
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

  @Test(
    "takes the frame off an answer wherever it is cut",
    arguments: [
      (
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
          + "X-A:  b \r\n\r\n5;x=y\r\nhello\r\nA\r\n, everyone\r\n0\r\nTrailer: 1\r\n\r\nrest", true
      ),
      ("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\nhello, everyone and more", true),
      ("HTTP/1.1 200 OK\r\nContent-Length:\t 15 \t \r\n\r\nhello, everyone and more", true),
      (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding:chunked\t\r\n\r\n\tF \r\nhello, everyone\r\n0 \r\n\r\n",
        true
      ),
      ("HTTP/1.0 200 OK\n\nhello, everyone", false),
    ], [1, 2, 5, 1000])
  func frames(answer: (text: String, isOver: Bool), size: Int) throws {
    var reader = AnswerReader()
    let bytes = Array(answer.text.utf8)
    var body: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      body += try reader.read(Array(bytes[start..<min(start + size, bytes.count)]))
    }
    #expect(String(decoding: body, as: UTF8.self) == "hello, everyone")
    #expect(reader.head?.status == 200)
    #expect(reader.isOver == answer.isOver)
  }

  @Test("a header's value comes without the blanks around it, and with those in it")
  func blanks() throws {
    var reader = AnswerReader()
    let text =
      "HTTP/1.1 200 OK\r\nRetry-After: 2 \r\nA:b\t c\t \t\r\nNone: \t \r\nWide: \u{A0}x\u{A0}\r\n\r\n"
    let body = try reader.read(Array(text.utf8))
    #expect(body.isEmpty)
    #expect(
      reader.head?.headers
        == ["retry-after": "2", "a": "b\t c", "none": "", "wide": "\u{A0}x\u{A0}"])
  }

  @Test(
    "an answer that is none is refused",
    arguments: [
      "SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 OK\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1 2\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1 0\r\n",
    ])
  func faults(text: String) {
    var reader = AnswerReader()
    #expect(throws: AnswerReader.Fault.self) { try reader.read(Array(text.utf8)) }
  }

  @Test("headers without end are not kept")
  func endless() {
    var reader = AnswerReader()
    #expect(throws: AnswerReader.Fault.self) {
      try reader.read([UInt8](repeating: 0x61, count: 1 << 17))
    }
    var lines = AnswerReader()
    #expect(throws: AnswerReader.Fault.self) {
      for _ in 0..<5000 { _ = try lines.read(Array("a: b\r\n".utf8)) }
    }
  }

  @Test(
    "`Retry-After` is seconds or a date",
    arguments: [("7", 7), ("0", 0), ("-3", 0), ("soon", nil), ("nan", nil)] as [(String, Double?)])
  func retryAfter(text: String, seconds: Double?) {
    #expect(RemoteAnswer(status: 503, body: [], retryAfter: text).retryAfter == seconds)
  }

  @Test("a date of `Retry-After` is the time until then")
  func retryDate() throws {
    let past = RemoteAnswer(
      status: 503, body: [], retryAfter: "Wed, 21 Oct 2015 07:28:00 GMT")
    #expect(past.retryAfter == 0)
    let far = RemoteAnswer(
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
    for _ in 0..<1000 where proxy.connections > 0 { try await Task.sleep(for: .milliseconds(5)) }
    #expect(proxy.connections == 0)
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
    for _ in 0..<1000 where proxy.connections > 0 { try await Task.sleep(for: .milliseconds(5)) }
    #expect(proxy.connections == 0)
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
    // What the sockets hold was sent one by one; the rest came as one.
    #expect(count < 80)
  }

  @Test("silence, late beginnings and hosts that are not there are told apart")
  func patience() async throws {
    let server = try Restarting()
    let host = try #require(server.address.host)
    let proxy = try FaultProxy(host: host, port: server.port)
    let token = try await token(RemoteStore(server.address))
    let head = try #require(RemoteHost(server.address, token: nil))
    func outcome(_ port: Int, _ patience: ConnectionPatience) async -> String {
      let body = #"{"entity":"City","since":"\#(token)"}"#
      let text =
        "POST /v1/fetch HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n"
        + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
      let connection = HTTPConnection(
        host: port == proxy.port ? "127.0.0.1" : head.name, port: port,
        request: Array(text.utf8), wants: .stream,
        patience: patience)
      return "\(await connection.next())"
    }
    var short = ConnectionPatience()
    short.silence = 0.4
    #expect(await outcome(server.port, short) == #"ended("the stream went silent")"#)
    proxy.set(.heldBack)
    short.beginning = 0.4
    #expect(await outcome(proxy.port, short) == "heldBack")
    server.stop()
    #expect(await outcome(server.port, short) == #"ended("Connection refused")"#)
    let nowhere = HTTPConnection(host: "no such host", port: 1, request: [], wants: .answer)
    #expect("\(await nowhere.next())" == #"ended("there is no such host")"#)
  }

  @Test(
    "https and tokens that no header can hold are left to long polls",
    arguments: [
      ("https://example.org", nil), ("http://example.org", "a\r\nb: c"), ("ftp://a", nil),
    ] as [(String, String?)])
  func polls(address: String, token: String?) throws {
    let store = RemoteStore(
      try #require(URL(string: address)), token: token, transport: .stream)
    #expect(store.feed(of: request) is PolledFeed)
  }
}
