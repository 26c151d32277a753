// Percent-decoding, once.

/// Decoding of percent-encoded text.
public enum PercentDecoding {
  /// The bytes that `text` stands for; nil if a `%` is not followed by two hexadecimal digits.
  ///
  /// - Parameter plusIsSpace: whether `+` stands for a space, as it does in queries.
  public static func bytes(
    _ text: some StringProtocol, plusIsSpace: Bool = false
  ) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
        else { return nil }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return bytes
  }

  /// The text that `text` stands for; nil if it is malformed or not UTF-8.
  public static func text(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
    bytes(text, plusIsSpace: plusIsSpace).flatMap { String(validating: $0, as: UTF8.self) }
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte &- UInt8(ascii: "a") &+ 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte &- UInt8(ascii: "A") &+ 10
    default: nil
    }
  }
}
