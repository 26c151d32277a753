// Percent-encoded bytes of a request target → text.

/// Decodes percent-encoded UTF-8.
public enum PercentEncoding {
  /// What a `+` stands for.
  public enum Plus: Sendable { case itself, space }

  /// The text of `encoded`, nil where an escape is cut short or the bytes are not UTF-8.
  public static func decode(_ encoded: Substring, plus: Plus) -> String? {
    decode(encoded.utf8, plus: plus)
  }

  private static func decode(_ encoded: Substring.UTF8View, plus: Plus) -> String? {
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

  /// The names and values of a query string in their order.
  public static func decodeQuery(
    _ query: Substring
  ) throws(FetchRequestError) -> [(name: String, value: String)] {
    var pairs: [(name: String, value: String)] = []
    for part in query.utf8.split(separator: 0x26) {
      let equals = part.firstIndex(of: 0x3D)
      guard let name = decode(part[..<(equals ?? part.endIndex)], plus: .space) else {
        throw .malformedEncoding(detail: "a parameter's name is not percent-encoded UTF-8")
      }
      let rest = equals.map { part[part.index(after: $0)...] }
      guard let value = rest.map({ decode($0, plus: .space) }) ?? "" else {
        throw .malformedEncoding(detail: "the value of `\(name)` is not percent-encoded UTF-8")
      }
      pairs.append((name, value))
    }
    return pairs
  }

  static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }
}

extension PercentEncoding {
  /// `text` as one segment of a path: everything but unreserved characters escaped.
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
