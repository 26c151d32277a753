// The system's sockets, as far as a stream needs them: they never block, and none of them raises a
// signal.

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An address that a connection can be made to.
struct SocketAddress: Sendable {
  private let family: Int32
  private let bytes: [UInt8]

  /// The addresses of a host, in the order in which they are tried. Blocks.
  static func all(of host: String, port: Int) -> [SocketAddress] {
    var hints = addrinfo()
    hints.ai_socktype = streamType
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let info = next?.pointee {
      if let address = info.ai_addr {
        let bytes = UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen))
        addresses.append(SocketAddress(family: info.ai_family, bytes: Array(bytes)))
      }
      next = info.ai_next
    }
    return addresses
  }

  /// A socket that is being connected; nil where that failed at once: see ``lastError``.
  func startConnecting() -> Int32? {
    let descriptor = socket(family, Self.streamType, 0)
    guard descriptor >= 0 else { return nil }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    var on: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, size)
    #if canImport(Darwin)
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, size)
    #endif
    let result = bytes.withUnsafeBytes { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) {
        connect(descriptor, $0.baseAddress, socklen_t(bytes.count))
      }
    }
    if result == 0 || errno == EINPROGRESS { return descriptor }
    let error = errno
    Self.close(descriptor)
    errno = error
    return nil
  }

  /// Why the connection could not be made; nil where it was.
  static func connectError(of descriptor: Int32) -> String? {
    var error: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 else { return lastError }
    return error == 0 ? nil : String(cString: strerror(error))
  }

  /// How many of `bytes` were sent; nil where the connection is broken.
  static func send(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int? {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    let count = bytes.withUnsafeBytes {
      #if canImport(Glibc)
        Glibc.send(descriptor, $0.baseAddress, $0.count, flags)
      #elseif canImport(Musl)
        Musl.send(descriptor, $0.baseAddress, $0.count, flags)
      #else
        Darwin.send(descriptor, $0.baseAddress, $0.count, flags)
      #endif
    }
    if count >= 0 { return count }
    return isTryingAgain ? 0 : nil
  }

  enum Received {
    case bytes([UInt8])
    /// There is nothing now.
    case none
    case end
    case failed
  }

  static func receive(from descriptor: Int32) -> Received {
    var count = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, initialized in
      count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      initialized = max(0, count)
    }
    if count > 0 { return .bytes(bytes) }
    if count == 0 { return .end }
    return isTryingAgain ? .none : .failed
  }

  static func close(_ descriptor: Int32) {
    #if canImport(Glibc)
      _ = Glibc.close(descriptor)
    #elseif canImport(Musl)
      _ = Musl.close(descriptor)
    #else
      _ = Darwin.close(descriptor)
    #endif
  }

  /// What went wrong last on this thread.
  static var lastError: String { String(cString: strerror(errno)) }

  private static var isTryingAgain: Bool {
    errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR
  }

  private static var streamType: Int32 {
    #if canImport(Glibc)
      Int32(SOCK_STREAM.rawValue)
    #else
      Int32(SOCK_STREAM)
    #endif
  }
}
