import Foundation
import Synchronization
import Testing

@testable import LiveFetchCommand

/// API.md, section 8, by the program itself.
@Suite("The program", .serialized)
struct CommandTests {
  /// A running program whose first line was read.
  private struct Run {
    let process = Process()
    let output = Pipe()
    let errors = Pipe()
    var line = ""

    init(_ arguments: [String]) throws {
      let build = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
      let directory =
        build?.bundleURL.deletingLastPathComponent()
        ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      process.executableURL = directory.appendingPathComponent("livefetch")
      process.arguments = arguments
      process.standardOutput = output
      process.standardError = errors
      try process.run()
      while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data([10]) {
        guard !byte.isEmpty else { break }
        line += String(decoding: byte, as: UTF8.self)
      }
    }

    func end() -> Int32 {
      process.waitUntilExit()
      return process.terminationStatus
    }
  }

  private func withFile(_ body: (String) throws -> Void) throws {
    let path = NSTemporaryDirectory() + "livefetch-" + UUID().uuidString + ".sqlite"
    defer { for end in ["", "-wal", "-shm"] { unlink(path + end) } }
    try SQLiteShell.run(contractWorld, path: path)
    try body(path)
  }

  @Test func itIsReadyRefusesASecondServerAndEndsWithStatusZero() throws {
    try withFile { path in
      let server = try Run(["serve", path, "--port", "0"])
      #expect(server.line.wholeMatch(of: /LiveFetch listening on http:\/\/127.0.0.1:\d+/) != nil)
      let second = try Run(["serve", path, "--port", "0"])
      #expect(second.end() == 65)
      server.process.terminate()
      #expect(server.end() == 0)
      #expect(try Run(["detach", path]).end() == 0)
    }
  }

  @Test func itSaysByItsStatusWhyItDidNotStart() throws {
    try withFile { path in
      #expect(try Run(["serve", path + ".none"]).end() == 66)
      #expect(try Run(["serve", path, "--port", "70000"]).end() == 64)
      let text = path + ".txt"
      defer { unlink(text) }
      try Data(repeating: 0x41, count: 4096).write(to: URL(fileURLWithPath: text))
      #expect(try Run(["serve", text, "--port", "0"]).end() == 65)
    }
  }

  @Test func aTakenPortLeavesTheFileAsItWas() throws {
    try withFile { path in
      try withFile { other in
        let server = try Run(["serve", other, "--port", "0"])
        let port = try #require(server.line.split(separator: ":").last)
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(try Run(["serve", path, "--port", String(port)]).end() == 69)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        server.process.terminate()
        #expect(server.end() == 0)
      }
    }
  }

  @Test func beingAskedToEndItAnswersThoseWhoWait() async throws {
    let path = NSTemporaryDirectory() + "livefetch-" + UUID().uuidString + ".sqlite"
    defer { for end in ["", "-wal", "-shm"] { unlink(path + end) } }
    try SQLiteShell.run(contractWorld, path: path)
    let server = try Run(["serve", path, "--port", "0"])
    let port = try #require(server.line.split(separator: ":").last.flatMap { Int($0) })
    @Sendable func ask(_ target: String) throws -> HTTPAnswer {
      try HTTPClient(host: "127.0.0.1", port: port).send("GET", target, headers: [], body: [])
    }
    let statuses = Statuses()
    for _ in 0..<20 {
      Thread.detachNewThread {
        statuses.add((try? ask("/v1/objects/city?since=now&wait=60&as=count"))?.status)
      }
    }
    func areWaiting() throws -> Bool {
      let metrics = String(decoding: try ask("/metrics").body, as: UTF8.self)
      return metrics.contains("\nlivefetch_live_waiting 20\n")
    }
    for _ in 0..<500 where try !areWaiting() { try await Task.sleep(for: .milliseconds(20)) }
    server.process.terminate()
    for _ in 0..<500 where statuses.all.count < 20 { try await Task.sleep(for: .milliseconds(20)) }
    #expect(statuses.all == [Int?](repeating: 200, count: 20))
    #expect(server.end() == 0)
  }
}

/// The answers that threads got.
private final class Statuses: Sendable {
  private let statuses = Mutex<[Int?]>([])

  var all: [Int?] { statuses.withLock { $0 } }

  func add(_ status: Int?) { statuses.withLock { $0.append(status) } }
}
