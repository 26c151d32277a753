// HTTP/1.1 over a socket, as far as a client of this API needs it: one connection that is kept, one
// request at a time, answers with a length or in chunks.

import Foundation

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
  private var received: [UInt8] = []
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
      guard isKept, received.isEmpty else { throw error }
      return try exchange(method, target, headers, body)
    }
  }

  private func exchange(
    _ method: String, _ target: String, _ headers: [(String, String)], _ body: [UInt8]
  ) throws(HTTPClientError) -> HTTPAnswer {
    try connect()
    received = []
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

  private func readMore() throws(HTTPClientError) {
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(descriptor, &piece, piece.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw HTTPClientError(detail: "the server closed the connection") }
      received.append(contentsOf: piece[..<count])
      return
    }
  }

  // MARK: The answer

  private func readAnswer() throws(HTTPClientError) -> HTTPAnswer {
    guard let head = AnswerHead(try readHead()) else {
      throw HTTPClientError(detail: "the server does not speak HTTP")
    }
    let body = try readBody(head.status, head.headers)
    if head.headers["connection"]?.lowercased() == "close" { disconnect() }
    return HTTPAnswer(status: head.status, headers: head.headers, body: body)
  }

  private func readHead() throws(HTTPClientError) -> String {
    while true {
      if let end = received.firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A]) {
        let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
        received.removeFirst(end.upperBound)
        return head
      }
      guard received.count < 1 << 18 else {
        throw HTTPClientError(detail: "the server's answer has no end of its headers")
      }
      try readMore()
    }
  }

  private func readBody(
    _ status: Int, _ headers: [String: String]
  ) throws(HTTPClientError) -> [UInt8] {
    if status == 204 || status == 304 { return [] }
    if headers["transfer-encoding"]?.lowercased().contains("chunked") == true {
      return try readChunks()
    }
    guard let length = headers["content-length"].flatMap({ Int($0) }), length >= 0 else {
      return try readToEnd()
    }
    return try take(length)
  }

  private func take(_ count: Int) throws(HTTPClientError) -> [UInt8] {
    while received.count < count { try readMore() }
    defer { received.removeFirst(count) }
    return Array(received[..<count])
  }

  private func readToEnd() throws(HTTPClientError) -> [UInt8] {
    while true {
      do {
        try readMore()
      } catch {
        defer { disconnect() }
        return received
      }
    }
  }

  private func readChunks() throws(HTTPClientError) -> [UInt8] {
    var body: [UInt8] = []
    while true {
      let word = try readLine().prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
      guard let size = Int(word, radix: 16), size >= 0, size < 1 << 40 else {
        throw HTTPClientError(detail: "the server's answer is cut badly into chunks")
      }
      guard size > 0 else {
        while try !readLine().isEmpty {}
        return body
      }
      body += try take(size)
      _ = try readLine()
    }
  }

  private func readLine() throws(HTTPClientError) -> String {
    while true {
      if let end = received.firstRange(of: [0x0D, 0x0A]) {
        let line = String(decoding: received[..<end.lowerBound], as: UTF8.self)
        received.removeFirst(end.upperBound)
        return line
      }
      try readMore()
    }
  }
}
