// Clients that finish sending or reset the connection while a request is handled.

import Glibc
import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  /// Clients that close their sending side, or leave, together with what they send. All other time
  /// limits are so long that only the FIN can end a connection.
  @Suite struct HalfClosed {
    static func patient(_ change: (inout HTTPServerConfiguration) -> Void = { _ in })
      -> HTTPServerConfiguration
    {
      .changed { configuration in
        configuration.headTimeout = 600
        configuration.bodyTimeout = 600
        configuration.idleTimeout = 600
        configuration.writeTimeout = 600
        change(&configuration)
      }
    }

    /// Resets a connection with a waiting request, and expects that both end.
    private static func resetEndsWait(
      _ server: HTTPServer, _ waiters: Suspension.Waiters
    ) async throws {
      let client = try RawClient(server.port)
      client.send(Suspension.wait)
      #expect(await eventually(30) { waiters.exchanges.count == 1 })
      client.close(abruptly: true)
      #expect(await eventually(30) { waiters.left.count == 1 })
      #expect(await eventually(30) { server.connectionCount == 0 })
    }

    static let heads: [String] = [
      "", "GET", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a", "GET / HTTP/1.1\r\nHost: a\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1d;" + longLine,
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + longLine,
    ]
    /// More than libmicrohttpd's buffer of a connection.
    private static let longLine = String(repeating: "0", count: 20_000)

    @Test(arguments: heads, [false, true])
    func `a connection ends whose client finishes within a request`(
      _ text: String, _ leaves: Bool
    ) async throws {
      try await withServer(Self.patient { $0.finishedPeerTimeout = 0.05 }) { server in
        let clients = try (0..<20).map { _ in try RawClient(server.port) }
        for client in clients {
          client.sendLast(text)
          if leaves { client.close() }
        }
        #expect(await eventually(30) { server.connectionCount == 0 }, "\(server.connectionCount)")
      }
    }

    @Test func `a request is answered whose client finishes with it, then its connection ends`()
      async throws
    {
      try await withServer(Self.patient()) { server in
        let clients = try (0..<100).map { _ in try RawClient(server.port, timeout: 30) }
        for client in clients { client.sendLast("GET /x HTTP/1.1\r\nHost: a\r\n\r\n") }
        for client in clients {
          #expect(client.response()?.text == "GET /x 0")
          #expect(client.isClosedByServer)
        }
        #expect(await eventually(30) { server.connectionCount == 0 })
      }
    }

    @Test func `a body is answered whose client finishes with it`() async throws {
      try await withServer(Self.patient()) { server in
        let clients = try (0..<50).map { _ in try RawClient(server.port, timeout: 30) }
        let body = String(repeating: "x", count: 100_000)
        for client in clients {
          client.sendLast("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n\(body)")
        }
        for client in clients { #expect(client.receiveAll().hasSuffix("POST /x 100000")) }
        #expect(await eventually(30) { server.connectionCount == 0 })
      }
    }

    @Test func `every request is answered of a client that finishes after several`() async throws {
      try await withServer(Self.patient()) { server in
        let client = try RawClient(server.port, timeout: 30)
        client.sendLast(String(repeating: "GET /x HTTP/1.1\r\nHost: a\r\n\r\n", count: 20))
        for _ in 0..<20 { #expect(client.response()?.text == "GET /x 0") }
        #expect(client.isClosedByServer)
      }
    }

    @Test(arguments: [10, 4 << 20])
    func `an answer of another thread is sent whole to a client that has finished`(_ count: Int)
      async throws
    {
      let bytes = [UInt8](repeating: 0x78, count: count)
      try await serving(Self.patient { $0.finishedPeerTimeout = 10 }) { _, exchange in
        Task.detached { exchange.respond(HTTPResponse(body: .bytes(bytes))) }
      } during: { server in
        let clients = try (0..<20).map { _ in try RawClient(server.port, timeout: 60) }
        for client in clients { client.sendLast("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
        for client in clients { #expect(client.response()?.body.count == count) }
        for client in clients { #expect(client.isClosedByServer) }
      }
    }

    @Test func `a request that may not be refused is answered after its client has finished`()
      async throws
    {
      let waiters = Suspension.Waiters()
      defer { waiters.answerAll() }
      let handle: @Sendable (HTTPRequest, HTTPExchange) -> Void = { request, exchange in
        exchange.forbidRefusal()
        waiters.handle(request, exchange)
      }
      try await withServer(Self.patient { $0.finishedPeerTimeout = 0.05 }, handler: handle) {
        server in
        let clients = try (0..<20).map { _ in try RawClient(server.port, timeout: 60) }
        for client in clients { client.sendLast(Suspension.wait) }
        #expect(await eventually(30) { waiters.exchanges.count == 20 })
        try await Task.sleep(for: .milliseconds(500))
        #expect(waiters.left.count == 0)
        waiters.answerAll()
        for client in clients { #expect(client.response()?.status == 200) }
        #expect(await eventually(30) { server.connectionCount == 0 })
      }
    }

    @Test func `a request that may not be refused ends when its client resets`() async throws {
      let waiters = Suspension.Waiters()
      defer { waiters.answerAll() }
      let handle: @Sendable (HTTPRequest, HTTPExchange) -> Void = { request, exchange in
        exchange.forbidRefusal()
        waiters.handle(request, exchange)
      }
      try await withServer(Self.patient(), handler: handle) { server in
        try await Self.resetEndsWait(server, waiters)
      }
    }

    @Test func `a long answer is sent whole to a client that has finished`() async throws {
      let long = [UInt8](repeating: 0x78, count: 8 << 20)
      try await serving(Self.patient()) { _, exchange in
        exchange.respond(HTTPResponse(body: .bytes(long)))
      } during: { server in
        let client = try RawClient(server.port, timeout: 30)
        client.sendLast("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        try await Task.sleep(for: .milliseconds(1500))
        #expect(client.response()?.body.count == long.count)
      }
    }

    @Test(arguments: [false, true])
    func `a wait ends whose client has finished, with its request or after it`(
      _ isTogether: Bool
    ) async throws {
      let waiters = Suspension.Waiters()
      defer { waiters.answerAll() }
      try await withServer(Self.patient(), handler: waiters.handle) { server in
        let clients = try (0..<100).map { _ in try RawClient(server.port) }
        for client in clients {
          if isTogether { client.sendLast(Suspension.wait) } else { client.send(Suspension.wait) }
        }
        #expect(await eventually(30) { waiters.exchanges.count == 100 })
        for client in clients { client.finishSending() }
        #expect(await eventually(30) { waiters.left.count == 100 })
        #expect(await eventually(30) { server.connectionCount == 0 })
      }
    }

    @Test func `a wait after an answered request ends as well`() async throws {
      let waiters = Suspension.Waiters()
      defer { waiters.answerAll() }
      try await withServer(Self.patient(), handler: waiters.handle) { server in
        let client = try RawClient(server.port, timeout: 30)
        client.sendLast("GET /x HTTP/1.1\r\nHost: a\r\n\r\n" + Suspension.wait)
        #expect(client.response()?.text == "GET /x 0")
        #expect(await eventually(30) { waiters.left.count == 1 })
        #expect(await eventually(30) { server.connectionCount == 0 })
      }
    }

    @Test func `a wait ends at once whose client resets`() async throws {
      let waiters = Suspension.Waiters()
      defer { waiters.answerAll() }
      let configuration = Self.patient { $0.finishedPeerTimeout = 600 }
      try await withServer(configuration, handler: waiters.handle) { server in
        try await Self.resetEndsWait(server, waiters)
      }
    }
  }
}

extension RawClient {
  /// Closes the sending side.
  func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Sends all of it with the FIN in the last packet.
  func sendLast(_ text: String) {
    var isOn: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CORK, &isOn, size)
    if !text.isEmpty { send(text) }
    finishSending()
  }
}
