// The value of a `Host` header → true if it is one of the server's names.
//
// A page of another origin can make its own host name resolve to a loopback address (DNS
// rebinding); its requests then contain that host name. A server that accepts only known names
// refuses them.

import Glibc

/// A set of host names, compared ignoring ASCII case, ports, and a dot at the end.
public struct HostNames: Sendable, Equatable {
  /// The names of a server that listens on a loopback address.
  public static let loopback: [String] = ["localhost", "127.0.0.1", "[::1]"]

  /// In lower case, IPv6 addresses in brackets.
  private let names: [[UInt8]]

  /// - Parameter names: host names and addresses; the brackets of an IPv6 address are optional.
  public init(_ names: [String]) {
    self.names = names.map { name in
      let bare = name.hasSuffix(".") ? String(name.dropLast()) : name
      let text = bare.contains(":") && !bare.hasPrefix("[") ? "[\(bare)]" : bare
      return text.utf8.map(asciiLowercase)
    }
  }

  /// True for a host name or an address without a port, in the form of the names of this set.
  public static func isName(_ text: String) -> Bool {
    if isAddress(text, AF_INET6) { return true }
    if text.hasPrefix("["), text.hasSuffix("]") {
      return isAddress(String(text.dropFirst().dropLast()), AF_INET6)
    }
    return !text.isEmpty && text != "." && text.utf8.allSatisfy(isNameByte)
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    asciiLowercase(byte) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
  }

  /// True if `host` is `localhost` or a loopback address in numbers.
  public static func isLoopback(_ host: String) -> Bool {
    if host.lowercased() == "localhost" { return true }
    if isAddress(host, AF_INET) { return host.hasPrefix("127.") }
    var address = in6_addr()
    guard inet_pton(AF_INET6, host, &address) == 1 else { return false }
    let bytes = withUnsafeBytes(of: address) { Array($0) }
    let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF, 127]
    return bytes == Array(repeating: 0, count: 15) + [1] || bytes.starts(with: mapped)
  }

  private static func isAddress(_ text: String, _ family: Int32) -> Bool {
    var address = in6_addr()
    return inet_pton(family, text, &address) == 1
  }

  /// True if the value of a `Host` header names a host of this set.
  func contains(_ host: UnsafeBufferPointer<UInt8>) -> Bool {
    Self.name(of: host).map(hasName) ?? false
  }

  /// - Parameter name: a host name or an address without a port.
  func hasName(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    names.contains { known in
      known.withUnsafeBufferPointer { equalsIgnoringCase($0, name) }
    }
  }

  /// The value of a `Host` header without its port and without a dot at the end of the name; nil if
  /// the text after the name is not a port. The port may be empty (RFC 3986, section 3.2.3).
  static func name(of host: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
    let isBracketed = host.first == UInt8(ascii: "[")
    let end =
      isBracketed
      ? host.firstIndex(of: UInt8(ascii: "]")).map { $0 + 1 }
      : host.firstIndex(of: UInt8(ascii: ":")) ?? host.count
    guard let end else { return nil }
    let port = host[end...]
    guard port.isEmpty || port.first == UInt8(ascii: ":"), isPort(port.dropFirst()) else {
      return nil
    }
    let name = host[..<end]
    let bare = name.last == UInt8(ascii: ".") ? name.dropLast() : name
    return UnsafeBufferPointer(rebasing: bare)
  }

  /// True for at most five digits up to 65535, and for nothing.
  private static func isPort(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    guard digits.count <= 5, digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return false }
    return digits.reduce(0) { $0 * 10 + Int($1 &- 0x30) } <= 65_535
  }
}
