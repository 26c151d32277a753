// UUIDs as text and as their sixteen bytes.

import Bytes

/// Conversions between a UUID's text and its bytes.
public enum UUIDText {
  /// Returns the bytes of `550E8400-E29B-41D4-A716-446655440000`, in upper or lower case; nil for
  /// any other text.
  public static func bytes(of utf8: some Collection<UInt8>) -> [UInt8]? {
    guard utf8.count == 36 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(16)
    var high: UInt8?
    for (index, byte) in utf8.enumerated() {
      if [8, 13, 18, 23].contains(index) {
        guard byte == 0x2D else { return nil }
        continue
      }
      guard let nibble = Hexadecimal.value(of: byte) else { return nil }
      if let first = high {
        bytes.append(first << 4 | nibble)
        high = nil
      } else {
        high = nibble
      }
    }
    return bytes
  }

  /// Returns the text of sixteen bytes. `.bytes` gives capital letters, as in items.
  public static func text(of bytes: [UInt8], _ style: ColumnEncoding.UUIDStyle = .upper) -> [UInt8]
  {
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for (index, byte) in bytes.enumerated() {
      if [4, 6, 8, 10].contains(index) { text.append(0x2D) }
      text.append(Hexadecimal.digit(byte >> 4, uppercase: style != .lower))
      text.append(Hexadecimal.digit(byte & 15, uppercase: style != .lower))
    }
    return text
  }
}
