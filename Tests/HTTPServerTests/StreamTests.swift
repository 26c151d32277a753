// Streamed responses: order of bytes, wakeups, disconnecting and slow readers.

import Testing

@testable import LiveFetchHTTPServer

/// A stream source that returns the steps that the test appended, then one default step.
final class QueueSource: StreamSource {
  private struct State {
    var stream: HTTPStream?
    var steps: [StreamStep] = []
    /// The number of steps that the server requested.
    var requested = 0
    /// The number of bytes that it returned.
    var given = 0
    var closed = 0
  }

  private let state = SanitizedMutex(State())
  /// The step that is returned when the queue is empty.
  private let otherwise: StreamStep

  init(otherwise: StreamStep = .wait) {
    self.otherwise = otherwise
  }

  func opened(_ stream: HTTPStream) {
    state.withLock { $0.stream = stream }
  }

  func next() -> StreamStep {
    state.withLock { state in
      state.requested += 1
      let step = state.steps.isEmpty ? otherwise : state.steps.removeFirst()
      if case .bytes(let bytes) = step { state.given += bytes.count }
      return step
    }
  }

  func closed() {
    state.withLock { state in
      state.closed += 1
      state.stream = nil
    }
  }

  func put(_ step: StreamStep) {
    state.withLock { $0.steps.append(step) }
    wake()
  }

  func put(_ text: String) {
    put(.bytes(Array(text.utf8)))
  }

  func wake() {
    state.withLock { $0.stream }?.wake()
  }

  var requestCount: Int { state.withLock { $0.requested } }
  var givenCount: Int { state.withLock { $0.given } }
  var closedCount: Int { state.withLock { $0.closed } }
}

extension HTTPServerTests {
  @Suite struct Streams {
    static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    func open(
      _ source: QueueSource, _ left: ConcurrentList<String> = ConcurrentList()
    ) -> @Sendable (HTTPRequest, HTTPExchange) -> Void {
      { request, exchange in
        guard request.target == "/" else { return echo(request, exchange) }
        exchange.onDisconnect { left.append("left") }
        exchange.stream(headers: [("Content-Type", "text/event-stream")], source)
      }
    }

    @Test func `bytes arrive as they come and the connection is kept after the end`() async throws {
      let source = QueueSource()
      let left = ConcurrentList<String>()
      try await withServer(handler: open(source, left)) { server in
        let client = try RawClient(server.port)
        client.send(Self.get)
        let reply = client.response(bodyFollows: false)
        #expect(reply?.status == 200)
        #expect(reply?.header("content-type") == "text/event-stream")
        #expect(reply?.header("transfer-encoding") == "chunked")
        for number in 0..<5 {
          source.put("event \(number)")
          #expect(client.receiveChunk() == Array("event \(number)".utf8))
        }
        source.put(.end)
        #expect(client.receiveChunk() == [])
        _ = client.receive(count: 0)
        #expect(await eventually { source.closedCount == 1 })
        #expect(client.get("/after")?.text == "GET /after 0")
        #expect(left.count == 0)
      }
    }

    @Test func `a stream that was answered later streams as well`() async throws {
      let exchanges = ConcurrentList<HTTPExchange>()
      let source = QueueSource(otherwise: .end)
      source.put("late")
      try await serving { _, exchange in
        exchanges.append(exchange)
      } during: { server in
        let client = try RawClient(server.port)
        client.send(Self.get)
        #expect(await eventually { exchanges.count == 1 })
        for exchange in exchanges.takeAll() { exchange.stream(source) }
        #expect(client.response()?.text == "late")
      }
    }

    @Test func `bytes that do not fit are sent in pieces`() async throws {
      let source = QueueSource(otherwise: .end)
      let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
      source.put(.bytes(bytes))
      source.put(.bytes([]))
      source.put("tail")
      try await withServer(handler: open(source)) { server in
        let client = try RawClient(server.port)
        client.send(Self.get)
        #expect(client.response()?.body == bytes + Array("tail".utf8))
      }
    }

    @Test func `an HTTP/1.0 client gets the bytes until the close`() async throws {
      let source = QueueSource(otherwise: .end)
      source.put("old")
      try await withServer(handler: open(source)) { server in
        let client = try RawClient(server.port)
        client.send("GET / HTTP/1.0\r\n\r\n")
        #expect(client.receiveAll().hasSuffix("\r\n\r\nold"))
      }
    }

