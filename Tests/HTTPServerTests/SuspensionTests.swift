// Requests that wait: responses from other threads, clients that disconnect meanwhile.

import Glibc
import Synchronization
import TestSupport
import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  @Suite struct Suspension {
    /// Keeps the exchanges of `/wait…` and answers everything else.
    final class Waiters: Sendable {
      let exchanges = ConcurrentList<HTTPExchange>()
      let left = ConcurrentList<String>()

      @Sendable func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        guard request.path.hasPrefix("/wait") else { return echo(request, exchange) }
        let target = request.target
        exchange.onDisconnect { [left] in left.append(target) }
        exchanges.append(exchange)
      }

      func answerAll() {
        for exchange in exchanges.takeAll() { exchange.respond(HTTPResponse()) }
      }
    }

    static let wait = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"
    /// For clients that have left when they have finished sending.
    static let leaving = HTTPServerConfiguration.changed { $0.finishedPeerTimeout = 0.05 }

    @Test func `an answer may come later, from another thread`() async throws {
      let waiters = Waiters()
      defer { waiters.answerAll() }
      try await withServer(handler: waiters.handle) { server in
        let client = try RawClient(server.port)
        for round in 0..<3 {
          client.send(Self.wait)
          #expect(await eventually { waiters.exchanges.count == 1 })
          for exchange in waiters.exchanges.takeAll() {
            exchange.respond(HTTPResponse(body: .text("later \(round)")))
          }
          #expect(client.response()?.text == "later \(round)")
        }
        #expect(client.get("/now")?.text == "GET /now 0")
        #expect(waiters.left.count == 0)
      }
    }

    @Test func `an answer that races with the suspension is never lost`() async throws {
      try await serving { _, exchange in
        Task.detached { exchange.respond(HTTPResponse(body: .text("raced"))) }
      } during: { server in
        let clients = try (0..<20).map { _ in try RawClient(server.port) }
        for _ in 0..<100 {
          for client in clients { client.send(Self.wait) }
          for client in clients { #expect(client.response()?.text == "raced") }
        }
      }
    }

    @Test func `an exchange let go while suspended answers 500`() async throws {
      let waiters = Waiters()
      defer { waiters.answerAll() }
      try await withServer(handler: waiters.handle) { server in
        let client = try RawClient(server.port)
        client.send(Self.wait)
        #expect(await eventually { waiters.exchanges.count == 1 })
        _ = waiters.exchanges.takeAll()
        #expect(client.response()?.status == 500)
      }
    }

    @Test func `a thousand suspended connections are answered with one response`() async throws {
      let waiters = Waiters()
      defer { waiters.answerAll() }
      try await withServer(handler: waiters.handle) { server in
        let clients = try (0..<1000).map { _ in try RawClient(server.port) }
        let prepared = PreparedResponse(HTTPResponse(body: .text("all")))
        for _ in 0..<3 {
          for client in clients { client.send(Self.wait) }
          #expect(await eventually { waiters.exchanges.count == 1000 })
          for exchange in waiters.exchanges.takeAll() { exchange.respond(prepared) }
          let texts = clients.map { $0.response()?.text }
          #expect(texts.allSatisfy { $0 == "all" })
        }
      }
    }

    @Test(arguments: [1, 255, 256, 600])
    func `answers whose workers are woken together are all sent, some before that`(
      _ count: Int
    ) async throws {
      let waiters = Waiters()
      defer { waiters.answerAll() }
      try await withServer(.changed { $0.workers = 1 }, handler: waiters.handle) { server in
        let clients = try (0..<count).map { _ in try RawClient(server.port) }
        let prepared = PreparedResponse(HTTPResponse(body: .text("all")))
        for client in clients { client.send(Self.wait) }
        #expect(await eventually { waiters.exchanges.count == count })
        let wakeups = WakeupBatch()
        for exchange in waiters.exchanges.takeAll() { exchange.respond(prepared, wakeups) }
        if count >= 256 { #expect(clients[0].response()?.text == "all") }
        wakeups.wake()
        let texts = clients.dropFirst(count >= 256 ? 1 : 0).map { $0.response()?.text }
        #expect(texts.allSatisfy { $0 == "all" })
      }
    }

    @Test(arguments: [false, true])
    func `a client that leaves while it waits is noticed`(_ abruptly: Bool) async throws {
      let waiters = Waiters()
      defer { waiters.answerAll() }
      try await withServer(Self.leaving, handler: waiters.handle) { server in
        let staying = try RawClient(server.port)
        staying.send(Self.wait)
        #expect(await eventually { waiters.exchanges.count == 1 })
        let client = try RawClient(server.port)
        client.send("GET /wait/leaving HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(await eventually { waiters.exchanges.count == 2 })
        client.close(abruptly: abruptly)
        #expect(await eventually { waiters.left.all == ["/wait/leaving"] })
        #expect(await eventually { server.connectionCount == 1 })
        for exchange in waiters.exchanges.takeAll() {
          exchange.respond(HTTPResponse(body: .text("late")))
        }
        #expect(staying.response()?.text == "late")
        #expect(waiters.left.count == 1)
      }
    }

    @Test func `a client that leaves in its second wait is noticed as well`() async throws {
      let waiters = Waiters()
      defer { waiters.answerAll() }
      try await withServer(Self.leaving, handler: waiters.handle) { server in
        let client = try RawClient(server.port)
        client.send(Self.wait)
        #expect(await eventually { waiters.exchanges.count == 1 })
        for exchange in waiters.exchanges.takeAll() { exchange.respond(HTTPResponse()) }
        #expect(client.response()?.status == 200)
        client.send("GET /wait/2 HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(await eventually { waiters.exchanges.count == 1 })
        client.close()
        #expect(await eventually { waiters.left.all == ["/wait/2"] })
      }
    }

    @Test func `a client that has left before it is suspended is noticed`() async throws {
      let waiters = Waiters()
      defer { waiters.answerAll() }
      try await serving { request, exchange in
        usleep(50_000)
        waiters.handle(request, exchange)
      } during: { server in
        let client = try RawClient(server.port)
        client.send(Self.wait)
        client.close()
        #expect(await eventually { waiters.left.count == 1 })
        #expect(await eventually { server.connectionCount == 0 })
      }
    }

    @Test func `a callback registered after the client left is called at once`() async throws {
      let waiters = Waiters()
      defer { waiters.answerAll() }
      let late = ConcurrentList<String>()
      try await withServer(Self.leaving, handler: waiters.handle) { server in
        let client = try RawClient(server.port)
        client.send(Self.wait)
        #expect(await eventually { waiters.exchanges.count == 1 })
        client.close()
        #expect(await eventually { waiters.left.count == 1 })
        waiters.exchanges.all[0].onDisconnect { late.append("called") }
        #expect(late.all == ["called"])
      }
    }

    @Test func `an exchange that is released after its client left is no failure`() async throws {
      let waiters = Waiters()
      let problems = ConcurrentList<String>()
      let configuration = HTTPServerConfiguration.changed { configuration in
        configuration.finishedPeerTimeout = 0.05
        configuration.renderProblem = { problem in
          problems.append(problem.code)
          return problem.response()
        }
      }
      try await withServer(configuration, handler: waiters.handle) { server in
        let client = try RawClient(server.port)
        client.send(Self.wait)
        #expect(await eventually { waiters.exchanges.count == 1 })
        client.close()
        #expect(await eventually { waiters.left.count == 1 })
        _ = waiters.exchanges.takeAll()
        #expect(await eventually { server.connectionCount == 0 })
        #expect(problems.all == [])
      }
    }

    @Test func `a pipelined request waits after a suspended one`() async throws {
      let waiters = Waiters()
      defer { waiters.answerAll() }
      try await withServer(handler: waiters.handle) { server in
        let client = try RawClient(server.port, timeout: 0.2)
        client.send(Self.wait + "GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(await eventually { waiters.exchanges.count == 1 })
        #expect(client.receive() == nil)
        client.setTimeout(60)
        for exchange in waiters.exchanges.takeAll() { exchange.respond(HTTPResponse()) }
        #expect(client.response()?.text == "")
        #expect(client.response()?.text == "GET /next 0")
      }
    }

    @Test func `a request may be read after its connection has gone`() async throws {
      let requests = ConcurrentList<HTTPRequest>()
      try await serving { request, exchange in
        requests.append(request)
        echo(request, exchange)
      } during: { server in
        let client = try RawClient(server.port)
        #expect(client.get("/kept", headers: "X-Kept: yes\r\n")?.status == 200)
        client.close()
        #expect(await eventually { server.connectionCount == 0 })
      }
      #expect(requests.all[0].target == "/kept")
      #expect(requests.all[0].header("x-kept") == "yes")
      #expect(requests.all[0].remoteAddress == "127.0.0.1")
    }

    @Test func `thousands of connections come and go without leaving a descriptor`() async throws {
      let waiters = Waiters()
      defer { waiters.answerAll() }
      try await withServer(handler: waiters.handle) { server in
        let before = openDescriptors()
        for cycle in 0..<3000 {
          let client = try RawClient(server.port)
          client.send(Self.wait)
          if cycle % 3 == 0 { waiters.answerAll() }
          client.close(abruptly: cycle % 2 == 0)
        }
        #expect(await eventually { server.connectionCount == 0 })
        #expect(openDescriptors() < before + 500)
      }
    }

    @Test func `waiting costs its worker no time`() async throws {
      let clocks = ConcurrentList<clockid_t>()
      let waiters = Waiters()
      defer { waiters.answerAll() }
      try await serving(.changed { $0.workers = 1 }) { request, exchange in
        var clock = clockid_t()
        pthread_getcpuclockid(pthread_self(), &clock)
        clocks.append(clock)
        waiters.handle(request, exchange)
      } during: { server in
        let clients = try (0..<100).map { _ in try RawClient(server.port) }
        for client in clients { client.send(Self.wait) }
        #expect(await eventually { waiters.exchanges.count == 100 })
        let before = time(of: clocks.all[0])
        try await Task.sleep(for: .milliseconds(500))
        #expect(time(of: clocks.all[0]) - before < .milliseconds(50))
        waiters.answerAll()
      }
    }
  }
}

/// The number of open descriptors of the process.
func openDescriptors() -> Int {
  guard let directory = opendir("/proc/self/fd") else { return 0 }
  defer { closedir(directory) }
  var count = 0
  while readdir(directory) != nil { count += 1 }
  return count
}
