// A TLS client that sends exactly the bytes of the test, on a loopback connection.

import CMicrohttpd
import Glibc

/// One TLS connection. Used by one thread at a time.
public final class TLSClient: @unchecked Sendable {
  public let descriptor: Int32
  private var session: gnutls_session_t?
  private var credentials: gnutls_certificate_credentials_t?
  private var buffer: [UInt8] = []
  private var isOpen = true

  /// Returns nil if the handshake fails.
  public init?(port: Int, timeout: Double = 60) throws {
    descriptor = try LoopbackSocket.connect(to: port)
    LoopbackSocket.setTimeout(timeout, of: descriptor)
    // GNUTLS_CLIENT, and GNUTLS_NO_SIGNAL: sending on a closed connection returns an error instead of
    // raising SIGPIPE.
    gnutls_init(&session, UInt32(1 << 1 | 1 << 6))
    gnutls_certificate_allocate_credentials(&credentials)
    gnutls_credentials_set(
      session, GNUTLS_CRD_CERTIFICATE, credentials.map { UnsafeMutableRawPointer($0) })
    gnutls_set_default_priority(session)
    gnutls_transport_set_int2(session, descriptor, descriptor)
    var status: Int32
    repeat { status = gnutls_handshake(session) } while status == GNUTLS_E_INTERRUPTED
    guard status == 0 else { return nil }
  }

  deinit {
    close()
    gnutls_deinit(session)
    gnutls_certificate_free_credentials(credentials)
  }

  /// The server's certificate in DER.
  public var peerCertificate: [UInt8] {
    var count: UInt32 = 0
    guard let list = gnutls_certificate_get_peers(session, &count), count > 0 else { return [] }
    return Array(UnsafeBufferPointer(start: list[0].data, count: Int(list[0].size)))
  }

  /// Sends a text. Returns false if not all bytes were sent.
  @discardableResult
  public func send(_ text: String) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = repeatingInterrupted {
        rest.withUnsafeBytes { gnutls_record_send(session, $0.baseAddress, $0.count) }
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Repeats a call while a signal interrupts it. Returns the number of bytes, or a negative error.
  private func repeatingInterrupted(_ call: () -> Int) -> Int {
    while true {
      let count = call()
      if count != Int(GNUTLS_E_INTERRUPTED) { return count }
    }
  }

  /// Returns the text up to and including `end`, or up to the end of the connection or the timeout.
  public func receive(until end: String) -> String {
    let wanted = Array(end.utf8)
    while true {
      let place = buffer.indices.first { buffer[$0...].starts(with: wanted) }
      if let place { return take(place + wanted.count) }
      let chunk = receive(atMost: 65_536)
      guard !chunk.isEmpty else { return take(buffer.count) }
      buffer += chunk
    }
  }

  /// Receives bytes; none at the end of the connection, and none if the timeout passes.
  private func receive(atMost limit: Int) -> [UInt8] {
    var chunk = [UInt8](repeating: 0, count: limit)
    let count = repeatingInterrupted { gnutls_record_recv(session, &chunk, limit) }
    return Array(chunk.prefix(max(0, count)))
  }

  private func take(_ count: Int) -> String {
    defer { buffer.removeFirst(count) }
    return String(decoding: buffer[..<count], as: UTF8.self)
  }

  /// Sends a request and returns its response, whose body has a length.
  public func exchange(_ request: String) -> String {
    send(request)
    return response()
  }

  public func response() -> String {
    let head = receive(until: "\r\n\r\n")
    let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
    let length = line.flatMap { Int($0.dropFirst(15).drop { $0 == " " }) } ?? 0
    var body = ""
    while body.utf8.count < length {
      let more = receive(count: length - body.utf8.count)
      if more.isEmpty { break }
      body += more
    }
    return head + body
  }

  private func receive(count wanted: Int) -> String {
    if buffer.isEmpty { buffer = receive(atMost: wanted) }
    return take(min(wanted, buffer.count))
  }

  /// Ends sending: sends the TLS alert close_notify, then FIN.
  public func finishSending() {
    gnutls_bye(session, GNUTLS_SHUT_WR)
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Closes with FIN and without an alert, or with RST if `abruptly`.
  public func close(abruptly: Bool = false) {
    guard isOpen else { return }
    isOpen = false
    LoopbackSocket.close(descriptor, abruptly: abruptly)
  }
}
