// UTF-8 → its Unicode scalars, one after the other.

/// Reads the scalars of a UTF-8 text. A byte that is not UTF-8 reads as U+FFFD.
public struct ScalarReader {
  @usableFromInline let utf8: UnsafeBufferPointer<UInt8>
  @usableFromInline var offset = 0

  /// Makes a reader at the first scalar.
  public init(utf8: UnsafeBufferPointer<UInt8>) { self.utf8 = utf8 }

  /// True if every scalar was read.
  public var isAtEnd: Bool { offset >= utf8.count }

  /// Returns the next scalar; nil at the end.
  @inlinable
  public mutating func next() -> Unicode.Scalar? {
    guard let (scalar, length) = read() else { return nil }
    offset += length
    return scalar
  }

  @inlinable
  func read() -> (scalar: Unicode.Scalar, length: Int)? {
    guard offset < utf8.count else { return nil }
    let first = utf8[offset]
    if first < 0x80 { return (Unicode.Scalar(first), 1) }
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
    guard first >= 0xC2, first <= 0xF4, utf8.count - offset >= length else {
      return ("\u{FFFD}", 1)
    }
    var code = UInt32(first) & (0x7F >> UInt32(length))
    for byte in utf8[offset + 1..<offset + length] {
      guard byte & 0xC0 == 0x80 else { return ("\u{FFFD}", 1) }
      code = code << 6 | UInt32(byte & 0x3F)
    }
    // A scalar with more bytes than it needs is not UTF-8.
    let least: UInt32 = length == 4 ? 0x1_0000 : length == 3 ? 0x800 : 0x80
    guard code >= least else { return ("\u{FFFD}", 1) }
    return (Unicode.Scalar(code) ?? "\u{FFFD}", length)
  }
}
