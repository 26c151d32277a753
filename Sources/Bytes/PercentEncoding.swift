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
        guard let high = bytes.next().flatMap(Hexadecimal.value),
          let low = bytes.next().flatMap(Hexadecimal.value)
        else { return nil }
        decoded.append(high << 4 | low)
      } else {
        decoded.append(byte == 0x2B && plus == .space ? 0x20 : byte)
      }
    }
    return String(validating: decoded, as: UTF8.self)
  }

  /// Encodes `text` as one segment of a path, or as a name or a value of a query: every byte but those
  /// of unreserved characters is escaped.
  public static func encodeComponent(_ text: String) -> String {
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: encoded.append(byte)
      default:
        encoded.append(0x25)
        encoded.append(Hexadecimal.digit(byte >> 4, uppercase: true))
        encoded.append(Hexadecimal.digit(byte & 15, uppercase: true))
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
