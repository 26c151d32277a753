// The program's own HTTP client with a server that returns the responses of a test.

import Foundation
import TestSupport
import Testing

@testable import LiveFetchCommand

#if canImport(Glibc)
  import Glibc
#endif

/// Sends the next of its responses to each request on a connection, then closes the connection.
/// Ends after ten seconds without a connection.
private struct ScriptedServer {
  struct Refused: Error {}

  let port: Int

  /// - Parameter connections: The responses on each connection, in order.
  init(_ connections: [[String]]) throws {
    let descriptor = socket(
      AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && listen(descriptor, 8) == 0
          && getsockname(descriptor, $0, &size) == 0
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    guard isBound else { throw Refused() }
    LoopbackSocket.setTimeout(10, of: descriptor)
    Thread.detachNewThread {
      for answers in connections {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { break }
        for answer in answers where Self.hasRequest(connection) {
          _ = answer.withCString { send(connection, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
        }
        close(connection)
      }
      close(descriptor)
    }
  }

  /// Reads a request without a body; returns false without one.
  private static func hasRequest(_ connection: Int32) -> Bool {
    var read: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while !read.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      let count = recv(connection, &piece, piece.count, 0)
      guard count > 0 else { return false }
      read += piece[..<count]
    }
    return true
  }
}

@Suite("The program's HTTP client")
struct HTTPClientTests {
  private func get(_ client: HTTPClient) throws -> HTTPAnswer {
    try client.send("GET", "/", headers: [], body: [])
  }

  private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

  @Test("takes the blanks off header values, and the frame off bodies")
  func frames() throws {
    let server = try ScriptedServer([
      [
        "HTTP/1.1 200 OK\r\nContent-Length:\t5 \t\r\nA: b c \r\n\r\nhello",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Made\r\nTransfer-Encoding: chunked \r\n\r\n"
          + "2 ;x=y\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        "HTTP/1.1 204 None\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nhello until the end",
      ]
    ])
    let client = HTTPClient(host: "127.0.0.1", port: server.port)
    let first = try get(client)
    #expect(first.body == Array("hello".utf8))
    #expect(first.headers == ["content-length": "5", "a": "b c"])
    let second = try get(client)
    #expect(second.status == 201 && second.body == Array("hello".utf8))
    let third = try get(client)
    #expect(third.status == 204 && third.body.isEmpty)
    #expect(try get(client).body == Array("hello until the end".utf8))
  }

  @Test("makes a kept connection anew that the server has closed")
  func keptConnection() throws {
    let server = try ScriptedServer([[Self.hello], [Self.hello]])
    let client = HTTPClient(host: "127.0.0.1", port: server.port)
    for _ in 0..<2 { #expect(try get(client).body == Array("hello".utf8)) }
  }

  @Test(
    "takes nothing else for an answer, and asks for none twice",
    arguments: [
      (
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "the server closed the connection"
      ),
      ("HTTP/1.1 200", "the server closed the connection"),
      ("SSH-2.0-OpenSSH\r\n\r\n", "the server sent an answer that is no HTTP"),
      (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "the server sent an answer that is cut badly into chunks"
      ),
    ])
  func faults(answer: String, reason: String) throws {
    let server = try ScriptedServer([[Self.hello, answer], [Self.hello]])
    let client = HTTPClient(host: "127.0.0.1", port: server.port)
    _ = try get(client)
    do {
      _ = try get(client)
      Issue.record("it was taken for an answer")
    } catch let error as HTTPClientError {
      #expect(error.detail == reason)
    }
  }
}
