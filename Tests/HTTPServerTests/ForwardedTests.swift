// `Forwarded`, `X-Forwarded-*` and `X-Request-Id`, with trusted and untrusted peers.

import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  /// The origin of a request as proxies report it.
  @Suite struct Forwarded {
    private static let proxies = TrustedProxies(
      ranges: ["10.0.0.0/8", "2001:db8:1::/48"].compactMap { AddressRange($0) })

    private func request(
      from peer: String, _ headers: [(name: String, value: String)]
    ) throws -> ForwardedRequest? {
      try Self.proxies.request(from: IPAddress(peer), HTTPHeaderBlock(headers))
    }

    @Test(
      arguments: [
        ("for=192.0.2.1;proto=https;host=a.example", "192.0.2.1", true, "a.example"),
        ("For=\"[2001:db8:2::7]:4711\"", "2001:db8:2::7", nil, nil),
        ("for=192.0.2.9, for=\"192.0.2.1:80\";proto=http", "192.0.2.1", false, nil),
        ("for=192.0.2.1;proto=https, for=10.0.0.9;proto=http", "192.0.2.1", true, nil),
        ("for=6.6.6.6, for=unknown, for=10.0.0.9", "10.0.0.9", nil, nil),
        ("for=\"_hidden\"", nil, nil, nil),
        (",, for=192.0.2.1 ;; proto=HTTPS ,", "192.0.2.1", true, nil),
        ("for=10.0.0.2, for=10.0.0.3", "10.0.0.2", nil, nil),
        ("for=192.0.2.1;proto=ftp", "192.0.2.1", nil, nil),
      ] as [(String, String?, Bool?, String?)])
    func `the nearest untrusted address of Forwarded is the client`(
      value: String, client: String?, isSecure: Bool?, host: String?
    ) throws {
      let read = try #require(try request(from: "10.1.1.1", [("Forwarded", value)]))
      #expect(read.client?.description == client)
      #expect(read.isSecure == isSecure)
      #expect(read.host == host)
    }

    @Test(
      arguments: [
        ("192.0.2.1", "https", "a.example", "192.0.2.1", true, "a.example"),
        ("6.6.6.6, 192.0.2.1", "https", "", "192.0.2.1", true, nil),
        (
          "192.0.2.1, 10.0.0.9", "https, http", "a.example, b.internal", "192.0.2.1", true,
          "a.example"
        ),
        ("6.6.6.6, 192.0.2.1, 10.0.0.9", "https", "", "192.0.2.1", true, nil),
        ("6.6.6.6, junk, 10.0.0.9", "", "", "10.0.0.9", nil, nil),
        // A comma after this character is one character with it.
        ("6.6.6.6:\u{600}, 192.0.2.1", "", "", "192.0.2.1", nil, nil),
        ("[2001:db8:2::7]:90", "", "", "2001:db8:2::7", nil, nil),
        ("::ffff:192.0.2.1", "", "", "192.0.2.1", nil, nil), ("", "https", "", nil, true, nil),
      ] as [(String, String, String, String?, Bool?, String?)])
    func `the nearest untrusted address of X-Forwarded-For is the client, with its scheme and host`(
      clients: String, scheme: String, hosts: String, client: String?, isSecure: Bool?,
      host: String?
    ) throws {
      let headers = [
        (name: "X-Forwarded-For", value: clients), (name: "X-Forwarded-Proto", value: scheme),
        (name: "X-Forwarded-Host", value: hosts),
      ]
      let read = try #require(try request(from: "2001:db8:1::5", headers))
      #expect(read.client?.description == client)
      #expect(read.isSecure == isSecure)
      #expect(read.host == host)
    }

    @Test func `fields from untrusted peers are ignored`() throws {
      #expect(try request(from: "192.0.2.1", [("Forwarded", "for=\"")]) == nil)
      #expect(try request(from: "2001:db8:2::1", [("X-Forwarded-For", "6.6.6.6")]) == nil)
      #expect(try request(from: "10.0.0.1", []) == nil)
    }

    @Test(arguments: [
      "for=\"192.0.2.1", "for", "for=", "=1", "for=1;for=2", "for=192.0.2.1 proto=http",
      "for=[::1]",
    ])
    func `a malformed Forwarded is refused`(value: String) {
      #expect(throws: HTTPProblem.self) { try request(from: "10.0.0.1", [("Forwarded", value)]) }
    }

    @Test func `both kinds of fields together are refused, because a proxy checks only one`() {
      #expect(throws: HTTPProblem.self) {
        try request(from: "10.0.0.1", [("Forwarded", "for=192.0.2.1"), ("X-Forwarded-For", "::1")])
      }
    }

    @Test(arguments: [
      ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false),
      ("10.0.0.1", "10.0.0.1", true), ("10.0.0.1", "10.0.0.2", false),
      ("10.0.0.0/8", "::ffff:10.0.0.1", true), ("0.0.0.0/0", "2001:db8::1", false),
      ("::/0", "192.0.2.1", true), ("2001:db8::/33", "2001:db8:7fff::1", true),
      ("2001:db8::/33", "2001:db8:8000::1", false),
    ])
    func `a range has the addresses with its leading bits`(
      range: String, address: String, isInside: Bool
    ) throws {
      let address = try #require(IPAddress(address))
      #expect(AddressRange(range)?.contains(address) == isInside)
    }

    @Test(arguments: ["", "a", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "1.2.3.4/8/8"])
    func `an invalid range is refused`(text: String) {
      #expect(AddressRange(text) == nil)
    }

    @Test func `a client of IPv6 is known by its network`() {
      #expect(IPAddress("2001:db8:1:2:3:4:5:6")?.client == "2001:db8:1:2::/64")
      #expect(IPAddress("::ffff:192.0.2.1")?.client == "192.0.2.1")
      #expect(IPAddress("2001:db8::1")?.description == "2001:db8::1")
    }

    @Test func `the server uses the reports of a trusted peer for address, host and scheme`()
      async throws
    {
      func configuration(_ proxy: String) -> HTTPServerConfiguration {
        .changed { configuration in
          configuration.trustedProxies = [AddressRange(proxy)].compactMap { $0 }
          configuration.hostNames = HostNames(["test", "a.example"])
        }
      }
      let handler: @Sendable (HTTPRequest, HTTPExchange) -> Void = { request, exchange in
        exchange.respond(HTTPResponse(body: .text(request.remoteAddress)))
      }
      let fields = "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n"
      try await withServer(configuration("127.0.0.1"), handler: handler) { server in
        let client = try RawClient(server.port)
        let reply = try #require(
          client.get("/", headers: fields + "X-Forwarded-Host: a.example\r\n"))
        #expect(reply.text == "192.0.2.1")
        #expect(reply.header("strict-transport-security") == "max-age=31536000")
        #expect(client.get("/")?.text == "127.0.0.1")
        #expect(client.get("/", headers: fields + "X-Forwarded-Host: b.example\r\n")?.status == 421)
      }
      try await withServer(configuration("127.0.0.2"), handler: handler) { server in
        let reply = try #require(
          try RawClient(server.port).get("/", headers: fields + "X-Forwarded-Host: b.example\r\n"))
        #expect(reply.text == "127.0.0.1")
        #expect(reply.header("strict-transport-security") == nil)
      }
    }
  }

  /// The ids of requests, and the reports of their ends.
  @Suite struct Completions {
    final class Attachment: ExchangeAttachment {
      let bytes = ConcurrentList<Int>()
      let ends = ConcurrentList<HTTPCompletion>()

      func willSend(bytes: Int) { self.bytes.append(bytes) }
      func completed(_ completion: HTTPCompletion) { ends.append(completion) }
    }

    @Test func `a usable request id is repeated, any other is not`() async throws {
      try await withServer { server in
        let client = try RawClient(server.port)
        for id in ["a-1", "Root=1-67891233-abcdef", "01J/x:y@z+"] {
          #expect(client.get("/", headers: "X-Request-Id: \(id)\r\n")?.header("x-request-id") == id)
        }
        for id in ["a b", "\"", String(repeating: "a", count: 129), ""] {
          #expect(
            client.get("/", headers: "X-Request-Id: \(id)\r\n")?.header("x-request-id") == nil)
        }
      }
    }

    @Test func `a request is reported when it has ended`() async throws {
      let attachment = Attachment()
      let source = QueueSource()
      try await withServer(.changed { $0.reportsCompletions = true }) { request, exchange in
        exchange.attach(attachment)
        if request.target == "/stream" { exchange.stream(source) } else { echo(request, exchange) }
      } _: { server in
        let client = try RawClient(server.port)
        let id = try #require(client.get("/abc")?.header("x-request-id"))
        #expect(id.utf8.count == 32)
        #expect(await eventually { attachment.ends.count == 1 })
        let first = attachment.ends.all[0]
        #expect(first.requestID == id)
        #expect(first.status == 200)
        #expect(first.method == "GET")
        #expect(first.bodyBytes == 10)
        #expect(first.clientAddress == "127.0.0.1")
        client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
        source.put("12345")
        #expect(client.receive(until: "12345") != nil)
        #expect(attachment.ends.count == 1)
        client.close()
        #expect(await eventually { attachment.ends.count == 2 })
        #expect(attachment.ends.all[1].status == 200)
        #expect(attachment.ends.all[1].bodyBytes == 5)
        #expect(attachment.bytes.all == [10, 5])
      }
    }

    @Test func `a client that leaves before its response is reported with 499`() async throws {
      let attachment = Attachment()
      let waiting = ConcurrentList<HTTPExchange>()
      try await withServer(.changed { $0.reportsCompletions = true }) { _, exchange in
        exchange.attach(attachment)
        waiting.append(exchange)
      } _: { server in
        let client = try RawClient(server.port)
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(await eventually { server.waitingCount == 1 })
        client.close(abruptly: true)
        #expect(await eventually { attachment.ends.count == 1 })
        #expect(attachment.ends.all[0].status == 499)
      }
    }
  }
}
