// Splits predicate text into tokens. O(n) for n bytes.

/// Reads the tokens of a predicate. Offsets are bytes of UTF-8.
struct PredicateLexer {
  let bytes: [UInt8]
  var offset = 0
  /// True if the previous token can end an operand: a dot after it belongs to a key path, and does not
  /// begin a number.
  private var isAfterOperand = false

  init(_ text: String) {
    bytes = Array(text.utf8)
  }

  /// The next token; `.end` at the end of the text, repeatedly.
  mutating func next() throws(PredicateError) -> PredicateToken {
    skipSpace()
    let start = offset
    guard let byte = peek() else {
      return PredicateToken(kind: .end, range: start..<start)
    }
    let kind = try kind(startingWith: byte)
    isAfterOperand = endsOperand(kind)
    return PredicateToken(kind: kind, range: start..<offset)
  }

  private mutating func kind(
    startingWith byte: UInt8
  ) throws(PredicateError) -> PredicateToken.Kind {
    switch byte {
    case UInt8(ascii: "'"), UInt8(ascii: "\""): return .string(try readString(quote: byte))
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return try readNumber()
    case UInt8(ascii: "."):
      if !isAfterOperand, let next = peek(1), Self.isDigit(next) { return try readNumber() }
      offset += 1
      return .symbol(.dot)
    case UInt8(ascii: "%"): return .placeholder(try readPlaceholder())
    case UInt8(ascii: "$"): return .variable(try readPrefixedName("a variable's name"))
    case UInt8(ascii: "@"):
      return .collectionOperator(try readPrefixedName("an operator such as `@count`"))
    case UInt8(ascii: "#"): return .escapedWord(try readEscapedName())
    default:
      if Self.isNameStart(byte) { return readWord() }
      return .symbol(try readSymbol(byte))
    }
  }

  func peek(_ distance: Int = 0) -> UInt8? {
    let place = offset + distance
    return place < bytes.count ? bytes[place] : nil
  }

  /// The text of `range`.
  func text(_ range: Range<Int>) -> String {
    String(decoding: bytes[range], as: UTF8.self)
  }

  func failure(_ expected: String, at start: Int? = nil) -> PredicateError {
    let start = start ?? offset
    let end = min(bytes.count, max(start + 1, offset))
    return PredicateError(
      .syntaxError, at: start,
      found: start < bytes.count ? "`\(quotable(start..<end))`" : "the end",
      expected: expected)
  }

  /// `range` extended to whole characters.
  private func quotable(_ range: Range<Int>) -> String {
    var end = min(range.upperBound, range.lowerBound + 60)
    while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
    return text(range.lowerBound..<end)
  }

  private mutating func skipSpace() {
    while let byte = peek() {
      if byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) {
        offset += 1
      } else if byte == 0xC2, peek(1) == 0xA0 {  // A no-break space, U+00A0.
        offset += 2
      } else {
        return
      }
    }
  }

  private func endsOperand(_ kind: PredicateToken.Kind) -> Bool {
    switch kind {
    case .word(_, let keyword): keyword?.canBeName ?? true
    case .escapedWord, .variable, .collectionOperator, .placeholder, .string: true
    case .symbol(let symbol):
      symbol == .closeParenthesis || symbol == .closeBracket || symbol == .closeBrace
    default: false
    }
  }

  static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

  static func isNameStart(_ byte: UInt8) -> Bool {
    (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A) || byte == UInt8(ascii: "_") || byte >= 0x80
  }

  static func isNamePart(_ byte: UInt8) -> Bool { isNameStart(byte) || isDigit(byte) }
}

extension PredicateLexer {
  private mutating func readWord() -> PredicateToken.Kind {
    let start = offset
    skipName()
    guard peek() == UInt8(ascii: ":") else {
      let word = text(start..<offset)
      return .word(word, PredicateKeyword(spelling: word))
    }
    while peek() == UInt8(ascii: ":") {
      offset += 1
      skipName()
    }
    return .selector(text(start..<offset))
  }

