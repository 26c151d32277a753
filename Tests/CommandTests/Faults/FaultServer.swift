// The built program as a server that a test can kill and restart, and a client of it.

import FetchModel
import Foundation
import HTTPClient
import Synchronization
import TestSupport
import Testing

@testable import LiveFetchCommand

/// The program serving a file of its own, for fault injection. For any thread.
final class FaultServer: @unchecked Sendable {
  // The folder and the process belong to the test's own thread.
  let folder: Folder
  private(set) var process: Process
  // Protects the port, which other threads read during a restart.
  private let listening: Mutex<Int>

  var port: Int { listening.withLock { $0 } }

  init(_ sql: String, _ flags: [String] = []) throws {
    folder = try Folder()
    try folder.sql(sql, on: "store.sqlite")
    let served = try folder.serve("store.sqlite", flags)
    process = served.process
    listening = Mutex(try Self.port(served.address))
  }

  private static func port(_ address: String) throws -> Int {
    try #require(address.split(separator: ":").last.flatMap { Int($0) })
  }

  /// Restarts it on another port.
  func start() throws {
    let served = try folder.serve("store.sqlite")
    process = served.process
    let port = try Self.port(served.address)
    listening.withLock { $0 = port }
  }

  /// Sends a signal and returns the exit status, or the signal, that ended the process.
  @discardableResult
  func end(by signal: Int32 = SIGTERM) -> Int32 {
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
    return process.terminationStatus
  }

  var client: FaultClient { FaultClient(address: "http://127.0.0.1:\(port)") }

  func sql(_ text: String) throws -> [String] { try folder.sql(text, on: "store.sqlite") }

  var descriptors: Int {
    let path = "/proc/\(process.processIdentifier)/fd"
    return (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0
  }

  /// Seconds of processor time used so far.
  var processorTime: Double {
    let path = "/proc/\(process.processIdentifier)/stat"
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    let fields = (text.split(separator: ")").last ?? "").split(separator: " ")
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12])
    else { return 0 }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}

/// Requests to a server. Each blocks its thread.
struct FaultClient: Sendable {
  let address: String

  func send(
    _ method: String, _ target: String, headers: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) throws -> ClientResponse {
    try ClientRequest(method, address + target, headers: headers, body: body).waitForResponse()
  }

  func get(_ target: String) throws -> (status: Int, json: JSON) {
    let answer = try send("GET", target)
    return (answer.status, (try? JSON(parsing: answer.body)) ?? .null)
  }

  /// Returns the status of one save.
  func save(_ changes: String) throws -> Int {
    try send(
      "POST", "/v1/save", headers: [("Content-Type", "application/json")],
      body: Array("{\"changes\":[\(changes)]}".utf8)
    ).status
  }
}

/// True if `isTrue` becomes true within that number of seconds.
func becomes(_ seconds: Double, _ isTrue: () throws -> Bool) rethrows -> Bool {
  let end = ContinuousClock.now + .seconds(max(seconds, 120))
  while ContinuousClock.now < end {
    if try isTrue() { return true }
    usleep(10_000)
  }
  return try isTrue()
}
