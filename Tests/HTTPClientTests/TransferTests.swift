// The HTTP client's streams: back pressure, cancellation and time limits.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HTTPClient

@Suite("Transfers")
struct TransferTests {
  private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"

  /// Sends a head and then as many pieces of 1 MiB as the client takes, and counts them.
  private static func endless(_ sent: Counter) throws -> ScriptedServer {
    try ScriptedServer([
      { connection in
        connection.readRequest()
        connection.send(head)
        let piece = [UInt8](repeating: 7, count: 1 << 20)
        while sent.value < 900, connection.send(piece) { sent.increment() }
        connection.waitForClose()
        sent.end()
      }
    ])
  }

  @Test("A reader that does not read stops the server from sending")
  func backPressure() async throws {
    let sent = Counter()
    let transfer = Transfer(ClientRequest("GET", try Self.endless(sent).url))
    guard case .head = await transfer.next() else { throw TransferError.cancelled }
    guard case .body = await transfer.next() else { throw TransferError.cancelled }
    // The sockets' buffers fill; then nothing is sent any more.
    var (before, unchanged) = (-1, 0)
    while unchanged < 10 {
      try await Task.sleep(for: .milliseconds(30))
      unchanged = sent.value == before ? unchanged + 1 : 0
      before = sent.value
    }
    #expect(sent.value < 100)
    var size = 0
    while size < 20 << 20 {
      guard case .body(let piece) = await transfer.next() else { break }
      size += piece.count
      #expect(piece.first == 7 && piece.last == 7)
    }
    #expect(size >= 20 << 20)
    transfer.cancel()
    #expect(try await becomesTrue(within: .seconds(60)) { sent.hasEnded })
  }

  @Test("A response that is longer than its request allows is refused, and its connection closes")
  func longResponse() async throws {
    let sent = Counter()
    var request = ClientRequest("GET", try Self.endless(sent).url)
    request.maxResponseBytes = 3 << 20
    do throws(TransferError) {
      let response = try await request.response()
      Issue.record("\(response.body.count) bytes")
    } catch {
      #expect(error == .failed("the response has more than 3145728 bytes"))
    }
    #expect(try await becomesTrue(within: .seconds(60)) { sent.hasEnded })
    #expect(sent.value < 100)
  }

  @Test("A cancelled task ends its transfer at once, and the connection closes")
  func cancelling() async throws {
    let (asked, closed) = (Counter(), Counter())
    let server = try ScriptedServer([
      { connection in
        connection.readRequest()
        asked.increment()
        connection.waitForClose()
        closed.end()
      }
    ])
    let request = ClientRequest("GET", server.url)
    let waiting = Task { () async throws(TransferError) in try await request.response() }
    #expect(try await becomesTrue(within: .seconds(60)) { asked.value == 1 })
    waiting.cancel()
    await #expect(throws: TransferError.cancelled) { try await waiting.value }
    #expect(try await becomesTrue(within: .seconds(60)) { closed.hasEnded })
  }

  @Test("After the end every reader receives the end; a second reader at a time is refused")
  func ends() async throws {
    let server = try ScriptedServer(answers: [["HTTP/1.1 204 None\r\n\r\n"]])
    let transfer = Transfer(ClientRequest("GET", server.url))
    guard case .head(let head) = await transfer.next() else { throw TransferError.cancelled }
    #expect(head.status == 204)
    for _ in 0..<2 { #expect(await transfer.next() == .end) }
    transfer.cancel()
    #expect(await transfer.next() == .end)
  }

  @Test("Silence before and within a response is reported as the phase that took too long")
  func timeLimits() async throws {
    let silent: ScriptedServer.Script = { connection in
      connection.readRequest()
      connection.waitForClose()
    }
    let midway: ScriptedServer.Script = { connection in
      connection.readRequest()
      connection.send(Self.head + "x")
      connection.waitForClose()
    }
    let kept: ScriptedServer.Script = { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      connection.readRequest()
      connection.waitForClose()
    }
    let server = try ScriptedServer([silent, midway, kept])
    var request = ClientRequest("GET", server.url)
    request.limits = TransferTimeLimits(connect: 60, response: 0.2, idle: 600)
    await #expect(throws: TransferError.timedOut(.response)) { try await request.response() }
    request.limits = TransferTimeLimits(connect: 60, response: 600, idle: 0.2)
    await #expect(throws: TransferError.timedOut(.body)) { try await request.response() }
    request.limits = TransferTimeLimits(connect: 60)
    _ = try await request.response()
    request.limits.response = 0.2
    await #expect(throws: TransferError.timedOut(.response)) { try await request.response() }
  }

  @Test("Time in which the reader does not read does not count as silence")
  func slowReaders() async throws {
    let sent = Counter()
    var request = ClientRequest("GET", try Self.endless(sent).url)
    request.limits.idle = 2
    let transfer = Transfer(request)
    guard case .head = await transfer.next() else { throw TransferError.cancelled }
    guard case .body = await transfer.next() else { throw TransferError.cancelled }
    try await Task.sleep(for: .milliseconds(2_500))
    for _ in 0..<100 {
      guard case .body = await transfer.next() else { throw TransferError.cancelled }
    }
    transfer.cancel()
    #expect(try await becomesTrue(within: .seconds(60)) { sent.hasEnded })
  }
}

/// The values that a server's thread reports to its test.
private final class Counter: Sendable {
  // Protects both values.
  private let state = Mutex((value: 0, hasEnded: false))

  var value: Int { state.withLock { $0.value } }
  var hasEnded: Bool { state.withLock { $0.hasEnded } }
  func increment() { state.withLock { $0.value += 1 } }
  func end() { state.withLock { $0.hasEnded = true } }
}
