// A client that sends exactly the bytes it is told to.

import Glibc

@testable import HTTPServer

/// One TCP connection to a server on the loopback interface. Used by one thread at a time.
final class RawClient: @unchecked Sendable {
  private(set) var descriptor: Int32
  private var buffer: [UInt8] = []

  init(_ port: Int, timeout: Double = 5, receiveBuffer: Int32? = nil) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    if let receiveBuffer { ListenSocket.set(descriptor, SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
    setTimeout(timeout)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafeBytes(of: &address) {
      connect(
        descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self),
        socklen_t(MemoryLayout<sockaddr_in>.size))
    }
    guard result == 0 else { throw ClientError.system(errno) }
  }

  deinit {
    close()
  }

  func setTimeout(_ seconds: Double) {
    var time = timeval(
      tv_sec: Int(seconds), tv_usec: Int((seconds - seconds.rounded(.down)) * 1_000_000))
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Sends all of it; false if the other side has gone.
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

  /// More bytes; empty at the end of the connection, nil when none came in time.
  func receive() -> [UInt8]? {
    var chunk = [UInt8](repeating: 0, count: 65536)
    let count = recv(descriptor, &chunk, chunk.count, 0)
    if count < 0 { return errno == EAGAIN ? nil : [] }
    return Array(chunk[..<count])
  }

  /// Everything until the end of the connection.
  func receiveAll() -> String {
    while let more = receive(), !more.isEmpty { buffer += more }
    defer { buffer = [] }
    return String(decoding: buffer, as: UTF8.self)
  }

  /// Whether the server closed the connection, within the time limit and with nothing more to say.
  var isClosedByServer: Bool {
    buffer.isEmpty && receive()?.isEmpty == true
  }

  /// Text up to and including `end`; nil if it does not come.
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

  /// The next response; nil if none comes.
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

  /// Closes with FIN, or with RST where `abruptly`.
  func close(abruptly: Bool = false) {
    guard descriptor >= 0 else { return }
    if abruptly {
      var option = linger(l_onoff: 1, l_linger: 0)
      setsockopt(
        descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
    Glibc.close(descriptor)
    descriptor = -1
  }
}

enum ClientError: Error {
  case system(Int32)
}

/// A response as it came.
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
