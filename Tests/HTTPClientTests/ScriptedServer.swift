// An HTTP server whose responses a test writes byte by byte, on the loopback interface.

import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// A server on the loopback interface that handles each connection by a closure, on its own thread.
/// Ends after the last connection, or after fifteen minutes without a connection.
struct ScriptedServer {
  struct Refused: Error {}
  typealias Script = @Sendable (ScriptedConnection) -> Void

  let url: String

  /// - Parameter connections: what happens on each connection, one connection after the other.
  init(_ connections: [Script]) throws {
    let (descriptor, port) = try LoopbackSocket.reservePort()
    guard listen(descriptor, 8) == 0 else { throw Refused() }
    url = "http://127.0.0.1:\(port)/"
    LoopbackSocket.setTimeout(900, of: descriptor)
    Thread.detachNewThread {
      for script in connections {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { break }
        LoopbackSocket.setTimeout(900, of: connection)
        script(ScriptedConnection(descriptor: connection))
        close(connection)
      }
      close(descriptor)
    }
  }

  /// Answers each request on a connection with the next of its answers, then closes the connection.
  init(answers connections: [[String]]) throws {
    try self.init(
      connections.map { answers in
        { connection in
          for answer in answers where connection.readRequest() != nil { connection.send(answer) }
        }
      })
  }
}

struct ScriptedConnection {
  fileprivate let descriptor: Int32

  /// Reads a request without a body; nil if the client closes the connection.
  @discardableResult
  func readRequest() -> String? {
    var read: [UInt8] = []
    while !read.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard let piece = receive() else { return nil }
      read += piece
    }
    return String(decoding: read, as: UTF8.self)
  }

  /// Reads a request with a body of so many bytes; returns its head.
  func readRequest(bodySize: Int) -> String {
    var read: [UInt8] = []
    while true {
      let text = String(decoding: read, as: UTF8.self)
      if let end = text.range(of: "\r\n\r\n"), text[end.upperBound...].utf8.count >= bodySize {
        return String(text[..<end.upperBound])
      }
      guard let piece = receive() else { return "" }
      read += piece
    }
  }

  /// Waits until the client closes the connection.
  func waitForClose() { while receive() != nil {} }

  func send(_ text: String) { _ = send(Array(text.utf8)) }

  /// Sends all of `bytes`, blocking; false if the client has closed the connection.
  func send(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private func receive() -> [UInt8]? {
    var piece = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &piece, piece.count, 0)
    return count > 0 ? Array(piece[..<count]) : nil
  }
}
