// HTTP/1.1 over a socket, as far as a client of this API needs it: one connection that is kept, one
// request at a time.

import Foundation
import HTTPAnswers

/// An answer.
struct HTTPAnswer: Sendable {
  let status: Int
  /// By lower-case names.
  let headers: [String: String]
  let body: [UInt8]
}

/// Why there is no answer.
struct HTTPClientError: Error {
  let detail: String
}

/// A connection to one server, made when it is needed.
final class HTTPClient: HTTPSender {
  private let host: String
  private let port: Int
  private var descriptor: Int32 = -1
  /// Whether anything came of the answer that is waited for.
  private var hasHeard = false
  /// Seconds without a byte after which a server counts as gone. Longer than any wait.
  private let patience = 90

  init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  deinit { disconnect() }

  /// Sends a request and waits for its answer. A kept connection that the server has closed in the
  /// meantime is made anew.
  func send(
    _ method: String, _ target: String, headers: [(String, String)], body: [UInt8]
  ) throws(HTTPClientError) -> HTTPAnswer {
    let isKept = descriptor >= 0
    do {
      return try exchange(method, target, headers, body)
    } catch {
      disconnect()
      guard isKept, !hasHeard else { throw error }
      return try exchange(method, target, headers, body)
    }
  }

  private func exchange(
    _ method: String, _ target: String, _ headers: [(String, String)], _ body: [UInt8]
  ) throws(HTTPClientError) -> HTTPAnswer {
    try connect()
    hasHeard = false
    let name = host.contains(":") ? "[\(host)]" : host
    var head = "\(method) \(target) HTTP/1.1\r\nHost: \(name):\(port)\r\n"
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    if !body.isEmpty || method == "POST" { head += "Content-Length: \(body.count)\r\n" }
    try write(Array((head + "\r\n").utf8) + body)
    return try readAnswer()
  }

  private func disconnect() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
  }

  // MARK: The socket

  private func connect() throws(HTTPClientError) {
    guard descriptor < 0 else { return }
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &list) == 0 else {
      throw HTTPClientError(detail: "there is no host \(host)")
    }
    defer { freeaddrinfo(list) }
    var next = list
    while let info = next?.pointee {
      if open(info) { return }
      next = info.ai_next
    }
    throw HTTPClientError(detail: "nobody answers: \(String(cString: strerror(errno)))")
  }

  private func open(_ info: addrinfo) -> Bool {
    let made = socket(info.ai_family, info.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard made >= 0 else { return false }
    var limit = timeval(tv_sec: patience, tv_usec: 0)
    setsockopt(
      made, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    guard Glibc.connect(made, info.ai_addr, info.ai_addrlen) == 0 else {
      close(made)
      return false
    }
    descriptor = made
    return true
  }

  private func write(_ bytes: [UInt8]) throws(HTTPClientError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw HTTPClientError(detail: String(cString: strerror(errno))) }
      rest = rest.dropFirst(count)
    }
  }

  /// What comes next; nothing where the server closed the connection.
  private func readMore() throws(HTTPClientError) -> [UInt8] {
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(descriptor, &piece, piece.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw HTTPClientError(detail: String(cString: strerror(errno))) }
      return Array(piece[..<count])
    }
  }

  private func readAnswer() throws(HTTPClientError) -> HTTPAnswer {
    var reader = AnswerReader()
    var body: [UInt8] = []
    while !reader.isOver {
      let piece = try readMore()
      guard !piece.isEmpty else { break }
      hasHeard = true
      do throws(AnswerReader.Fault) {
        body += try reader.read(piece)
      } catch {
        throw HTTPClientError(detail: "the server sent \(error.reason)")
      }
    }
    guard let head = reader.head, reader.mayEnd else {
      throw HTTPClientError(detail: "the server closed the connection")
    }
    // Without a length the answer ended with the connection.
    if !reader.isOver || head.headers["connection"]?.lowercased() == "close" { disconnect() }
    return HTTPAnswer(status: head.status, headers: head.headers, body: body)
  }
}
