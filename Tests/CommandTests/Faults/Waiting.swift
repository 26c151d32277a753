import Foundation

/// A client that sends one request and then only listens, or leaves.
final class WaitingClient {
  private var descriptor: Int32
  private(set) var received = ""

  init?(port: Int, _ target: String) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
    }
    let request = Array("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    guard code == 0, write(descriptor, request, request.count) == request.count else { return nil }
  }

  deinit { leave(abruptly: false) }

  /// Closes with FIN, or with RST where `abruptly`.
  func leave(abruptly: Bool) {
    guard descriptor >= 0 else { return }
    if abruptly {
      var option = linger(l_onoff: 1, l_linger: 0)
      let size = socklen_t(MemoryLayout<linger>.size)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, size)
    }
    close(descriptor)
    descriptor = -1
  }

  /// Reads what there is; whether an answer has begun.
  var isAnswered: Bool {
    var piece = [UInt8](repeating: 0, count: 4_096)
    let count = recv(descriptor, &piece, piece.count, Int32(MSG_DONTWAIT))
    if count > 0 { received += String(decoding: piece[..<count], as: UTF8.self) }
    return received.hasPrefix("HTTP/1.1 200")
  }
}
