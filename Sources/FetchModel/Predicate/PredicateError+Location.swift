// An error at a string literal, with the index of the wrong character in the string → the error at the
// byte of the predicate where that character is written.

extension PredicateError {
  /// Returns this error at the wrong character, if `offset` is that of a string literal in `text`.
  /// Otherwise returns it unchanged: the string may be an argument.
  func located(in text: String) -> PredicateError {
    guard let character,
      let offset = PredicateLexer(text).offset(ofScalar: character, inString: offset)
    else { return self }
    return PredicateError(
      code, at: offset, found: found, expected: expected, advice: advice, nearest: nearest)
  }
}

extension PredicateLexer {
  /// Returns the byte offset of the Unicode scalar with this index in the string literal whose quote is
  /// at `start`; nil if no literal begins there, if the literal is shorter, or after an escape `\u`.
  fileprivate func offset(ofScalar index: Int, inString start: Int) -> Int? {
    var lexer = self
    lexer.offset = start
    guard let quote = lexer.peek(), quote == UInt8(ascii: "'") || quote == UInt8(ascii: "\"")
    else { return nil }
    var offset = start + 1
    for _ in 0..<index {
      guard offset < bytes.count, bytes[offset] != quote else { return nil }
      // These escapes of two bytes are one scalar. `\u` is one or half of one; others are kept as written.
      if bytes[offset] == UInt8(ascii: "\\") {
        guard offset + 1 < bytes.count else { return nil }
        switch bytes[offset + 1] {
        case UInt8(ascii: "u"): return nil
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "n"),
          UInt8(ascii: "r"), UInt8(ascii: "t"):
          offset += 2
          continue
        default: break
        }
      }
      offset += 1
      while offset < bytes.count, bytes[offset] & 0xC0 == 0x80 { offset += 1 }
    }
    return offset < bytes.count ? offset : nil
  }
}
