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
    listening = Mutex(try portNumber(of: served.address))
  }

  /// Restarts it on another port.
  func start() throws {
    let served = try folder.serve("store.sqlite")
    process = served.process
    let port = try portNumber(of: served.address)
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

  /// The value of a metric; nil without it. `token` has the scope admin.
  func metric(_ name: String, token: String? = nil) throws -> Int? {
    let headers = token.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
    let text = String(
      decoding: try send("GET", "/metrics", headers: headers).body, as: UTF8.self)
    let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
    return line.flatMap { Int($0.dropFirst(name.count + 1)) }
  }

  /// Returns the status of one save.
  func save(_ changes: String) throws -> Int {
    try send(
      "POST", "/v1/save", headers: [("Content-Type", "application/json")],
      body: Array("{\"changes\":[\(changes)]}".utf8)
    ).status
  }
}
