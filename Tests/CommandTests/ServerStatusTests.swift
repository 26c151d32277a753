// `livefetch status` of a server.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import LiveFetchCommand

@Suite("The state of a server in a terminal", .mayBlock)
struct ServerStatusTests {
  @Test("Callers with the scope admin see its metrics, others the rest")
  func metrics() throws {
    let folder = try smallFolder()
    let key = try folder.run("key", "create", "w.sqlite", "--name", "reader", "--scope", "read")
    let (_, address) = try folder.serve("w.sqlite", environment: ["LIVEFETCH_TOKEN": "s3"])
    for _ in 0..<3 {
      let fetch = try folder.run("fetch", address, "City", environment: ["LIVEFETCH_TOKEN": "s3"])
      #expect(fetch.status == 0, "\(fetch.errors)")
    }
    let all = try folder.run("status", address, "--json", environment: ["LIVEFETCH_TOKEN": "s3"])
    let status = try JSON(parsing: Array(all.output.utf8))
    #expect(status["ready"] == .boolean(true))
    #expect(status["serverErrors"] == .number("0"))
    // The probe of readiness is no save.
    #expect(status["saves"] == .number("0"))
    #expect(status["streams"] == .number("0"))
    #expect(try #require(status["requests"]?.integer) >= 3)
    #expect(try #require(status["memoryBytes"]?.integer) > 1_000_000)
    let text = try folder.run("status", address, environment: ["LIVEFETCH_TOKEN": "s3"]).output
    #expect(text.contains(/waiting slow queries  0\n/))
    let reader = key.output.trimmingCharacters(in: .whitespacesAndNewlines)
    let part = try folder.run(
      "status", address, "--json", environment: ["LIVEFETCH_TOKEN": reader])
    let less = try JSON(parsing: Array(part.output.utf8))
    #expect(less["ready"] == .boolean(true))
    #expect(less["requests"] == nil)
  }

  @Test("A measurement that is no whole number of 64 bits is left out")
  func numbers() {
    let samples = MetricSamples("# HELP a\na NaN\nb 1e300\nc +Inf\nd{x=\"1\"} 2.6\nd{x=\"2\"} 3\n")
    #expect(samples.number("a") == nil)
    #expect(samples.number("b") == nil)
    #expect(samples.number("c") == nil)
    #expect(samples.number("d") == .number("6"))
  }

  @Test("While the file is cut short, the status and the metrics say so, and the log does once")
  func truncatedFile() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite", environment: ["LIVEFETCH_TOKEN": "s3"])
    #expect(truncate(folder.file("w.sqlite"), 8_192) == 0)
    // For a moment after the server is not ready, some requests are still answered.
    var status = try folder.run("status", address, environment: ["LIVEFETCH_TOKEN": "s3"])
    try #require(
      try eventually(within: .seconds(60)) {
        status = try folder.run("status", address, environment: ["LIVEFETCH_TOKEN": "s3"])
        return status.output.contains("requests") && !status.output.contains("token")
      })
    #expect(status.status == 69, "\(status.errors)")
    #expect(status.output.contains(/ready +no\n/), "\(status.output)")
    #expect(status.output.contains("file-truncated: The database file was cut short."))
    let log = try folder.wait(for: "serve.log.err") { $0.contains("The server is not ready") }
    #expect(log.components(separatedBy: "The server is not ready").count == 2, "\(log)")
    #expect(log.contains("file-truncated"), "\(log)")
  }

  @Test("The token may be in a file that a variable names")
  func tokenFile() throws {
    let folder = try smallFolder()
    try folder.write("s3\n", to: "token.txt")
    let variables = ["LIVEFETCH_TOKEN_FILE": "token.txt"]
    let (_, address) = try folder.serve("w.sqlite", environment: variables)
    #expect(try folder.run("status", address, "--json").status == 64)
    #expect(try folder.run("status", address, "--json", environment: variables).status == 0)
    let other = try folder.run("status", address, "--token", "s4", environment: variables)
    #expect(other.status == 64)
  }

  @Test("A file and its server name the same size of the history")
  func history() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite")
    func figures(_ store: String) throws -> [Int64?] {
      let output = try folder.run("status", store, "--json").output
      let status = try JSON(parsing: Array(output.utf8))
      return [status["historyRows"]?.integer, status["historyBytes"]?.integer]
    }
    #expect(try figures("w.sqlite") == [0, 0])
    for _ in 0..<3 {
      try folder.sql("UPDATE City SET population = population + 1", on: "w.sqlite")
    }
    let file = try figures("w.sqlite")
    #expect(file[0] == 9)
    #expect(try #require(file[1]) > 9 * 26)
    #expect(try eventually(within: .seconds(60)) { try figures(address) == file })
  }

  @Test("A server that is not ready is shown with its reasons, and the exit status is 69")
  func notReady() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite")
    #expect(try folder.run("status", address).status == 0)
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: folder.file("w.sqlite\(suffix)"))
    }
    let status = try folder.run("status", address)
    #expect(status.status == 69)
    #expect(status.output.contains(/\nready +no\n/), "\(status.output)")
    #expect(
      status.output.contains(
        /\nreasons +file-removed: The database file was removed or renamed\./), "\(status.output)")
  }
}
