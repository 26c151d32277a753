// The limit of file descriptors: it is raised, and a server that reaches it goes on.

import Foundation
import TestSupport
import Testing

@Suite("Descriptors", .mayBlock)
struct DescriptorTests {
  @Test("The soft limit is raised to the hard one")
  func raised() throws {
    let folder = try smallFolder()
    let (process, _) = try folder.serve("w.sqlite", limits: "ulimit -Sn 200; ulimit -Hn 400")
    let limits = try String(
      contentsOfFile: "/proc/\(process.processIdentifier)/limits", encoding: .utf8)
    let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
    #expect(line.split(separator: " ").dropFirst(3).prefix(2) == ["400", "400"])
  }

  @Test(
    "With no descriptor left for connections it uses no processor time, serves its clients, and accepts others later"
  )
  func exhausted() throws {
    let folder = try smallFolder()
    let (process, address) = try folder.serve("w.sqlite", limits: "ulimit -n 80")
    let port = try portNumber(of: address)
    let first = try KeepAliveClient(port: port)
    #expect(first.save(population: 1)?.hasPrefix("HTTP/1.1 200") == true)
    let clients = try (0..<300).map { _ in try WaitingClient(port: port, sending: "") }
    let id = process.processIdentifier
    try #require(
      try eventually(within: .seconds(60)) {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fd").count > 50
      })
    Thread.sleep(forTimeInterval: 0.5)
    let before = try #require(processorTime(ofProcess: id))
    Thread.sleep(forTimeInterval: 1)
    #expect(try #require(processorTime(ofProcess: id)) - before < .milliseconds(250))
    for population in 2..<20 {
      #expect(first.save(population: population)?.hasPrefix("HTTP/1.1 200") == true)
    }
    for client in clients { client.leave(abruptly: false) }
    let late = try KeepAliveClient(port: port)
    #expect(late.save(population: 20)?.hasPrefix("HTTP/1.1 200") == true)
  }
}

/// A client that sends one request after another on one connection.
private final class KeepAliveClient {
  private let descriptor: Int32

  init(port: Int) throws {
    descriptor = try LoopbackSocket.connect(to: port)
    LoopbackSocket.setTimeout(60, of: descriptor)
  }

  deinit { LoopbackSocket.close(descriptor) }

  /// The response to a save; nil if none arrives within a minute.
  func save(population: Int) -> String? {
    let body = #"{"population":\#(population)}"#
    let request = Array(
      """
      PATCH /v1/objects/City/1 HTTP/1.1\r
      Host: localhost\r
      Content-Type: application/json\r
      Content-Length: \(body.utf8.count)\r
      \r
      \(body)
      """.utf8)
    guard write(descriptor, request, request.count) == request.count else { return nil }
    var piece = [UInt8](repeating: 0, count: 65_536)
    let count = read(descriptor, &piece, piece.count)
    return count > 0 ? String(decoding: piece[..<count], as: UTF8.self) : nil
  }
}
