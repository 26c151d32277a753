// The check of the Host header against a list of names.

import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  @Suite struct Hosts {
    static let configuration = HTTPServerConfiguration.changed {
      $0.hostNames = HostNames(HostNames.loopback + ["api.example", "Files.Example.", "fd00::1"])
    }

    @Test(arguments: [
      "localhost", "localhost:80", "LocalHost", "localhost.", "localhost.:8080", "localhost:",
      "127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:8080", "api.example", "API.EXAMPLE:1",
      "files.example", "[fd00::1]:1",
    ])
    func `a request is served under a known name, whatever its port`(_ host: String) async throws {
      try await withServer(Self.configuration) { server in
        let client = try RawClient(server.port)
        client.send("GET /x HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(client.response()?.status == 200)
      }
    }

    @Test(arguments: [
      "evil.example", "localhost.evil.example", "evil.example:8080", "127.0.0.2",
      "127.0.0.1.evil.example", "[::2]", "xapi.example", "", ".", "..", "localhost..",
    ])
    func `a request for another host is 421, with a body or without`(_ host: String) async throws {
      let reached = ConcurrentList<String>()
      try await serving(Self.configuration) { request, exchange in
        reached.append(request.target)
        echo(request, exchange)
      } during: { server in
        for body in ["", "Content-Length: 5\r\n"] {
          let client = try RawClient(server.port)
          client.send("POST /x HTTP/1.1\r\nHost: \(host)\r\n\(body)\r\n")
          let reply = client.response()
          #expect(reply?.status == 421)
          #expect(reply?.text.contains("\"code\":\"unknown-host\"") == true)
          #expect(reply?.header("connection") == "close")
        }
        #expect(reached.count == 0)
      }
    }

    @Test(arguments: [
      "localhost:99999999", "localhost:65536", "localhost:-1", "localhost:+1", "localhost:80:80",
      "localhost:x", "localhost:80x", "::1", "[::1", "[::1]x", "[::1]80", "evil.example:x",
      "localhost:18446744073709551617", "localhost\r\nHost: localhost", "localhost, localhost",
    ])
    func `a host whose port is no port, or two hosts, are 400`(_ host: String) async throws {
      for configuration in [Self.configuration, .test] {
        try await withServer(configuration) { server in
          for target in ["/x", "http://localhost/x"] {
            let client = try RawClient(server.port)
            client.send("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            #expect(client.response()?.status == 400)
          }
        }
      }
    }

    @Test(arguments: [
      ("GET http://localhost:65536/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
      ("GET http://localhost:x/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
      ("GET http://localhost:/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
      ("GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 421),
      ("GET http://localhost/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", 200),
      ("GET http://localhost:99/x HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
      ("GET http://user@localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
      ("GET / HTTP/1.0\r\n\r\n", 200),
      ("GET / HTTP/1.0\r\nHost: evil.example\r\n\r\n", 421),
      ("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
      ("GET / HTTP/1.1\r\n\r\n", 400),
      ("OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
    ])
    func `an absolute target counts before Host, and HTTP 1.0 needs none`(
      _ message: String, _ status: Int
    ) async throws {
      try await withServer(Self.configuration) { server in
        let client = try RawClient(server.port)
        client.send(message)
        #expect(client.response()?.status == status)
      }
    }

    @Test func `without a list every name is served`() async throws {
      try await withServer { server in
        let client = try RawClient(server.port)
        client.send("GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        #expect(client.response()?.status == 200)
      }
    }

    @Test(arguments: [
      ("localhost", true), ("LOCALHOST", true), ("127.0.0.1", true), ("127.8.9.1", true),
      ("::1", true), ("::ffff:127.0.0.1", true), ("0.0.0.0", false), ("::", false),
      ("192.168.0.1", false), ("127.evil.example", false), ("localhost.evil.example", false),
      ("", false), ("::ffff:10.0.0.1", false),
    ])
    func `an address is loopback, not a name that begins like one`(
      _ host: String, _ isLoopback: Bool
    ) {
      #expect(HostNames.isLoopback(host) == isLoopback)
    }

    @Test(arguments: [
      ("a.example", true), ("a_b", true), ("[::1]", true), ("::1", true), ("10.0.0.1", true),
      ("", false), (".", false), ("a:80", false), ("http://a", false), ("a/b", false),
      ("*.a", false), ("[x]", false), ("a b", false),
    ])
    func `a name of the list is a host without a port`(_ text: String, _ isName: Bool) {
      #expect(HostNames.isName(text) == isName)
    }
  }
}
