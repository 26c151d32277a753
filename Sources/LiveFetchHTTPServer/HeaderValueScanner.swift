// The value of a header field → tokens and quoted strings, one after the other (RFC 9110, section 5.6).

/// Reads parts of a header value from its start.
package struct HeaderValueScanner {
  /// The bytes that have not been read.
  package private(set) var rest: Substring.UTF8View

  package init(_ value: String) { rest = value[...].utf8 }

  package mutating func skipBlanks() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }

  /// Skips `byte`; false if the rest begins with another one.
  package mutating func consume(_ byte: UInt8) -> Bool {
    guard rest.first == byte else { return false }
    rest.removeFirst()
    return true
  }

  /// Reads the bytes for which `isTaken` returns true. Empty if there is none.
  package mutating func read(while isTaken: (UInt8) -> Bool) -> String {
    let taken = rest.prefix(while: isTaken)
    rest = rest[taken.endIndex...]
    return String(decoding: taken, as: UTF8.self)
  }

  /// Reads a token; empty if there is none.
  package mutating func token() -> String { read(while: isTokenByte) }

  /// Reads the text of a quoted string, whose opening quote has been read; nil if it has no end.
  package mutating func quotedText() -> String? {
    var text: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
      guard byte == UInt8(ascii: "\\") else {
        text.append(byte)
        continue
      }
      guard let escaped = rest.popFirst() else { break }
      text.append(escaped)
    }
    return nil
  }
}
