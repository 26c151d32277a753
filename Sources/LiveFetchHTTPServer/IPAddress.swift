// Addresses and ranges of addresses, from sockets and from text.
//
// Promises: an IPv4 address that a socket of IPv6 reports (`::ffff:192.0.2.1`) equals the IPv4
// address.

import Glibc

/// An IPv4 or IPv6 address.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
  /// The 128 bits of an IPv6 address; an IPv4 address in its IPv4-mapped form.
  fileprivate let bits: UInt128

  fileprivate init(bits: UInt128) { self.bits = bits }

  /// - Parameter text: an address in numbers, without a port, brackets or a zone.
  public init?(_ text: some StringProtocol) {
    var v4 = in_addr()
    var v6 = in6_addr()
    let text = String(text)
    if inet_pton(AF_INET, text, &v4) == 1 {
      self.init(v4)
    } else if inet_pton(AF_INET6, text, &v6) == 1 {
      self.init(v6)
    } else {
      return nil
    }
  }

  /// The peer of a connected socket; nil if it has no internet address.
  init?(peerOf descriptor: Int32) { self.init { getpeername(descriptor, $0, &$1) } }

  /// The own address of a socket; nil if it has no internet address.
  init?(of descriptor: Int32) { self.init { getsockname(descriptor, $0, &$1) } }

  private init?(_ read: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32) {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutableBytes(of: &storage) { bytes in
      read(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
    }
    guard result == 0 else { return nil }
    let address: IPAddress? = withUnsafeBytes(of: storage) { bytes in
      switch Int32(storage.ss_family) {
      case AF_INET: IPAddress(bytes.loadUnaligned(as: sockaddr_in.self).sin_addr)
      case AF_INET6: IPAddress(bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr)
      default: nil
      }
    }
    guard let address else { return nil }
    self = address
  }

  private init(_ address: in_addr) {
    bits = 0xFFFF << 32 | UInt128(UInt32(bigEndian: address.s_addr))
  }

  private init(_ address: in6_addr) {
    bits = withUnsafeBytes(of: address) { UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self)) }
  }

  fileprivate var isIPv4: Bool { bits >> 32 == 0xFFFF }

  /// The address in numbers.
  public var description: String {
    if isIPv4 {
      let number = UInt32(truncatingIfNeeded: bits)
      return [24, 16, 8, 0].map { String(number >> $0 & 0xFF) }.joined(separator: ".")
    }
    return withUnsafeBytes(of: bits.bigEndian) { bytes in
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
        let text = inet_ntop(
          AF_INET6, bytes.baseAddress!, buffer.baseAddress!, socklen_t(INET6_ADDRSTRLEN))
        return text.map { String(cString: $0) } ?? ""
      }
    }
  }

  /// Identifies one client: an IPv4 address, or the `/64` of an IPv6 address, because a client
  /// usually has a whole `/64`.
  public var client: String {
    guard !isIPv4 else { return description }
    return IPAddress(bits: bits & ~0xFFFF_FFFF_FFFF_FFFF).description + "/64"
  }
}

/// An address, or all addresses with the same leading bits.
public struct AddressRange: Sendable, Hashable {
  private let base: UInt128
  private let mask: UInt128

  /// - Parameter text: `192.0.2.1`, `192.0.2.0/24`, `2001:db8::/32`.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let first = parts.first, let address = IPAddress(first), parts.count <= 2 else {
      return nil
    }
    let width = address.isIPv4 && !first.contains(":") ? 32 : 128
    var length = width
    if parts.count == 2 {
      guard !parts[1].isEmpty, parts[1].utf8.allSatisfy({ $0 &- 0x30 < 10 }),
        let number = Int(parts[1]), number <= width
      else { return nil }
      length = number
    }
    let free = width - length
    mask = free == 128 ? 0 : UInt128.max << UInt128(free)
    base = address.bits & mask
  }

  /// True if the address is in the network.
  public func contains(_ address: IPAddress) -> Bool { address.bits & mask == base }
}
