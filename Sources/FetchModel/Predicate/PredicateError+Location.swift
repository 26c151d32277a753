// Locates an error within a string literal at its character.

extension PredicateError {
  /// This error at the wrong character, if the string literal is part of `text`.
  func located(in text: String) -> PredicateError {
    guard let character, let place = PredicateLexer(text).place(of: character, inString: offset)
    else { return self }
    return PredicateError(
      code, at: place, found: found, expected: expected, advice: advice, nearest: nearest)
  }
}

extension PredicateLexer {
  /// The place of a character of the string that begins at `start`; nil if no string begins there
  /// or an escape makes the place uncertain.
  fileprivate func place(of index: Int, inString start: Int) -> Int? {
    var lexer = self
    lexer.offset = start
    guard let quote = lexer.peek(), quote == UInt8(ascii: "'") || quote == UInt8(ascii: "\"")
    else { return nil }
    var place = start + 1
    for _ in 0..<index {
      guard place < bytes.count, bytes[place] != quote else { return nil }
      // Only escapes of a single sign are certain to produce one character.
      if bytes[place] == UInt8(ascii: "\\") {
        guard place + 1 < bytes.count else { return nil }
        switch bytes[place + 1] {
        case UInt8(ascii: "u"): return nil
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "n"),
          UInt8(ascii: "r"), UInt8(ascii: "t"):
          place += 2
          continue
        default: break
        }
      }
      place += 1
      while place < bytes.count, bytes[place] & 0xC0 == 0x80 { place += 1 }
    }
    return place < bytes.count ? place : nil
  }
}
