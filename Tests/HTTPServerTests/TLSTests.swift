// The server over TLS: requests, streams, certificates, handshakes.

import TestSupport
import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  /// The promises of the server, over TLS.
  @Suite struct TLS {
    private static let pair = TestCertificate()

    static func secure(
      _ change: (inout HTTPServerConfiguration) -> Void = { _ in }
    ) throws -> HTTPServerConfiguration {
      let certificate = try TLSCertificate(certificate: pair.certificate, key: pair.key)
      return .changed { configuration in
        configuration.certificate = certificate
        change(&configuration)
      }
    }

    private func connect(_ server: HTTPServer) throws -> TLSClient {
      try #require(try TLSClient(port: server.port))
    }

    @Test func `requests with and without bodies are answered on one connection`() async throws {
      try await withServer(try Self.secure()) { server in
        let client = try connect(server)
        let body = String(repeating: "x", count: 300_000)
        for _ in 0..<3 {
          #expect(client.exchange("GET /a HTTP/1.1\r\nHost: a\r\n\r\n").hasSuffix("GET /a 0"))
          let reply = client.exchange(
            "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n\(body)")
          #expect(reply.hasSuffix("POST /b 300000"))
        }
        let chunks = client.exchange(
          "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        #expect(chunks.hasSuffix("PUT /c 3"))
      }
    }

    @Test func `a large response arrives completely`() async throws {
      let body = [UInt8](repeating: 0x61, count: 5 << 20)
      let shared = PreparedResponse(HTTPResponse(body: .bytes(body)))
      try await withServer(try Self.secure()) { _, exchange in
        exchange.respond(shared)
      } _: { server in
        let clients = try (0..<2).map { _ in try connect(server) }
        for client in clients { client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
        for client in clients {
          let parts = client.response().split(separator: "\r\n\r\n", maxSplits: 1)
          let isWhole = parts.count == 2 && parts[1].utf8.elementsEqual(body)
          #expect(isWhole)
          #expect(parts.first?.contains("Strict-Transport-Security: max-age=31536000") == true)
        }
      }
    }

    @Test func `200 requests on separate connections wait at the same time and are all answered`()
      async throws
    {
      let waiting = ConcurrentList<HTTPExchange>()
      try await withServer(try Self.secure()) { _, exchange in
        waiting.append(exchange)
      } _: { server in
        let clients = try (0..<200).map { _ in try connect(server) }
        for client in clients { client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
        #expect(await eventually { server.waitingCount == 200 })
        for exchange in waiting.takeAll() { exchange.respond(HTTPResponse(body: .text("now"))) }
        for client in clients { #expect(client.response().hasSuffix("now")) }
      }
    }

    @Test func `a stream sends events as they come`() async throws {
      let source = QueueSource()
      try await withServer(try Self.secure()) { _, exchange in
        exchange.stream(source)
      } _: { server in
        let client = try connect(server)
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        for number in 1...3 {
          source.put("event \(number)\n\n")
          #expect(client.receive(until: "event \(number)\n\n").hasSuffix("event \(number)\n\n"))
        }
        source.put(.end)
        #expect(client.receive(until: "0\r\n\r\n").hasSuffix("0\r\n\r\n"))
      }
    }

    @Test(arguments: [false, true])
    func `a connection whose client closes it while its request waits is closed`(abruptly: Bool)
      async throws
    {
      let left = ConcurrentList<Int>()
      let waiting = ConcurrentList<HTTPExchange>()
      try await withServer(try Self.secure { $0.idleTimeout = 600 }) { _, exchange in
        exchange.onDisconnect { left.append(1) }
        waiting.append(exchange)
      } _: { server in
        let clients = try (0..<20).map { _ in try connect(server) }
        for client in clients { client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
        #expect(await eventually { server.waitingCount == 20 })
        for client in clients { client.close(abruptly: abruptly) }
        #expect(await eventually { server.connectionCount == 0 }, "\(server.connectionCount)")
        #expect(left.count == 20)
      }
    }

    @Test func `a client that has finished sending gets its response`() async throws {
      try await withServer(try Self.secure { $0.idleTimeout = 600 }) { server in
        let answered = try connect(server)
        answered.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
        answered.finishSending()
        #expect(answered.response().hasSuffix("GET /x 0"))
        #expect(await eventually { server.connectionCount == 0 }, "\(server.connectionCount)")
      }
    }

    @Test func `a connection whose client has finished sending is closed while its request waits`()
      async throws
    {
      let waiting = ConcurrentList<HTTPExchange>()
      try await withServer(try Self.secure { $0.idleTimeout = 600 }) { _, exchange in
        waiting.append(exchange)
      } _: { server in
        let held = try connect(server)
        held.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
        held.finishSending()
        #expect(await eventually { server.connectionCount == 0 }, "\(server.connectionCount)")
      }
    }

    @Test func `a client that vanishes within the size line of a chunk is let go`() async throws {
      let configuration = try Self.secure { ($0.idleTimeout, $0.bodyTimeout) = (600, 600) }
      try await withServer(configuration) { server in
        let head = " / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        for method in ["GET", "POST"] {
          let client = try connect(server)
          client.send(method + head + "e;" + String(repeating: "x", count: 9_000))
          try await Task.sleep(for: .milliseconds(200))
          client.close()
        }
        #expect(await eventually { server.connectionCount == 0 }, "\(server.connectionCount)")
      }
    }

    @Test func `a stream whose client leaves ends`() async throws {
      let source = QueueSource()
      try await withServer(try Self.secure()) { _, exchange in
        exchange.stream(source)
      } _: { server in
        let client = try connect(server)
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        source.put("first\n\n")
        _ = client.receive(until: "first\n\n")
        client.close()
        #expect(await eventually { source.closedCount == 1 })
        #expect(await eventually { server.connectionCount == 0 })
      }
    }

    @Test func `a body is refused before it is read`() async throws {
      let handler = HeadRefusals.KeyedHandler()
      let server = try HTTPServer(try Self.secure { $0.maxBodyBytes = 1_000 }, handler: handler)
      defer { server.stop(grace: 0.5) }
      for expect in ["", "Expect: 100-continue\r\n"] {
        let refused = try connect(server).exchange(
          "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\(expect)\r\n")
        #expect(refused.hasPrefix("HTTP/1.1 401 Unauthorized\r\n"), "\(refused)")
        #expect(refused.contains("Strict-Transport-Security: max-age=31536000\r\n"))
        #expect(refused.hasSuffix("\r\n\r\nno"))
      }
      let large = try connect(server).exchange(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n")
      #expect(large.hasPrefix("HTTP/1.1 413 "), "\(large)")
      let chunked = try connect(server).exchange(
        "POST / HTTP/1.1\r\nHost: a\r\nX-Key: yes\r\nTransfer-Encoding: chunked\r\n\r\n7D0\r\n"
          + String(repeating: "x", count: 2_000))
      #expect(chunked.hasPrefix("HTTP/1.1 413 "), "\(chunked)")
      #expect(handler.handled.count == 0)
      guard RequestGate.knowsLibrary else { return }
      let hidden = try connect(server).exchange(
        "POST / HTTP/1.1\r\nHost: a\r\nX-Key: yes\r\nTransfer-Encoding: chunked \r\n\r\n1\r\na\r\n0\r\n\r\n"
      )
      #expect(hidden.hasPrefix("HTTP/1.1 400 "), "\(hidden)")
      #expect(handler.handled.count == 0)
    }

    @Test(arguments: [
      ("GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n\r\n", 200),
      ("GET / HTTP/1.1\nHost: a\n\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", 421),
      ("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 7_200) + "\r\n\r\n", 431),
    ])
    func `a head is checked, in whatever records it arrives`(head: String, status: Int) async throws
    {
      try await withServer(try Self.secure { $0.hostNames = HostNames(["a"]) }) { server in
        let whole = try connect(server).exchange(head)
        #expect(whole.hasPrefix("HTTP/1.1 \(status) "), "\(whole)")
        let client = try connect(server)
        for character in head.unicodeScalars where !client.send(String(character)) { break }
        #expect(client.response().hasPrefix("HTTP/1.1 \(status) "))
      }
    }

    @Test func `a handshake that does not end is closed`() async throws {
      try await withServer(try Self.secure { $0.headTimeout = 1 }) { server in
        let silent = try RawClient(server.port)
        let partial = try RawClient(server.port)
        partial.send([0x16, 0x03, 0x01, 0x02])
        #expect(silent.receive()?.isEmpty == true)
        #expect(partial.receive() != nil)
        #expect(await eventually { server.connectionCount == 0 })
      }
    }

    @Test func `a body that does not arrive in time ends its connection`() async throws {
      try await withServer(try Self.secure { $0.bodyTimeout = 1 }) { server in
        let client = try connect(server)
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
        #expect(await eventually { server.connectionCount == 0 })
      }
    }

    @Test func `a request without TLS ends its connection and no other`() async throws {
      try await withServer(try Self.secure()) { server in
        let plain = try RawClient(server.port)
        plain.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        let received = plain.receiveAll()
        #expect(received == "")
        #expect(plain.isClosedByServer)
        let reply = try connect(server).exchange("GET /y HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(reply.hasSuffix("GET /y 0"))
      }
    }

    @Test func `a replaced certificate is presented to new connections and ends none`() async throws
    {
      let first = TestCertificate()
      let second = TestCertificate()
      let certificate = try TLSCertificate(certificate: first.certificate, key: first.key)
      try await withServer(.changed { $0.certificate = certificate }) { server in
        let old = try connect(server)
        #expect(throws: TLSError.mismatch) {
          try certificate.replace(certificate: second.certificate, key: first.key)
        }
        let same = try connect(server)
        #expect(same.peerCertificate == old.peerCertificate)
        try certificate.replace(certificate: second.certificate, key: second.key)
        let new = try connect(server)
        #expect(new.peerCertificate != old.peerCertificate)
        for client in [old, new] {
          #expect(client.exchange("GET /z HTTP/1.1\r\nHost: a\r\n\r\n").hasSuffix("GET /z 0"))
        }
      }
    }

    @Test func `an invalid certificate, key or pair is refused`() throws {
      let pair = Self.pair
      let none = Array("none".utf8)
      let other = TestCertificate()
      #expect {
        try TLSCertificate(certificate: none, key: pair.key)
      } throws: { error in
        if case .badCertificate? = error as? TLSError { true } else { false }
      }
      #expect {
        try TLSCertificate(certificate: pair.certificate, key: none)
      } throws: { error in
        if case .badKey? = error as? TLSError { true } else { false }
      }
      #expect(throws: TLSError.mismatch) {
        try TLSCertificate(certificate: pair.certificate, key: other.key)
      }
    }

    @Test func `every kind of response has Strict-Transport-Security`() async throws {
      let prepared = PreparedResponse(HTTPResponse(headers: [("ETag", "\"1\"")], body: .text("p")))
      try await withServer(try Self.secure()) { request, exchange in
        switch request.target {
        case "/prepared": exchange.respond(prepared)
        case "/omitted":
          exchange.respond(
            PreparedResponse(HTTPResponse(status: 304, body: .omitted(count: 7))))
        case "/stream": exchange.stream(QueueSource(otherwise: .end))
        default: echo(request, exchange)
        }
      } _: { server in
        for target in ["/prepared", "/omitted", "/stream", "/", "#"] {
          let client = try connect(server)
          client.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
          let head = client.receive(until: "\r\n\r\n")
          #expect(head.hasPrefix("HTTP/1.1 "))
          #expect(
            head.contains("Strict-Transport-Security: max-age=31536000\r\n"), "\(target): \(head)")
        }
      }
    }
  }
}