  private mutating func readPrefixedName(_ expected: String) throws(PredicateError) -> String {
    offset += 1
    let start = offset
    guard let byte = peek(), Self.isNameStart(byte) else { throw failure(expected) }
    skipName()
    return text(start..<offset)
  }

  /// Reads `#word`, or `#"any text"` with the escapes of a string.
  private mutating func readEscapedName() throws(PredicateError) -> String {
    guard let quote = peek(1), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
      return try readPrefixedName("a name")
    }
    offset += 1
    return try readString(quote: quote)
  }

  private mutating func skipName() {
    while let byte = peek(), Self.isNamePart(byte) {
      if byte == 0xC2, peek(1) == 0xA0 { return }
      offset += 1
    }
  }

  private mutating func readPlaceholder() throws(PredicateError) -> Placeholder.Kind {
    let start = offset
    offset += 1
    while let byte = peek(), "lhqztj".utf8.contains(byte) { offset += 1 }
    guard let byte = peek() else { throw failure("`%@`, `%K`, `%ld` or the like", at: start) }
    offset += 1
    switch byte {
    case UInt8(ascii: "@"): return .value
    case UInt8(ascii: "K"): return .keyPath
    case _ where "diuxXoDUO".utf8.contains(byte): return .integer
    case _ where "fFeEgGaA".utf8.contains(byte): return .double
    case _ where "sScC".utf8.contains(byte): return .string
    default: throw failure("`%@`, `%K`, `%ld` or the like", at: start)
    }
  }

  private mutating func readSymbol(_ first: UInt8) throws(PredicateError) -> PredicateSymbol {
    if let second = peek(1), let symbol = Self.symbol(first, second) {
      offset += 2
      return symbol
    }
    guard let symbol = Self.symbol(first) else {
      offset += 1
      throw unknownSign(first)
    }
    offset += 1
    return symbol
  }

  /// The error for an unknown sign, which was just read.
  private func unknownSign(_ byte: UInt8) -> PredicateError {
    let failure = failure("a name, a value or an operator", at: offset - 1)
    let nearest: String? =
      byte == UInt8(ascii: "&") ? "&&" : byte == UInt8(ascii: "|") ? "||" : nil
    let isQuote = byte == UInt8(ascii: "`")
    return PredicateError(
      .syntaxError, at: failure.offset, found: isQuote ? "a backquote" : failure.found,
      expected: failure.expected,
      advice: isQuote ? "text is written in straight quotes: 'x' or \"x\"" : nil, nearest: nearest)
  }

  private static func symbol(_ first: UInt8, _ second: UInt8) -> PredicateSymbol? {
    switch (Character(Unicode.Scalar(first)), Character(Unicode.Scalar(second))) {
    case ("=", "="): .equal
    case ("!", "="), ("<", ">"): .notEqual
    case ("<", "="), ("=", "<"): .lessOrEqual
    case (">", "="), ("=", ">"): .greaterOrEqual
    case ("&", "&"): .and
    case ("|", "|"): .or
    case ("*", "*"): .power
    default: nil
    }
  }

  private static func symbol(_ byte: UInt8) -> PredicateSymbol? {
    switch byte {
    case UInt8(ascii: "="): .equal
    case UInt8(ascii: "&"), UInt8(ascii: "|"): nil
    default: PredicateSymbol(rawValue: String(Unicode.Scalar(byte)))
    }
  }
}

extension PredicateLexer {
  /// True if `text` is read as one name, reserved or not.
  static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, isNameStart(first) else { return false }
    return text.utf8.allSatisfy(isNamePart) && !containsNoBreakSpace(text)
  }

  /// True if `text` before a parenthesis is read as a function's name.
  static func isCallable(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard let first = parts.first, isName(String(Substring(first))), !containsNoBreakSpace(text)
    else { return false }
    if parts.count == 1 { return PredicateKeyword(spelling: text) == nil }
    return parts.dropFirst().allSatisfy { $0.allSatisfy(isNamePart) }
  }

  /// A no-break space, which pasted text often contains, separates words like a space, although its
  /// bytes are those of a letter to `isNamePart`.
  private static func containsNoBreakSpace(_ text: String) -> Bool {
    text.unicodeScalars.contains("\u{A0}")
  }
}
