// A client whose request waits, for tests of many idle or disconnecting clients.

import Foundation
import TestSupport

/// A client that sends one request and then only reads, or disconnects.
final class WaitingClient {
  private var descriptor: Int32
  private(set) var received = ""

  convenience init?(port: Int, _ target: String) {
    self.init(port: port, sending: "GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
  }

  init?(port: Int, sending text: String) {
    guard let connected = try? LoopbackSocket.connect(to: port) else { return nil }
    descriptor = connected
    let request = Array(text.utf8)
    guard write(descriptor, request, request.count) == request.count else { return nil }
  }

  deinit { leave(abruptly: false) }

  /// Closes with FIN, or with RST if `abruptly`.
  func leave(abruptly: Bool) {
    guard descriptor >= 0 else { return }
    LoopbackSocket.close(descriptor, abruptly: abruptly)
    descriptor = -1
  }

  /// The head of the response; its incomplete part after half a minute.
  func receiveHead() -> String { receive(until: "\r\n\r\n") }

  /// The response up to `text`; its incomplete part after half a minute.
  func receive(until text: String) -> String {
    LoopbackSocket.setTimeout(30, of: descriptor)
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
}
