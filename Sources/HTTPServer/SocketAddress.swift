// Socket addresses → text, and text → socket addresses.

import Glibc

/// The bytes of a peer's address; small enough to be stored with each connection.
struct SocketAddress: Sendable {
  private enum Kind {
    case none
    case v4(in_addr)
    case v6(in6_addr)
  }

  private let kind: Kind

  init(peerOf descriptor: Int32) {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutableBytes(of: &storage) { bytes in
      getpeername(
        descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
    }
    kind = result == 0 ? Self.kind(of: storage) : .none
  }

  private static func kind(of storage: sockaddr_storage) -> Kind {
    withUnsafeBytes(of: storage) { bytes in
      switch Int32(storage.ss_family) {
      case AF_INET: .v4(bytes.loadUnaligned(as: sockaddr_in.self).sin_addr)
      case AF_INET6: .v6(bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr)
      default: .none
      }
    }
  }

  /// The numeric address without a port; empty if it is neither IPv4 nor IPv6.
  var numericHost: String {
    switch kind {
    case .none: ""
    case .v4(let address): Self.text(of: address, family: AF_INET)
    case .v6(let address): Self.text(of: address, family: AF_INET6)
    }
  }

  private static func text<Address>(of address: Address, family: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
      let text = withUnsafeBytes(of: address) {
        inet_ntop(family, $0.baseAddress!, buffer.baseAddress!, socklen_t(INET6_ADDRSTRLEN))
      }
      return text.map { String(cString: $0) } ?? ""
    }
  }
}
