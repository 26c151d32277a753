// Opens the listening socket, or takes over one that another program has opened.
//
// Input: a host and a port, or a descriptor. Output: a bound, listening descriptor whose options every accepted
// connection inherits, and its port.

import CMicrohttpd
import Glibc

/// A listening TCP socket.
struct ListenSocket {
  let descriptor: Int32
  let port: Int
  /// The address on which it listens.
  let address: IPAddress

  /// - Parameters:
  ///   - host: a numeric address or a name; the first address that can be bound is used.
  ///   - port: with 0 the system chooses a free one.
  init(host: String, port: Int) throws(HTTPServerError) {
    guard (0...0xFFFF).contains(port) else { throw .cannotResolve(host: host) }
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &list) == 0 else {
      throw .cannotResolve(host: host)
    }
    defer { freeaddrinfo(list) }
    var candidate = list
    var failure = EADDRNOTAVAIL
    while let address = candidate?.pointee {
      switch Self.open(address) {
      case .success(let descriptor):
        guard let opened = ListenSocket(listening: descriptor) else {
          close(descriptor)
          throw .cannotResolve(host: host)
        }
        self = opened
        return
      case .failure(let error): failure = error.code
      }
      candidate = address.ai_next
    }
    throw .cannotListen(errno: failure)
  }

  /// Takes over a socket that listens; nil if `descriptor` is not a TCP socket that does.
  init?(inherited descriptor: Int32) {
    guard Self.option(descriptor, SO_TYPE) == Int32(SOCK_STREAM.rawValue),
      Self.option(descriptor, SO_ACCEPTCONN) == 1
    else { return nil }
    self.init(listening: descriptor)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    Self.setOptions(descriptor)
  }

  private init?(listening descriptor: Int32) {
    guard let address = IPAddress(of: descriptor) else { return nil }
    self.descriptor = descriptor
    self.address = address
    port = Self.port(of: descriptor)
  }

  private struct SystemError: Error {
    let code: Int32
  }

  private static func open(_ address: addrinfo) -> Result<Int32, SystemError> {
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.ai_family, kind | Int32(SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return .failure(SystemError(code: errno)) }
    setOptions(descriptor)
    guard bind(descriptor, address.ai_addr, address.ai_addrlen) == 0,
      listen(descriptor, 4096) == 0
    else {
      let code = errno
      close(descriptor)
      return .failure(SystemError(code: code))
    }
    return .success(descriptor)
  }

  private static func setOptions(_ descriptor: Int32) {
    set(descriptor, SOL_SOCKET, SO_REUSEADDR, to: 1)
    set(descriptor, SOL_SOCKET, SO_KEEPALIVE, to: 1)
    let tcp = Int32(IPPROTO_TCP)
    set(descriptor, tcp, TCP_KEEPCNT, to: 12)
    set(descriptor, tcp, TCP_USER_TIMEOUT, to: KeepAlive.userTimeout)
    KeepAlive(descriptor: 0).apply(to: descriptor)
  }

  static func set(_ descriptor: Int32, _ level: Int32, _ name: Int32, to value: Int32) {
    var value = value
    setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  /// The value of an option of the socket; nil if `descriptor` is no socket.
  private static func option(_ descriptor: Int32, _ name: Int32) -> Int32? {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
  }

  private static func port(of descriptor: Int32) -> Int {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &storage) { bytes in
      let base = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      guard getsockname(descriptor, base, &length) == 0 else { return 0 }
      // The port has the same offset in both address families.
      return Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
    }
  }
}
