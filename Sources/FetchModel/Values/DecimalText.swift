// `-12.50e3` → its digits, or a double.

/// The digits of a number in decimal notation.
public struct DecimalText: Sendable {
  /// 1 or -1.
  public let sign: Int64
  /// The digits from the most significant one on, each 0...9.
  public let digits: [UInt8]
  /// The power of ten of the last digit.
  public let exponent: Int

  /// Returns nil if `text` is not a number, or if its exponent is beyond ±400.
  public init?(_ text: some Collection<UInt8>) {
    guard text.count <= 800 else { return nil }
    var rest = text[...]
    sign = rest.first == UInt8(ascii: "-") ? -1 : 1
    if let first = rest.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
      rest = rest.dropFirst()
    }
    var digits: [UInt8] = []
    var fraction: Int?
    while let byte = rest.first {
      if byte >= 0x30, byte <= 0x39 {
        digits.append(byte - 0x30)
        fraction = fraction.map { $0 + 1 }
      } else if byte == UInt8(ascii: "."), fraction == nil {
        fraction = 0
      } else {
        break
      }
      rest = rest.dropFirst()
    }
    guard !digits.isEmpty, let power = Self.power(rest) else { return nil }
    self.digits = digits
    exponent = power - (fraction ?? 0)
  }

  /// Returns the exponent after `e`; 0 without one.
  private static func power(_ text: some Collection<UInt8>) -> Int? {
    guard let first = text.first else { return 0 }
    guard first | 0x20 == UInt8(ascii: "e") else { return nil }
    return Int(String(decoding: text.dropFirst(), as: UTF8.self)).flatMap {
      (-400...400).contains($0) ? $0 : nil
    }
  }
}

extension Double {
  /// Reads a number in decimal notation, or the name of an infinity or of NaN. The initializer of the
  /// standard library reads hexadecimal digits as well: `0xe1` as 225.
  package init?(decimal text: String) {
    guard !text.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "x") }) else { return nil }
    self.init(text)
  }
}
