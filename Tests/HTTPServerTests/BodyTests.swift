// Request bodies: lengths, chunks, limits, slow and disconnecting clients.

import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  @Suite struct Bodies {
    @Sendable static func mirror(_ request: HTTPRequest, _ exchange: HTTPExchange) {
      exchange.respond(HTTPResponse(body: .bytes(request.body)))
    }

    @Test func `a body with a length comes whole and the connection is kept`() async throws {
      try await withServer(handler: Self.mirror) { server in
        let client = try RawClient(server.port)
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for _ in 0..<2 {
          client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n")
          client.send(body)
          #expect(client.response()?.body == body)
        }
      }
    }

    @Test(arguments: ["GET", "HEAD", "OPTIONS"])
    func `a long body that no handler reads is refused at its head or as it comes`(
      _ method: String
    ) async throws {
      try await withServer(handler: Self.mirror) { server in
        let head = "\(method) / HTTP/1.1\r\nHost: a\r\n"
        let long = try RawClient(server.port)
        long.send(head + "Content-Length: 65537\r\n\r\n")
        #expect(long.receiveAll().hasPrefix("HTTP/1.1 413 "))
        let chunked = try RawClient(server.port)
        chunked.send(head + "Transfer-Encoding: chunked\r\n\r\n10001\r\n")
        chunked.send([UInt8](repeating: 0x20, count: 65_537))
        chunked.send("\r\n0\r\n\r\n")
        #expect(chunked.receiveAll().hasPrefix("HTTP/1.1 413 "))
      }
    }

    /// libmicrohttpd 1.0.1 takes the LF after an extension for data, and then refuses the body.
    static let chunkExtension = RequestGate.knowsLibrary ? ";x=y" : ""

    @Test func `a body in chunks comes whole, trailers are dropped, the connection ends`()
      async throws
    {
      try await withServer(handler: Self.mirror) { server in
        let client = try RawClient(server.port)
        client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n")
        client.send(
          "5\r\nhello\r\n1\(Self.chunkExtension)\r\n \r\n00005\r\nworld\r\n0\r\nX-Trailer: z\r\n\r\n"
        )
        client.send("GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
        let reply = client.response()
        #expect(reply?.text == "hello world")
        #expect(reply?.header("connection") == "close")
        #expect(client.receiveAll() == "")
      }
    }

    @Test(arguments: ["chunked ", "chunked \t ", "\t chunked\t", "Chunked "], [1, 7, 4096])
    func `blanks around the transfer coding do not matter`(
      _ coding: String, _ pieceSize: Int
    ) async throws {
      let head = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\(coding)\r\n\r\n"
      let body =
        "5\r\nhello\r\n1\(Self.chunkExtension)\r\n \r\n00005\r\nworld\r\n0\r\nX-Trailer: z\r\n\r\n"
      try await withServer(handler: Self.mirror) { server in
        let client = try RawClient(server.port)
        client.send(head)
        var rest = Array((body + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n").utf8)[...]
        while !rest.isEmpty {
          client.send(Array(rest.prefix(pieceSize)))
          rest = rest.dropFirst(pieceSize)
        }
        let reply = client.response()
        #expect(reply?.text == "hello world")
        #expect(reply?.header("connection") == "close")
        #expect(client.receiveAll() == "")
      }
    }

    @Test func `a suspended request with a blank after its coding is answered`() async throws {
      try await serving { request, exchange in
        Task.detached {
          try await Task.sleep(for: .milliseconds(50))
          exchange.respond(HTTPResponse(body: .bytes(request.body)))
        }
      } during: { server in
        let clients = try (0..<20).map { _ in try RawClient(server.port) }
        for client in clients {
          client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked \r\n\r\n")
          client.send("3\r\nabc\r\n0\r\n\r\n")
        }
        for client in clients {
          #expect(client.response()?.text == "abc")
          #expect(client.isClosedByServer)
          client.close()
        }
        #expect(await eventually { server.connectionCount == 0 })
      }
    }

    @Test func `a long answer to it is sent whole to a slow reader`() async throws {
      let long = [UInt8](repeating: 0x78, count: 32 << 20)
      try await serving { _, exchange in
        exchange.respond(PreparedResponse(HTTPResponse(body: .bytes(long))))
      } during: { server in
        let client = try RawClient(server.port, receiveBuffer: 4096)
        client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked \r\n\r\n0\r\n\r\n")
        try await Task.sleep(for: .milliseconds(300))
        #expect(client.response()?.body == long)
        #expect(client.isClosedByServer)
        client.close()
        #expect(await eventually { server.connectionCount == 0 })
      }
    }

    @Test(arguments: [
      ("zz\r\n", 400), ("\r\n", 400), ("5\nhello", 400), ("1\r\nab\r\n", 400),
      ("1\r\na\n0\r\n\r\n", 400), ("fffffffffffffffff\r\n", RequestGate.knowsLibrary ? 400 : 413),
      ("0\r\n\r\r\n", 400), ("0\r\nX: a\r\n\rb", 400), ("3e9\r\n", 0),
      ("3e8\r\n" + String(repeating: "x", count: 1000) + "\r\n1\r\nx\r\n", 413),
    ])
    func `chunks after such a coding are checked as others are`(
      _ body: String, _ status: Int
    ) async throws {
      try await withServer(.changed { $0.maxBodyBytes = 1000 }) { server in
        let client = try RawClient(server.port, timeout: status == 0 ? 0.1 : 60)
        client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked \r\n\r\n" + body)
        #expect(client.response()?.status == (status == 0 ? nil : status))
        try #expect(RawClient(server.port).get("/")?.status == 200)
      }
    }

    @Test func `a connection ends after chunks whatever they are answered with`() async throws {
      let prepared = PreparedResponse(HTTPResponse(body: .text("prepared")))
      try await serving { _, exchange in
        exchange.respond(prepared)
      } during: { server in
        let client = try RawClient(server.port)
        client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        #expect(client.response()?.text == "prepared")
        #expect(client.isClosedByServer)
      }
    }

    @Test func `100-continue is sent before the body`() async throws {
      try await withServer(handler: Self.mirror) { server in
        let client = try RawClient(server.port)
        client.send(
          "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        #expect(client.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        client.send("abc")
        #expect(client.response()?.text == "abc")
      }
    }

    @Test func `a declared length beyond the limit is 413 at once`() async throws {
      try await withServer(.changed { $0.maxBodyBytes = 1000 }) { server in
        for expect in ["", "Expect: 100-continue\r\n"] {
          let client = try RawClient(server.port)
          client.send("POST / HTTP/1.1\r\nHost: a\r\n\(expect)Content-Length: 1001\r\n\r\n")
          let reply = client.response()
          #expect(reply?.status == 413)
          #expect(reply?.text.contains("\"code\":\"body-too-large\"") == true)
          #expect(reply?.header("connection") == "close")
        }
        let fitting = try RawClient(server.port)
        fitting.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
        fitting.send([UInt8](repeating: 1, count: 1000))
        #expect(fitting.response()?.text == "POST / 1000")
      }
    }

    @Test func `a refused body is read on for a while, so that the refusal arrives`() async throws {
      try await withServer(.changed { $0.maxBodyBytes = 1000 }) { server in
        let client = try RawClient(server.port)
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n")
        #expect(client.send([UInt8](repeating: 1, count: 500_000)))
        #expect(client.response()?.status == 413)
        #expect(client.isClosedByServer)
      }
    }

    @Test func `a refused body without end is cut off`() async throws {
      try await withServer(.changed { $0.maxBodyBytes = 1000 }) { server in
        let client = try RawClient(server.port)
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500000000\r\n\r\n")
        let piece = [UInt8](repeating: 1, count: 100_000)
        let pieces = (0..<1000).prefix { _ in client.send(piece) }
        #expect(pieces.count < 200)
      }
    }

    @Test func `chunks beyond the limit are 413 while they come`() async throws {
      let reached = ConcurrentList<Int>()
      try await serving(.changed { $0.maxBodyBytes = 1000 }) { request, _ in
        reached.append(request.body.count)
      } during: { server in
        let client = try RawClient(server.port)
        client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        client.send("3e8\r\n" + String(repeating: "x", count: 1000) + "\r\n1\r\nx\r\n")
        let reply = client.response()
        #expect(reply?.status == 413)
        #expect(reply?.text.contains("\"code\":\"body-too-large\"") == true)
        client.send("0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.receiveAll() == "")
        #expect(reached.count == 0)
      }
    }

    @Test func `a client that disconnects inside its body affects no other client`() async throws {
      try await withServer { server in
        for abruptly in [false, true] {
          let client = try RawClient(server.port)
          client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")
          client.close(abruptly: abruptly)
        }
        try #expect(RawClient(server.port).get("/")?.status == 200)
        #expect(await eventually { server.connectionCount <= 1 })
      }
    }

    @Test func `a head that trickles in is cut off at its deadline`() async throws {
      try await withServer(.changed { $0.headTimeout = 1 }) { server in
        let client = try RawClient(server.port, timeout: 0.2)
        let bytes = Array("GET /slow HTTP/1.1\r\nHost: a\r\nX-Long: 1234567890".utf8)
        var isClosed = false
        for byte in bytes where !isClosed {
          isClosed = !client.send([byte]) || client.receive()?.isEmpty == true
        }
        #expect(isClosed)
        try #expect(RawClient(server.port).get("/")?.status == 200)
      }
    }

    @Test func `an idle connection and a stalled body are cut off too`() async throws {
      try await withServer(
        .changed { configuration in
          configuration.idleTimeout = 1
          configuration.bodyTimeout = 1
        }
      ) { server in
        let idle = try RawClient(server.port)
        #expect(idle.get("/")?.status == 200)
        let stalled = try RawClient(server.port)
        stalled.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")
        #expect(idle.isClosedByServer)
        #expect(stalled.isClosedByServer)
        #expect(await eventually { server.connectionCount == 0 })
      }
    }
  }
}