    @Test func `HEAD of a stream has no body and ends it and the connection`() async throws {
      let source = QueueSource()
      try await withServer(handler: open(source)) { server in
        let client = try RawClient(server.port)
        client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.response(bodyFollows: false)?.status == 200)
        #expect(await eventually { source.closedCount == 1 })
        #expect(client.receiveAll() == "")
      }
    }

    @Test func `a waiting source is not asked again before it wakes`() async throws {
      let source = QueueSource()
      try await withServer(handler: open(source)) { server in
        let client = try RawClient(server.port)
        client.send(Self.get)
        #expect(client.response(bodyFollows: false)?.status == 200)
        #expect(await eventually { source.requestCount == 1 })
        try await Task.sleep(for: .milliseconds(300))
        #expect(source.requestCount == 1)
        source.wake()
        #expect(await eventually { source.requestCount == 2 })
      }
    }

    @Test func `no wake is lost, however they fall`() async throws {
      let source = QueueSource()
      try await withServer(handler: open(source)) { server in
        let client = try RawClient(server.port)
        client.send(Self.get)
        #expect(client.response(bodyFollows: false)?.status == 200)
        let writer = Task.detached {
          for number in 0..<5000 { source.put("\(number) ") }
          source.put(.end)
        }
        var text: [UInt8] = []
        while let chunk = client.receiveChunk(), !chunk.isEmpty { text += chunk }
        await writer.value
        #expect(String(decoding: text, as: UTF8.self) == (0..<5000).map { "\($0) " }.joined())
      }
    }

    @Test(arguments: [false, true])
    func `a reader that leaves is noticed while its stream waits`(_ abruptly: Bool) async throws {
      let source = QueueSource()
      let left = ConcurrentList<String>()
      try await withServer(handler: open(source, left)) { server in
        let client = try RawClient(server.port)
        client.send(Self.get)
        #expect(client.response(bodyFollows: false)?.status == 200)
        #expect(await eventually { source.requestCount == 1 })
        client.close(abruptly: abruptly)
        #expect(await eventually { left.count == 1 && source.closedCount == 1 })
        #expect(await eventually { server.connectionCount == 0 })
        source.wake()
        #expect(left.count == 1)
      }
    }

    @Test func `a reader that leaves while bytes flow is noticed`() async throws {
      let source = QueueSource(otherwise: .bytes([UInt8](repeating: 1, count: 10_000)))
      let left = ConcurrentList<String>()
      try await withServer(handler: open(source, left)) { server in
        let client = try RawClient(server.port)
        client.send(Self.get)
        #expect(client.receive(count: 100_000) != nil)
        client.close(abruptly: true)
        #expect(await eventually { left.count == 1 && source.closedCount == 1 })
      }
    }

    @Test func `no bytes are taken for a stalled reader, other streams continue`() async throws {
      let source = QueueSource(otherwise: .bytes([UInt8](repeating: 1, count: 10_000)))
      try await withServer(.changed { $0.workers = 1 }, handler: open(source)) { server in
        let stalled = try RawClient(server.port, receiveBuffer: 8192)
        stalled.send(Self.get)
        #expect(stalled.receive(until: "\r\n\r\n") != nil)
        var (given, unchanged) = (0, 0)
        while unchanged < 10 {
          try await Task.sleep(for: .milliseconds(30))
          unchanged = source.givenCount == given ? unchanged + 1 : 0
          given = source.givenCount
        }
        #expect(given < 4_000_000)
        for _ in 0..<100 { source.wake() }
        try #expect(RawClient(server.port).get("/other")?.status == 200)
        #expect(source.givenCount == given)
        #expect(stalled.receive(count: 2_000_000) != nil)
        #expect(await eventually { source.givenCount > given })
      }
    }

    @Test func `a second answer's stream is closed unasked`() async throws {
      let source = QueueSource()
      try await serving { _, exchange in
        exchange.respond(HTTPResponse(body: .text("first")))
        exchange.stream(source)
      } during: { server in
        try #expect(RawClient(server.port).get("/")?.text == "first")
        #expect(source.closedCount == 1)
        #expect(source.requestCount == 0)
      }
    }

    @Test func `an exchange without a socket hands its answer over`() {
      let answers = ConcurrentList<AnyHTTPResponse>()
      let source = QueueSource()
      source.put("one")
      HTTPExchange { answers.append($0) }.stream(source)
      let stream = answers.all.first?.stream
      guard case .bytes(let bytes)? = stream?.next() else {
        Issue.record("no bytes")
        return
      }
      #expect(bytes == Array("one".utf8))
      source.put(.end)
      if case .end? = stream?.next() {} else { Issue.record("no end") }
      #expect(source.closedCount == 1)
      #expect(answers.count == 1)
    }
  }
}
