// The workers of the server: every event wakes the worker of its connection.

import Dispatch
import Glibc
import TestSupport
import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  /// Events for which an idle worker must wake up.
  @Suite struct Workers {
    /// libmicrohttpd takes events 128 at a time; its own loop slept forever after full batches.
    @Test(arguments: [1, 127, 128, 129, 256, 384])
    func `all requests that came while a worker was busy are answered`(
      _ count: Int
    ) async throws {
      let (isHeld, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      defer { mayGo.signal() }
      try await serving(.changed { $0.workers = 1 }) { request, exchange in
        if request.target == "/hold" {
          isHeld.signal()
          mayGo.wait()
        }
        echo(request, exchange)
      } during: { server in
        let holder = try RawClient(server.port)
        let clients = try (0..<count).map { _ in try RawClient(server.port) }
        for client in [holder] + clients { #expect(client.get("/first")?.status == 200) }
        holder.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n")
        await held(isHeld)
        for client in clients { client.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n") }
        mayGo.signal()
        let texts = clients.map { $0.response()?.text }
        #expect(texts == Array(repeating: "GET /next 0", count: count))
        #expect(holder.response()?.text == "GET /hold 0")
      }
    }

    @Test func `a connection that is resumed while its worker sleeps is answered`() async throws {
      let exchanges = ConcurrentList<HTTPExchange>()
      try await serving(.changed { $0.workers = 1 }) { _, exchange in
        exchanges.append(exchange)
      } during: { server in
        let clients = try (0..<128).map { _ in try RawClient(server.port) }
        for round in 0..<3 {
          for client in clients { client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
          #expect(await eventually { exchanges.count == 128 })
          try await Task.sleep(for: .milliseconds(100))
          let waiting = exchanges.takeAll()
          for exchange in waiting { exchange.respond(HTTPResponse(body: .text("\(round)"))) }
          let texts = clients.map { $0.response()?.text }
          #expect(texts.allSatisfy { $0 == "\(round)" })
        }
      }
    }

    @Test(arguments: [(1, 1), (1, 4), (2, 2), (2, 5), (3, 4), (1, 130), (2, 301)])
    func `a connection too many is let in as soon as another has gone`(
      _ workers: Int, _ most: Int
    ) async throws {
      try await withServer(
        .changed {
          $0.workers = workers
          $0.maxConnections = most
        }
      ) { server in
        var inside = try (0..<most).map { _ in try RawClient(server.port) }
        for client in inside { try #require(client.get("/in")?.status == 200) }
        let outside = try (0..<5).map { _ in try RawClient(server.port, timeout: 0.1) }
        for client in outside { client.send("GET /out HTTP/1.1\r\nHost: a\r\n\r\n") }
        #expect(outside[0].receive() == nil)
        #expect(server.connectionCount == most)
        for (number, client) in outside.enumerated() {
          inside.removeFirst().close(abruptly: number % 2 == 0)
          client.setTimeout(60)
          try #require(client.response()?.text == "GET /out 0")
          inside.append(client)
        }
        #expect(server.connectionCount == most)
      }
    }

    @Test(arguments: [(1, 3), (2, 4)])
    func `connections of one address beyond its limit are closed, and others are let in later`(
      _ workers: Int, _ most: Int
    ) async throws {
      try await withServer(
        .changed {
          $0.workers = workers
          $0.maxAddressConnections = most
        }
      ) { server in
        var clients = try (0..<3 * most).map { _ in try RawClient(server.port) }
        let responses = clients.map { $0.get("/in")?.status }
        #expect(responses.allSatisfy { $0 == 200 || $0 == nil })
        #expect(server.connectionCount <= most)
        // The workers have equal shares, whichever of them accepts a connection.
        #expect(responses.count { $0 == 200 } >= most / workers)
        clients = []
        #expect(await eventually { server.connectionCount == 0 })
        #expect(try RawClient(server.port).get("/again")?.status == 200)
      }
    }

    /// Waits on a thread that may be held up.
    private func held(_ semaphore: DispatchSemaphore) async {
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          semaphore.wait()
          continuation.resume()
        }
      }
    }
  }
}
