// A client whose request waits, for tests of many idle or disconnecting clients.

import Foundation
import TestSupport
import Testing

/// A client that sends one request and then only reads, or disconnects.
final class WaitingClient {
  private var descriptor: Int32
  private(set) var received = ""

  /// Sends a request to the server at `address`. Each line of `headers` ends with CRLF; a `Host` is the
  /// first of them, and `localhost` without one.
  convenience init(
    _ address: String, _ target: String, method: String = "GET", headers: String = "",
    body: String = ""
  ) throws {
    let host = headers.hasPrefix("Host:") ? "" : "Host: localhost\r\n"
    let content = "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
    try self.init(
      port: portNumber(of: address),
      sending: "\(method) \(target) HTTP/1.1\r\n\(host)\(headers)"
        + "\(body.isEmpty ? "" : content)\r\n\(body)")
  }

  init(port: Int, sending text: String) throws {
    descriptor = try LoopbackSocket.connect(to: port)
    let request = Array(text.utf8)
    let count = send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
    try #require(count == request.count)
  }

  deinit { leave(abruptly: false) }

  /// Closes with FIN, or with RST if `abruptly`.
  func leave(abruptly: Bool) {
    guard descriptor >= 0 else { return }
    LoopbackSocket.close(descriptor, abruptly: abruptly)
    descriptor = -1
  }

  /// The head of the response; its incomplete part after a minute.
  func receiveHead() -> String { receive(until: "\r\n\r\n") }

  /// The response up to `text`; its incomplete part after a minute without a byte.
  func receive(until text: String) -> String {
    LoopbackSocket.setTimeout(60, of: descriptor)
    var piece = [UInt8](repeating: 0, count: 4_096)
    while !received.contains(text) {
      let count = recv(descriptor, &piece, piece.count, 0)
      guard count > 0 else { break }
      received += String(decoding: piece[..<count], as: UTF8.self)
    }
    return received
  }

  /// Reads the available bytes. Returns true if a response has begun.
  var isAnswered: Bool {
    var piece = [UInt8](repeating: 0, count: 4_096)
    let count = recv(descriptor, &piece, piece.count, Int32(MSG_DONTWAIT))
    if count > 0 { received += String(decoding: piece[..<count], as: UTF8.self) }
    return received.hasPrefix("HTTP/1.1 200")
  }

  /// True while neither a byte nor the end of the connection has arrived.
  var isWaiting: Bool {
    var byte: UInt8 = 0
    let flags = Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)
    return received.isEmpty && recv(descriptor, &byte, 1, flags) < 0
  }
}
