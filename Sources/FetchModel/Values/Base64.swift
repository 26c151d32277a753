// Binary as base64 text: the standard alphabet for values, the URL-safe one for cursors.

/// The characters for 62 and 63, and whether the text is padded.
public enum Base64Alphabet: Sendable, Hashable {
  /// `+` and `/`, padded with `=`.
  case standard
  /// `-` and `_`, not padded.
  case urlSafe
}

extension [UInt8] {
  /// Appends the base64 text of `bytes`.
  public mutating func append(base64 bytes: some Sequence<UInt8>, _ alphabet: Base64Alphabet) {
    var bits: UInt32 = 0
    var count = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 1
      if count == 3 {
        appendBase64(bits, characters: 4, alphabet)
        (bits, count) = (0, 0)
      }
    }
    guard count > 0 else { return }
    appendBase64(bits << UInt32(8 * (3 - count)), characters: count + 1, alphabet)
    guard alphabet == .standard else { return }
    for _ in count..<3 { append(0x3D) }
  }

  private mutating func appendBase64(
    _ bits: UInt32, characters: Int, _ alphabet: Base64Alphabet
  ) {
    for index in 0..<characters {
      let digit = UInt8(truncatingIfNeeded: bits >> UInt32(18 - 6 * index)) & 63
      switch digit {
      case 0..<26: append(0x41 &+ digit)
      case 26..<52: append(0x61 &+ (digit &- 26))
      case 52..<62: append(0x30 &+ (digit &- 52))
      case 62: append(alphabet == .standard ? 0x2B : 0x2D)
      default: append(alphabet == .standard ? 0x2F : 0x5F)
      }
    }
  }

  /// Decodes `text`; nil if it is not complete, canonical base64 in `alphabet`.
  public init?(base64 text: String, _ alphabet: Base64Alphabet) {
    var digits = text.utf8[...]
    if alphabet == .standard {
      guard digits.count % 4 == 0 else { return nil }
      if digits.last == 0x3D { digits.removeLast() }
      if digits.last == 0x3D { digits.removeLast() }
    }
    guard digits.count % 4 != 1 else { return nil }
    self = []
    reserveCapacity(digits.count / 4 * 3 + 2)
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for character in digits {
      guard let digit = Self.base64Digit(character, alphabet) else { return nil }
      bits = bits << 6 | digit
      count += 6
      if count >= 8 {
        count -= 8
        append(UInt8(truncatingIfNeeded: bits >> count))
        bits &= (1 << count) - 1
      }
    }
    guard bits == 0 else { return nil }
  }

  private static func base64Digit(_ character: UInt8, _ alphabet: Base64Alphabet) -> UInt32? {
    switch character {
    case 0x41...0x5A: UInt32(character - 0x41)
    case 0x61...0x7A: UInt32(character - 0x61 + 26)
    case 0x30...0x39: UInt32(character - 0x30 + 52)
    case alphabet == .standard ? 0x2B : 0x2D: 62
    case alphabet == .standard ? 0x2F : 0x5F: 63
    default: nil
    }
  }
}
