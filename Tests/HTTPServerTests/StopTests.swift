// A server that stops answers waiting requests, ends streams, closes sockets and frees memory.

import TestSupport
import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  @Suite struct Stopping {
    func start(
      _ handler: @escaping @Sendable (HTTPRequest, HTTPExchange) -> Void
    ) throws -> HTTPServer {
      var configuration = HTTPServerConfiguration()
      configuration.port = 0
      return try HTTPServer(configuration, handler: ScriptedHandler(body: handler))
    }

    @Test func `suspended exchanges get 503`() async throws {
      let exchanges = ConcurrentList<HTTPExchange>()
      let server = try start { _, exchange in exchanges.append(exchange) }
      let clients = try (0..<300).map { _ in try RawClient(server.port) }
      for client in clients { client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
      #expect(await eventually { exchanges.count == 300 })
      server.stop()
      for client in clients {
        let reply = client.response()
        #expect(reply?.status == 503)
        #expect(reply?.text.contains("\"code\":\"shutting-down\"") == true)
        #expect(client.isClosedByServer)
      }
      for exchange in exchanges.takeAll() { exchange.respond(HTTPResponse()) }
    }

    @Test func `streams that wait or send end, and their sources are notified`() async throws {
      let waiting = QueueSource()
      let sending = QueueSource(otherwise: .bytes([UInt8](repeating: 1, count: 1000)))
      let server = try start { request, exchange in
        exchange.stream(request.target == "/waiting" ? waiting : sending)
      }
      let waitingClient = try RawClient(server.port)
      waitingClient.send("GET /waiting HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(waitingClient.response(bodyFollows: false)?.status == 200)
      let stalledClient = try RawClient(server.port)
      stalledClient.send("GET /sending HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(await eventually { waiting.requestCount == 1 && sending.requestCount > 10 })
      server.stop(grace: 0.5)
      #expect(waitingClient.receiveChunk() == [])
      #expect(waiting.closedCount == 1)
      #expect(sending.closedCount == 1)
    }

    @Test func `it may be stopped while requests arrive, wait and are answered`() async throws {
      for round in 0..<40 {
        let exchanges = ConcurrentList<HTTPExchange>()
        let server = try start { request, exchange in
          request.target == "/wait" ? exchanges.append(exchange) : echo(request, exchange)
        }
        let port = server.port
        let load = Task.detached {
          for number in 0..<200 {
            guard let client = try? RawClient(port) else { return }
            let target = number % 2 == 0 ? "/wait" : "/"
            client.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
          }
        }
        try await Task.sleep(for: .microseconds(round * 100))
        server.stop(grace: 0.2)
        _ = exchanges.takeAll()
        await load.value
      }
    }

    @Test func `its port is closed afterwards, and stopping again does nothing`() async throws {
      let server = try start(echo)
      let idle = try RawClient(server.port)
      #expect(idle.get("/")?.status == 200)
      server.stop()
      server.stop()
      #expect(idle.isClosedByServer)
      #expect(throws: LoopbackSocket.Refused.self) { try RawClient(server.port) }
    }

    @Test func `releasing a server stops it and frees its handler`() async throws {
      final class Tracked: Sendable {}
      var port = 0
      weak var tracked: Tracked?
      do {
        let strong = Tracked()
        tracked = strong
        let server = try start { [strong] request, exchange in
          _ = strong
          echo(request, exchange)
        }
        port = server.port
        try #expect(RawClient(port).get("/")?.status == 200)
      }
      #expect(throws: LoopbackSocket.Refused.self) { try RawClient(port) }
      #expect(tracked == nil)
    }

    @Test func `sources and responses are freed once they are sent`() async throws {
      weak var source: QueueSource?
      weak var prepared: PreparedResponse?
      let server: HTTPServer
      do {
        let strongSource = QueueSource(otherwise: .end)
        let strongPrepared = PreparedResponse(HTTPResponse(body: .text("x")))
        (source, prepared) = (strongSource, strongPrepared)
        let sources = ConcurrentList<QueueSource>()
        let responses = ConcurrentList<PreparedResponse>()
        sources.append(strongSource)
        responses.append(strongPrepared)
        server = try start { request, exchange in
          for source in sources.takeAll() { return exchange.stream(source) }
          for response in responses.takeAll() { return exchange.respond(response) }
          echo(request, exchange)
        }
        let client = try RawClient(server.port)
        for _ in 0..<3 { #expect(client.get("/")?.status == 200) }
      }
      #expect(await eventually { source == nil && prepared == nil })
      server.stop()
    }
  }
}
