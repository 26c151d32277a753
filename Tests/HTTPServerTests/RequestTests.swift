// Requests and responses: targets, headers, pipelining, status codes.

import Glibc
import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  @Suite struct Requests {
    @Test func `a target is handed over raw and the connection kept`() async throws {
      try await withServer { server in
        let client = try RawClient(server.port)
        #expect(client.get("/a%2Fb?x=%20+1&&=%00")?.text == "GET /a%2Fb?x=%20+1&&=%00 0")
        #expect(client.get("/second")?.text == "GET /second 0")
      }
    }

    @Test func `each request of a connection has its own target, also beside one sent before`()
      async throws
    {
      try await withServer { server in
        let client = try RawClient(server.port)
        let targets = ["/a?b=1", "/a?b=1", "/a?b=2", "/a?b=1", "/a?b=", "http://o/a?b=", "/a?b="]
        #expect(
          targets.map { client.get($0)?.text } == [
            "GET /a?b=1 0", "GET /a?b=1 0", "GET /a?b=2 0", "GET /a?b=1 0", "GET /a?b= 0",
            "GET /a?b= 0", "GET /a?b= 0",
          ])
        #expect(client.get("/a?b=#")?.status == 400)
      }
    }

    @Test func `pipelined requests are answered in order`() async throws {
      try await withServer { server in
        let client = try RawClient(server.port)
        client.send(
          (0..<20).map { "GET /\($0) HTTP/1.1\r\nHost: test\r\n\r\n" }.joined())
        for number in 0..<20 {
          #expect(client.response()?.text == "GET /\(number) 0")
        }
      }
    }

    @Test func `HEAD has the length of GET and no body`() async throws {
      try await withServer { server in
        let client = try RawClient(server.port)
        client.send("HEAD /x HTTP/1.1\r\nHost: test\r\n\r\n")
        let reply = client.response(bodyFollows: false)
        #expect(reply?.status == 200)
        #expect(reply?.header("content-length") == "9")
        #expect(client.get("/next")?.text == "GET /next 0")
      }
    }

    @Test func `headers are found whatever their case, trimmed, and repeated ones in order`()
      async throws
    {
      try await serving { request, exchange in
        let values = request.headerValues("x-many").joined(separator: "|")
        let text = "\(request.header("X-One") ?? "-") \(values) \(request.header("X-No") ?? "-")"
        exchange.respond(HTTPResponse(body: .text(text)))
      } during: { server in
        let client = try RawClient(server.port)
        let headers = "x-oNE:\t one \t\r\nX-Many: 1\r\nx-many:2\r\nX-Many:\r\n"
        #expect(client.get("/", headers: headers)?.text == "one 1|2| -")
      }
    }

    @Test func `a header that is a list may stand on several lines`() {
      let request = HTTPRequest(
        target: "/", headers: [("Accept", "a/b;q=0.1"), ("X-One", "1"), ("accept", "Text/C, d/e")])
      #expect(request.headerList("Accept") == "a/b;q=0.1,Text/C, d/e")
      #expect(request.headerList("X-One") == "1")
      #expect(request.headerList("X-Two") == nil)
      #expect(request.hasHeader("ACCEPT", containing: "text/c"))
      #expect(request.hasHeader("Accept", containing: "a/b"))
      #expect(!request.hasHeader("Accept", containing: "text/d"))
    }

    @Test func `path and query are split at the first question mark`() {
      let request = HTTPRequest(target: "/a/b?c=d?e")
      #expect(request.path == "/a/b")
      #expect(request.query == "c=d?e")
      #expect(HTTPRequest(target: "/a").query == nil)
      #expect(HTTPRequest(target: "/a?").query == "")
    }

    @Test func `an absolute target is reduced to its path`() async throws {
      try await withServer { server in
        let client = try RawClient(server.port)
        #expect(client.get("http://other:80/a?b")?.text == "GET /a?b 0")
        #expect(client.get("HTTP://other?b")?.text == "GET /?b 0")
        #expect(client.get("http://other")?.text == "GET / 0")
        client.send("OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n")
        #expect(client.response()?.text == "OPTIONS * 0")
      }
    }

    @Test func `HTTP/1.0 needs no host and closes`() async throws {
      try await withServer { server in
        let client = try RawClient(server.port)
        client.send("GET /old HTTP/1.0\r\n\r\n")
        #expect(client.receiveAll().hasSuffix("GET /old 0"))
      }
    }

    @Test func `the client's address is known without its port`() async throws {
      try await serving { request, exchange in
        exchange.respond(HTTPResponse(body: .text(request.remoteAddress)))
      } during: { server in
        try #expect(RawClient(server.port).get("/")?.text == "127.0.0.1")
      }
    }

    @Test func `the first of two answers is sent`() async throws {
      try await serving { _, exchange in
        exchange.respond(HTTPResponse(body: .text("first")))
        exchange.respond(HTTPResponse(status: 404))
      } during: { server in
        try #expect(RawClient(server.port).get("/")?.text == "first")
      }
    }

    @Test func `an exchange that is released responds with 500`() async throws {
      try await serving { _, _ in
      } during: { server in
        let client = try RawClient(server.port)
        let reply = client.get("/")
        #expect(reply?.status == 500)
        #expect(reply?.text.contains("\"code\":\"unanswered\"") == true)
        #expect(client.get("/")?.status == 500)
      }
    }

    @Test func `304 has the length of the omitted body`() async throws {
      let prepared = PreparedResponse(HTTPResponse(status: 304, body: .omitted(count: 5)))
      try await serving { request, exchange in
        if request.target == "/prepared" { return exchange.respond(prepared) }
        exchange.respond(HTTPResponse(status: 304, body: .omitted(count: 7)))
      } during: { server in
        let client = try RawClient(server.port)
        for (target, length) in [("/prepared", "5"), ("/value", "7"), ("/prepared", "5")] {
          client.send("GET \(target) HTTP/1.1\r\nHost: test\r\n\r\n")
          let reply = client.response(bodyFollows: false)
          #expect(reply?.status == 304)
          #expect(reply?.header("content-length") == length)
        }
      }
    }

    @Test func `an impossible status is sent as 500 and a header with a line end left out`()
      async throws
    {
      try await serving { _, exchange in
        exchange.respond(HTTPResponse(status: 42, headers: [("X-A", "b\r\nX-C: d"), ("X-E", "f")]))
      } during: { server in
        let reply = try RawClient(server.port).get("/")
        #expect(reply?.status == 500)
        #expect(reply?.header("x-c") == nil)
        #expect(reply?.header("x-e") == "f")
      }
    }

    // Bodies of more than 1 MiB are sent in blocks of 32 KiB.
    @Test(arguments: [100_000, 1 << 20, 1 << 20 + 1, 5 << 18])
    func `a prepared response is sent by many connections at once`(count: Int) async throws {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let prepared = PreparedResponse(HTTPResponse(body: .bytes(bytes)))
      try await serving { _, exchange in
        exchange.respond(prepared)
      } during: { server in
        let clients = try (0..<50).map { _ in try RawClient(server.port) }
        for client in clients { client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n") }
        for client in clients { #expect(client.response()?.body == bytes) }
        clients[0].send("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n")
        let head = clients[0].receive(until: "\r\n\r\n")?.lowercased()
        #expect(head?.contains("content-length: \(count)\r\n") == true)
        #expect(clients[0].get("/")?.body == bytes)
      }
      #expect(prepared.body == bytes)
    }

    @Test func `a server on a taken port says so`() async throws {
      try await withServer { server in
        var configuration = HTTPServerConfiguration()
        configuration.port = server.port
        #expect(throws: HTTPServerError.self) {
          try HTTPServer(configuration, handler: ScriptedHandler(body: echo))
        }
      }
    }

    @Test func `IPv6 is listened on when asked for`() async throws {
      try await withServer(.changed { $0.host = "::1" }) { server in
        let client = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(client) }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = UInt16(server.port).bigEndian
        address.sin6_addr = in6addr_loopback
        let result = withUnsafePointer(to: &address) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(client, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
          }
        }
        #expect(result == 0)
      }
    }
  }
}
