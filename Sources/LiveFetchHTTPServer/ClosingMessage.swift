// A response, sent directly through the socket rather than by libmicrohttpd, as the last message of
// its connection.

import CMicrohttpd
import Glibc
import LiveFetchThreads
import Synchronization

/// A TLS session, which only the worker of its connection uses.
struct TLSSession {
  let pointer: OpaquePointer

  init?(_ connection: OpaquePointer) {
    guard let pointer = chttp_tls_session(connection) else { return nil }
    self.pointer = pointer
  }
}

/// The bytes of a response, with `Connection: close`.
struct ClosingMessage: Sendable {
  private static let maxThreads = 16
  /// The number of threads that write the rest of a message because the socket was full.
  private static let threads = Atomic<Int>(0)

  private let bytes: [UInt8]

  init(_ response: HTTPResponse) {
    let status = sendableStatus(response.status)
    let reason = String(cString: MHD_get_reason_phrase_for(UInt32(status)))
    var head = "HTTP/1.1 \(status) \(reason)\r\n"
    for header in response.headers {
      let isClean = (header.name + header.value).utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
      if isClean { head += "\(header.name): \(header.value)\r\n" }
    }
    if status != 204, status != 304 { head += "Content-Length: \(response.body.bytes.count)\r\n" }
    head += "Connection: close\r\n\r\n"
    bytes = Array(head.utf8) + response.body.bytes
  }

  /// Writes the message and shuts down the sending side. Returns at once: a thread writes what the
  /// socket had no room for, and stops after `seconds` without progress. Returns false if the
  /// connection is broken or too many threads are writing already.
  func send(to descriptor: Int32, seconds: Int) -> Bool {
    let sent = max(0, Self.write(bytes[...], to: descriptor))
    if sent == bytes.count { return shutdown(descriptor, Int32(SHUT_WR)) == 0 }
    guard Self.threads.load(ordering: .relaxed) < Self.maxThreads else { return false }
    // The connection may be closed meanwhile, and its descriptor number reused.
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { return false }
    Self.threads.add(1, ordering: .relaxed)
    let isStarted = startThread { [bytes] in
      Self.writeAll(bytes[sent...], to: copy, Int32(clamping: seconds * 1000))
      shutdown(copy, Int32(SHUT_WR))
      Self.end(copy)
    }
    if !isStarted { Self.end(copy) }
    return isStarted
  }

  /// The same over TLS. A thread of its own must not use the session, so a message that the socket has
  /// no room for is cut, and false returned.
  func send(over session: TLSSession, of descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes {
        gnutls_record_send(session.pointer, $0.baseAddress, $0.count)
      }
      guard sent > 0 else { return false }
      rest = rest.dropFirst(sent)
    }
    gnutls_bye(session.pointer, GNUTLS_SHUT_WR)
    return shutdown(descriptor, Int32(SHUT_WR)) == 0
  }

  private static func end(_ copy: Int32) {
    close(copy)
    threads.subtract(1, ordering: .relaxed)
  }

  private static func writeAll(
    _ bytes: ArraySlice<UInt8>, to descriptor: Int32, _ milliseconds: Int32
  ) {
    var rest = bytes
    while !rest.isEmpty {
      var writable = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&writable, 1, milliseconds) > 0 else { return }
      let sent = write(rest, to: descriptor)
      guard sent >= 0 || errno == EAGAIN else { return }
      rest = rest.dropFirst(max(0, sent))
    }
  }

  private static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int {
    let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
    return bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, flags) }
  }
}
