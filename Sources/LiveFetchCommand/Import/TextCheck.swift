// Checks that the beginning of a file is text, and otherwise guesses its format.

/// Checks a file's first bytes.
enum TextCheck {
  /// The number of checked bytes.
  static let size = 1 << 16

  /// - Throws: An error that names the probable format if the bytes are not UTF-8 text, with the
  ///   line of the first invalid byte.
  static func check(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) throws(ReadError) {
    let start = Array(bytes.prefix(4))
    if start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF]) {
      throw ReadError(detail: "is UTF-16; \(conversion("UTF-16"))")
    }
    if let zero = bytes.firstIndex(of: 0) {
      let line = bytes[..<zero].count { $0 == 0x0A } + 1
      throw ReadError(
        detail: isUTF16(bytes)
          ? "looks like UTF-16; \(conversion("UTF-16LE"))"
          : "line \(line): is no text: there is a zero byte in it")
    }
    let head = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
    guard head.count == bytes.count || String(validating: head, as: UTF8.self) != nil else {
      throw ReadError(detail: "line 1: is not UTF-8; \(conversion("LATIN1"))")
    }
  }

  /// In UTF-16 every other byte of a western text is zero.
  private static func isUTF16(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    let zeros = bytes.prefix(64).count { $0 == 0 }
    return zeros * 3 >= min(64, bytes.count)
  }

  private static func conversion(_ encoding: String) -> String {
    "UTF-8 is needed: iconv -f \(encoding) -t UTF-8 FILE | livefetch import STORE - …"
  }
}
