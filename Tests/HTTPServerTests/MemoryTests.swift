// The memory limit of requests and responses in flight.

import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  @Suite struct Memory {
    private static func limited(_ bytes: Int) -> HTTPServerConfiguration {
      .changed { $0.maxMemoryInFlight = bytes }
    }

    /// Answers with eight megabytes, which no kernel takes at once.
    @Sendable private static func large(_ request: HTTPRequest, _ exchange: HTTPExchange) {
      exchange.respond(HTTPResponse(body: .bytes([UInt8](repeating: 65, count: 8 << 20))))
    }

    @Test func `answers that are not read are counted, and beyond the limit there is 503`()
      async throws
    {
      try await serving(Self.limited(24 << 20), Self.large) { server in
        let unread = try (0..<3).map { _ in try RawClient(server.port, receiveBuffer: 4_096) }
        for client in unread { client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
        #expect(await eventually { server.memoryInFlight == 24 << 20 })
        let client = try RawClient(server.port)
        let refusal = client.get("/")
        #expect(refusal?.status == 503)
        #expect(refusal?.header("retry-after") == "1")
        #expect(refusal?.text.contains("\"code\":\"overloaded\"") == true)
        for client in unread { client.close() }
        #expect(await eventually { server.memoryInFlight == 0 })
        let answer = client.get("/")
        #expect(answer?.status == 200)
        #expect(answer?.body.count == 8 << 20)
      }
    }

    @Test func `an answer that many clients share counts once`() async throws {
      let shared = PreparedResponse(
        HTTPResponse(body: .bytes([UInt8](repeating: 65, count: 8 << 20))))
      try await serving(Self.limited(12 << 20)) { _, exchange in
        exchange.respond(shared)
      } during: { server in
        let unread = try (0..<3).map { _ in try RawClient(server.port, receiveBuffer: 4_096) }
        for client in unread {
          client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
          #expect(client.receive(until: "\r\n")?.contains("200") == true)
        }
        #expect(server.memoryInFlight == 8 << 20)
      }
    }

    @Test func `bodies are counted as they come, and let go with their requests`() async throws {
      try await serving(Self.limited(3 << 20), echo) { server in
        let piece = [UInt8](repeating: 32, count: 1 << 20)
        let slow = try RawClient(server.port)
        slow.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(5 << 19)\r\n\r\n")
        slow.send(piece + piece)
        #expect(await eventually { server.memoryInFlight == 2 << 20 })
        let declared = try RawClient(server.port)
        declared.send(
          "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: \(2 << 20)\r\n\r\n"
        )
        #expect(declared.response()?.status == 503)
        // libmicrohttpd decodes the first form; LiveFetch decodes the second one.
        for coding in ["chunked", "chunked "] {
          let chunked = try RawClient(server.port)
          chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \(coding)\r\n\r\n")
          chunked.send("200000\r\n")
          chunked.send(piece + piece)
          let refusal = chunked.response()
          #expect(refusal?.status == 503, "\(coding)|")
          #expect(refusal?.text.contains("\"code\":\"overloaded\"") == true)
        }
        slow.close()
        #expect(await eventually { server.memoryInFlight == 0 })
        let client = try RawClient(server.port)
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(2 << 20)\r\n\r\n")
        client.send(piece + piece)
        #expect(client.response()?.text == "POST / \(2 << 20)")
      }
    }

    @Test func `an answer that may not be refused is sent whatever memory it takes`() async throws {
      try await serving(Self.limited(1 << 20)) { request, exchange in
        if request.target == "/changes" { exchange.forbidRefusal() }
        exchange.respond(HTTPResponse(body: .bytes([UInt8](repeating: 65, count: 2 << 20))))
      } during: { server in
        let client = try RawClient(server.port)
        #expect(client.get("/")?.status == 503)
        #expect(client.get("/changes")?.body.count == 2 << 20)
      }
    }

    @Test func `a stop closes connections whose outcome is not known instead of refusing them`()
      async throws
    {
      let exchanges = ConcurrentList<HTTPExchange>()
      let server = try HTTPServer(
        .test,
        handler: ScriptedHandler { request, exchange in
          if request.target == "/changes" { exchange.forbidRefusal() }
          exchanges.append(exchange)
        })
      let (changing, reading) = (try RawClient(server.port), try RawClient(server.port))
      changing.send("GET /changes HTTP/1.1\r\nHost: a\r\n\r\n")
      reading.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(await eventually { exchanges.count == 2 && server.waitingCount == 2 })
      server.stop(grace: 0.5)
      #expect(reading.response()?.status == 503)
      #expect(changing.isClosedByServer)
    }
  }
}
