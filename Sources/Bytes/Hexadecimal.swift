// Bytes ↔ hexadecimal digits.

/// Hexadecimal digits as ASCII bytes.
public enum Hexadecimal {
  /// Returns the value of a digit in either case; nil for any other byte.
  @inlinable
  public static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x41...0x46: digit - 0x37
    case 0x61...0x66: digit - 0x57
    default: nil
    }
  }

  /// Returns the digit of a value below 16.
  @inlinable
  public static func digit(_ value: UInt8, uppercase: Bool = false) -> UInt8 {
    value < 10 ? 0x30 &+ value : (uppercase ? 0x37 : 0x57) &+ value
  }

  /// Returns two digits for each byte. O(bytes).
  public static func text(of bytes: some Sequence<UInt8>, uppercase: Bool = false) -> String {
    var digits: [UInt8] = []
    for byte in bytes {
      digits.append(digit(byte >> 4, uppercase: uppercase))
      digits.append(digit(byte & 15, uppercase: uppercase))
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// Returns the bytes that pairs of digits stand for; nil for an odd number of digits or any other
  /// byte. O(digits).
  ///
  /// - Parameter uppercaseOnly: True to refuse `a` to `f`.
  public static func bytes(
    of digits: some Collection<UInt8>, uppercaseOnly: Bool = false
  ) -> [UInt8]? {
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in digits {
      guard !uppercaseOnly || digit < 0x61, let value = value(of: digit) else { return nil }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return bytes
  }
}
