// Requests that a handler refuses before their bodies are read.

import Foundation
import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  /// Requests that are refused before their bodies are read.
  @Suite struct HeadRefusals {
    /// Refuses requests without `X-Key`.
    final class KeyedHandler: HTTPHandler {
      let heads = ConcurrentList<String>()
      let handled = ConcurrentList<String>()

      func refusal(
        of head: HTTPRequest, attach: (any ExchangeAttachment) -> Void
      ) -> HTTPResponse? {
        heads.append("\(head.method) \(head.target) \(head.body.count)")
        guard head.header("X-Key") == nil else { return nil }
        return HTTPResponse(
          status: 401, headers: [("WWW-Authenticate", "Bearer")], body: .text("no"))
      }

      func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        handled.append("\(request.method) \(request.target) \(request.body.count)")
        echo(request, exchange)
      }
    }

    private func withHandler(_ body: (HTTPServer, KeyedHandler) throws -> Void) throws {
      let handler = KeyedHandler()
      let server = try HTTPServer(.test, handler: handler)
      defer { server.stop(grace: 0.5) }
      try body(server, handler)
    }

    @Test(arguments: [
      "Content-Length: 16777216\r\n", "Content-Length: 16777216\r\nExpect: 100-continue\r\n",
      "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n",
      "Transfer-Encoding: chunked \r\n", "Content-Length: 1\r\n",
    ])
    func `a request is refused at its head, without 100 Continue`(_ framing: String) throws {
      try withHandler { server, handler in
        let client = try RawClient(server.port)
        client.send("POST /a HTTP/1.1\r\nHost: a\r\n\(framing)\r\n")
        let reply = client.response()
        #expect(reply?.status == 401)
        #expect(reply?.header("www-authenticate") == "Bearer")
        #expect(reply?.header("connection") == "close")
        #expect(reply?.text == "no")
        #expect(client.isClosedByServer)
        #expect(handler.heads.all == ["POST /a 0"])
        #expect(handler.handled.all == [])
      }
    }

    @Test func `bytes after a refused head are no request`() throws {
      try withHandler { server, handler in
        let client = try RawClient(server.port)
        let inner = "GET /inner HTTP/1.1\r\nHost: a\r\nX-Key: k\r\n\r\n"
        client.send(
          "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: \(inner.utf8.count)\r\n\r\n" + inner
            + inner)
        #expect(client.response()?.status == 401)
        #expect(client.receiveAll() == "")
        #expect(handler.handled.all == [])
      }
    }

    @Test func `an accepted request is read and handled, and the connection kept`() throws {
      try withHandler { server, handler in
        let client = try RawClient(server.port)
        for _ in 0..<2 {
          client.send(
            "POST /a HTTP/1.1\r\nHost: a\r\nX-Key: k\r\nContent-Length: 3\r\n\r\nabc")
          #expect(client.response()?.text == "POST /a 3")
        }
        #expect(handler.heads.all == ["POST /a 0", "POST /a 0"])
      }
    }

    @Test func `a request without a body is checked once`() throws {
      try withHandler { server, handler in
        let client = try RawClient(server.port)
        #expect(client.get("/a")?.text == "GET /a 0")
        client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        #expect(client.response()?.text == "POST /a 0")
        #expect(handler.heads.all == [])
      }
    }

    @Test func `a body beyond the limit is 413 with or without a key`() throws {
      try withHandler { server, handler in
        let client = try RawClient(server.port)
        client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n")
        #expect(client.response()?.status == 413)
        #expect(handler.heads.all == [])
      }
    }

    /// Adds the origin of the request. Answers `/large` beyond the memory, and nothing else.
    struct OriginHandler: HTTPHandler {
      func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        guard request.target == "/large" else { return }
        exchange.respond(HTTPResponse(body: .bytes([UInt8](repeating: 65, count: 2 << 20))))
      }

      func commonHeaders(origin: String?) -> [(name: String, value: String)] {
        [("X-Seen", origin ?? "none")]
      }
    }

    @Test(arguments: [
      ("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n", 413),
      ("GET /a HTTP/1.1\r\nHost: b\r\n", 421), ("GET /large HTTP/1.1\r\nHost: a\r\n", 503),
      ("GET /a HTTP/1.1\r\nHost: a\r\n", 500),
    ])
    func `the handler sees the origin of every request that the server refuses itself`(
      _ head: String, _ status: Int
    ) throws {
      let configuration = HTTPServerConfiguration.changed { configuration in
        configuration.maxMemoryInFlight = 1 << 20
        configuration.hostNames = HostNames(["a"])
      }
      let server = try HTTPServer(configuration, handler: OriginHandler())
      defer { server.stop(grace: 0.5) }
      for (line, seen) in [("", "none"), ("Origin: https://a.example\r\n", "https://a.example")] {
        let client = try RawClient(server.port)
        client.send(head + line + "\r\n")
        let reply = client.response()
        #expect(reply?.status == status)
        #expect(reply?.header("x-seen") == seen)
      }
    }

    @Test func `bodies of refused requests are not kept`() async throws {
      let handler = KeyedHandler()
      let server = try HTTPServer(.test, handler: handler)
      defer { server.stop(grace: 0.5) }
      let before = residentBytes()
      let clients = try (0..<60).map { _ in try RawClient(server.port) }
      let piece = [UInt8](repeating: 0x78, count: 1 << 19)
      for client in clients {
        client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 16777216\r\n\r\n")
        client.send(piece)
      }
      for client in clients { #expect(client.response()?.status == 401) }
      #expect(residentBytes() - before < 20 << 20)
    }
  }
}

/// Bytes of memory that the process uses now.
private func residentBytes() -> Int {
  guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else {
    return 0
  }
  let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
  return pages * 4096
}
