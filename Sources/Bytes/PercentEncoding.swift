// Percent-encoded text of a request target → text, and back.

/// Percent-encoding of UTF-8 (RFC 3986).
public enum PercentEncoding {
  /// The meaning of a `+`: itself in paths, a space in queries.
  public enum Plus: Sendable { case itself, space }

  /// Decodes `encoded` once; nil if an escape is incomplete or the bytes are not UTF-8. O(bytes).
  public static func decode(_ encoded: Substring, plus: Plus) -> String? {
    decode(encoded.utf8, plus: plus)
  }

  /// Decodes `encoded` once; nil if an escape is incomplete or the bytes are not UTF-8. O(bytes).
  public static func decode(_ encoded: Substring.UTF8View, plus: Plus) -> String? {
    guard encoded.contains(where: { $0 == 0x25 || $0 == 0x2B }) else {
      return String(Substring(encoded))
    }
    var decoded: [UInt8] = []
    decoded.reserveCapacity(encoded.count)
    var bytes = encoded.makeIterator()
    while let byte = bytes.next() {
      if byte == 0x25 {
        guard let high = bytes.next().flatMap(hexValue), let low = bytes.next().flatMap(hexValue)
        else { return nil }
        decoded.append(high << 4 | low)
      } else {
        decoded.append(byte == 0x2B && plus == .space ? 0x20 : byte)
      }
    }
    return String(validating: decoded, as: UTF8.self)
  }

  /// The value of a hexadecimal digit; nil for any other byte.
  public static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }

  /// Encodes `text` as one segment of a path: every byte but those of unreserved characters is escaped.
  public static func encodeSegment(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: encoded.append(byte)
      default: encoded += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
