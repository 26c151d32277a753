// The program `livefetch serve`: its ready line, its exit statuses and its end.

import Foundation
import HTTPClient
import Synchronization
import TestSupport
import Testing

@testable import LiveFetchCommand

@Suite("The program", .mayBlock, .serialized)
struct CommandTests {
  private func withFile(_ body: (String) throws -> Void) throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let path = directory.file("store.sqlite")
    try SQLiteShell.run(contractFixture, path: path)
    try body(path)
  }

  @Test func itIsReadyRefusesASecondServerAndEndsWithStatusZero() throws {
    try withFile { path in
      let server = try RunningProgram(["serve", path, "--port", "0"])
      #expect(server.line.wholeMatch(of: /LiveFetch listening on http:\/\/127.0.0.1:\d+/) != nil)
      let second = try RunningProgram(["serve", path, "--port", "0"])
      #expect(second.end() == 74)
      server.process.terminate()
      #expect(server.end() == 0)
      #expect(try RunningProgram(["detach", path]).end() == 0)
    }
  }

  @Test func itSaysByItsStatusWhyItDidNotStart() throws {
    try withFile { path in
      #expect(try RunningProgram(["serve", path + ".none"]).end() == 66)
      #expect(try RunningProgram(["serve", path, "--port", "70000"]).end() == 64)
      let text = path + ".txt"
      try Data(repeating: 0x41, count: 4096).write(to: URL(fileURLWithPath: text))
      #expect(try RunningProgram(["serve", text, "--port", "0"]).end() == 65)
    }
  }

  @Test func aTakenPortLeavesTheFileAsItWas() throws {
    try withFile { path in
      try withFile { other in
        let server = try RunningProgram(["serve", other, "--port", "0"])
        let port = try #require(server.line.split(separator: ":").last)
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(try RunningProgram(["serve", path, "--port", String(port)]).end() == 69)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        server.process.terminate()
        #expect(server.end() == 0)
      }
    }
  }

  @Test func onTerminationItAnswersWaitingClients() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let path = directory.file("store.sqlite")
    try SQLiteShell.run(contractFixture, path: path)
    let server = try RunningProgram(["serve", path, "--port", "0"])
    let port = try #require(server.line.split(separator: ":").last.flatMap { Int($0) })
    @Sendable func request(_ target: String) -> ClientRequest {
      ClientRequest("GET", "http://127.0.0.1:\(port)\(target)")
    }
    let statuses = Statuses()
    for _ in 0..<20 {
      Thread.detachNewThread {
        let response = try? request("/v1/objects/city?since=now&wait=60&as=count").waitForResponse()
        statuses.add(response?.status)
      }
    }
    func areWaiting() async throws -> Bool {
      let metrics = String(decoding: try await request("/metrics").response().body, as: UTF8.self)
      return metrics.contains("\nlivefetch_live_waiting 20\n")
    }
    #expect(try await becomesTrue(within: .seconds(60), areWaiting))
    server.process.terminate()
    _ = try await becomesTrue(within: .seconds(60)) { statuses.all.count == 20 }
    #expect(statuses.all == [Int?](repeating: 200, count: 20))
    #expect(server.end() == 0)
  }
}

/// The statuses of the responses to all threads.
private final class Statuses: Sendable {
  private let statuses = Mutex<[Int?]>([])

  var all: [Int?] { statuses.withLock { $0 } }

  func add(_ status: Int?) { statuses.withLock { $0.append(status) } }
}
