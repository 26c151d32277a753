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
    // GNUTLS_CLIENT and GNUTLS_NO_SIGNAL: a server that closes is an error of sending.
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

  /// Sends all bytes; returns false if the server has closed the connection.
  @discardableResult
  public func send(_ text: String) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { gnutls_record_send(session, $0.baseAddress, $0.count) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Text up to and including `end`, or up to the end of the connection.
  public func receive(until end: String) -> String {
    let wanted = Array(end.utf8)
    while true {
      let place = buffer.indices.first { buffer[$0...].starts(with: wanted) }
      if let place { return take(place + wanted.count) }
      var chunk = [UInt8](repeating: 0, count: 65_536)
      var count: Int
      repeat {
        count = gnutls_record_recv(session, &chunk, chunk.count)
      } while count
        == Int(GNUTLS_E_INTERRUPTED)
      guard count > 0 else { return take(buffer.count) }
      buffer += chunk[..<count]
    }
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
    if buffer.isEmpty {
      var chunk = [UInt8](repeating: 0, count: wanted)
      let count = gnutls_record_recv(session, &chunk, chunk.count)
      guard count > 0 else { return "" }
      buffer = Array(chunk[..<count])
    }
    return take(min(wanted, buffer.count))
  }

  /// Sends no more: the alert of TLS, and FIN.
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
