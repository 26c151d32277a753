// A mistake within a string of a predicate, shown at its very character.

extension PredicateError {
  /// The same at the character of the string at fault, where the string stands in `text` itself.
  func located(in text: String) -> PredicateError {
    guard let character, let place = PredicateLexer(text).place(of: character, inString: offset)
    else { return self }
    return PredicateError(
      code, at: place, found: found, expected: expected, hint: advice, nearest: nearest)
  }
}

extension PredicateLexer {
  /// Where the character at this index of the string that begins at `start` is written; nil where no
  /// string begins there, or an escape hides the place.
  fileprivate func place(of index: Int, inString start: Int) -> Int? {
    var lexer = self
    lexer.offset = start
    guard let quote = lexer.peek(), quote == UInt8(ascii: "'") || quote == UInt8(ascii: "\"")
    else { return nil }
    var place = start + 1
    for _ in 0..<index {
      guard place < bytes.count, bytes[place] != quote else { return nil }
      // Of the escapes, only those of one sign are sure to make one character.
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
