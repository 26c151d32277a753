// A client that sends exactly the given bytes.

import Glibc
import TestSupport

@testable import LiveFetchHTTPServer

/// One TCP connection to a server on the loopback interface. Used by one thread at a time.
final class RawClient: @unchecked Sendable {
  private(set) var descriptor: Int32
  private var buffer: [UInt8] = []

  init(_ port: Int, timeout: Double = 60, receiveBuffer: Int32? = nil) throws {
    descriptor = try LoopbackSocket.connect(to: port, receiveBuffer: receiveBuffer)
    setTimeout(timeout)
  }

  deinit {
    close()
  }

  func setTimeout(_ seconds: Double) { LoopbackSocket.setTimeout(seconds, of: descriptor) }

  /// Sends all bytes; returns false if the server has closed the connection.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool {
    send(Array(text.utf8))
  }

  /// The next bytes; empty at the end of the connection, nil if none arrived in time.
  func receive() -> [UInt8]? {
    var chunk = [UInt8](repeating: 0, count: 65536)
    let count = recv(descriptor, &chunk, chunk.count, 0)
    if count < 0 { return errno == EAGAIN ? nil : [] }
    return Array(chunk[..<count])
  }

  /// All bytes until the end of the connection.
  func receiveAll() -> String {
    while let more = receive(), !more.isEmpty { buffer += more }
    defer { buffer = [] }
    return String(decoding: buffer, as: UTF8.self)
  }

  /// True if the server closed the connection within the time limit without sending more bytes.
  var isClosedByServer: Bool {
    buffer.isEmpty && receive()?.isEmpty == true
  }

  /// Text up to and including `end`; nil if it does not arrive.
  func receive(until end: String) -> String? {
    let wanted = Array(end.utf8)
    var from = 0
    while true {
      if let place = buffer.firstPlace(of: wanted, from: from) {
        let text = String(decoding: buffer[..<(place + wanted.count)], as: UTF8.self)
        buffer.removeFirst(place + wanted.count)
        return text
      }
      from = max(0, buffer.count - wanted.count)
      guard let more = receive(), !more.isEmpty else { return nil }
      buffer += more
    }
  }

  /// The next response; nil if none arrives.
  func response(bodyFollows: Bool = true) -> Reply? {
    guard let head = receive(until: "\r\n\r\n") else { return nil }
    guard var reply = Reply(head: head) else { return nil }
    guard bodyFollows else { return reply }
    if reply.header("transfer-encoding") == "chunked" {
      guard let body = receiveChunks() else { return nil }
      reply.body = body
    } else {
      let count = Int(reply.header("content-length") ?? "0") ?? 0
      guard let body = receive(count: count) else { return nil }
      reply.body = body
    }
    return reply
  }

  func receive(count: Int) -> [UInt8]? {
    while buffer.count < count {
      guard let more = receive(), !more.isEmpty else { return nil }
      buffer += more
    }
    defer { buffer.removeFirst(count) }
    return Array(buffer[..<count])
  }

  /// One chunk of a chunked body; empty is the last.
  func receiveChunk() -> [UInt8]? {
    guard let line = receive(until: "\r\n"), let count = Int(line.dropLast(1), radix: 16),
      let bytes = receive(count: count), receive(count: 2) != nil
    else { return nil }
    return bytes
  }

  private func receiveChunks() -> [UInt8]? {
    var body: [UInt8] = []
    while let chunk = receiveChunk() {
      if chunk.isEmpty { return body }
      body += chunk
    }
    return nil
  }

  func get(_ target: String, headers: String = "") -> Reply? {
    send("GET \(target) HTTP/1.1\r\nHost: test\r\n\(headers)\r\n")
    return response()
  }

  /// Closes with FIN, or with RST if `abruptly`.
  func close(abruptly: Bool = false) {
    guard descriptor >= 0 else { return }
    LoopbackSocket.close(descriptor, abruptly: abruptly)
    descriptor = -1
  }
}

/// A response as it arrived.
struct Reply {
  var status: Int
  var headers: [(name: String, value: String)]
  var body: [UInt8] = []

  init?(head: String) {
    var lines = head.split(separator: "\r\n")
    guard !lines.isEmpty else { return nil }
    let words = lines.removeFirst().split(separator: " ")
    guard words.count >= 2, let status = Int(words[1]) else { return nil }
    self.status = status
    headers = lines.compactMap { line in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      return (line[..<colon].lowercased(), String(value))
    }
  }

  func header(_ name: String) -> String? {
    headers.first { $0.name == name }?.value
  }

  var text: String {
    String(decoding: body, as: UTF8.self)
  }
}

extension [UInt8] {
  func firstPlace(of wanted: [UInt8], from start: Int) -> Int? {
    guard count >= wanted.count else { return nil }
    return (start...(count - wanted.count)).first { self[$0...].starts(with: wanted) }
  }
}
