// TCP connections to a server on this machine, for clients that control every byte.

import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Opens and closes such connections; the caller owns the descriptor.
public enum LoopbackSocket {
  /// The number of the system's error.
  public struct Refused: Error {
    public let code: Int32
  }

  /// A connection to `port` of 127.0.0.1.
  ///
  /// - Parameter receiveBuffer: the size of the kernel's buffer in bytes; nil for the default.
  public static func connect(to port: Int, receiveBuffer: Int32? = nil) throws -> Int32 {
    let descriptor = socket(
      AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, size) }
    }
    guard result == 0 else {
      let code = errno
      Glibc.close(descriptor)
      throw Refused(code: code)
    }
    return descriptor
  }

  /// A socket with a port of 127.0.0.1 that no other program is given, but a server that names the port
  /// may listen on. Connections to it are refused until then.
  public static func reservePort() throws -> (descriptor: Int32, port: Int) {
    let descriptor = socket(
      AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var isShared: Int32 = 1
    setsockopt(
      descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
      }
    }
    guard result == 0 else {
      let code = errno
      Glibc.close(descriptor)
      throw Refused(code: code)
    }
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
  }

  /// Sets the time limit of later reads, in seconds.
  public static func setTimeout(_ seconds: Double, of descriptor: Int32) {
    var time = timeval(
      tv_sec: Int(seconds), tv_usec: Int((seconds - seconds.rounded(.down)) * 1_000_000))
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Closes with FIN, or with RST if `abruptly`.
  public static func close(_ descriptor: Int32, abruptly: Bool = false) {
    if abruptly {
      var option = linger(l_onoff: 1, l_linger: 0)
      setsockopt(
        descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
    Glibc.close(descriptor)
  }
}
