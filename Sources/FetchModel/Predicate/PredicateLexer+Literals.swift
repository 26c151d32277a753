// Number and string literals.

extension PredicateLexer {
  /// Reads `42`, `1.5e3`, `.5`, `0x2A`, `0o52` or `0b101010`.
  mutating func readNumber() throws(PredicateError) -> PredicateToken.Kind {
    let start = offset
    if peek() == UInt8(ascii: "0"), let radix = peek(1).flatMap(Self.radix) {
      return .integer(try readInteger(radix: radix))
    }
    skipDigits()
    var isInteger = true
    if peek() == UInt8(ascii: "."), let digit = peek(1), Self.isDigit(digit) {
      isInteger = false
      offset += 1
      skipDigits()
    }
    if let mark = peek(), mark | 0x20 == UInt8(ascii: "e"), exponentLength() > 0 {
      isInteger = false
      offset += exponentLength()
      skipDigits()
    }
    try endNumber(from: start)
    let written = text(start..<offset)
    if isInteger, let integer = Int64(written) { return .integer(integer) }
    guard let double = Double(written.first == "." ? "0" + written : written) else {
      throw failure("a number", at: start)
    }
    return .double(double)
  }

  /// The length of `e`, `e+` or `e-` before a digit, otherwise 0.
  private func exponentLength() -> Int {
    guard let byte = peek(1) else { return 0 }
    if Self.isDigit(byte) { return 1 }
    guard byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") else { return 0 }
    return peek(2).map(Self.isDigit) == true ? 2 : 0
  }

  private mutating func readInteger(radix: Int) throws(PredicateError) -> Int64 {
    let start = offset
    offset += 2
    while let byte = peek(), Self.isNamePart(byte) { offset += 1 }
    guard let bits = UInt64(text(start + 2..<offset), radix: radix), bits <= UInt64(Int64.max)
    else { throw failure("digits of base \(radix), of 63 bits at most", at: start) }
    return Int64(bits)
  }

  private mutating func endNumber(from start: Int) throws(PredicateError) {
    guard let byte = peek(), Self.isNamePart(byte), !(byte == 0xC2 && peek(1) == 0xA0) else {
      return
    }
    while let byte = peek(), Self.isNamePart(byte) { offset += 1 }
    throw failure("a number", at: start)
  }

  private mutating func skipDigits() {
    while let byte = peek(), Self.isDigit(byte) { offset += 1 }
  }

  private static func radix(_ letter: UInt8) -> Int? {
    switch letter | 0x20 {
    case UInt8(ascii: "x"): 16
    case UInt8(ascii: "o"): 8
    case UInt8(ascii: "b"): 2
    default: nil
    }
  }

  /// Reads a string up to its closing quote. A backslash that does not begin an escape is kept, so
  /// that `\*` and `\d` reach LIKE and MATCHES whether the backslash is doubled or not.
  mutating func readString(quote: UInt8) throws(PredicateError) -> String {
    let start = offset
    offset += 1
    let content = offset
    while let byte = peek(), byte != quote, byte != UInt8(ascii: "\\") { offset += 1 }
    if peek() == quote {
      offset += 1
      return text(content..<offset - 1)
    }
    var unescaped = Array(bytes[content..<offset])
    while let byte = peek() {
      offset += 1
      if byte == quote { return try self.unescaped(unescaped, from: start) }
      if byte == UInt8(ascii: "\\") {
        try readEscape(into: &unescaped)
      } else {
        unescaped.append(byte)
      }
    }
    offset = start + 1
    throw PredicateError(
      .syntaxError, at: start, found: "a string that does not end",
      expected: "`\(Unicode.Scalar(quote))` at its end")
  }

  /// A string that was written with escapes. A request limits the other marks.
  private func unescaped(_ bytes: [UInt8], from start: Int) throws(PredicateError) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    guard !text.hasMarks(moreThan: JSON.maxMarks) else {
      throw failure("at most \(JSON.maxMarks) combining marks in succession", at: start)
    }
    return text
  }

  private mutating func readEscape(into unescaped: inout [UInt8]) throws(PredicateError) {
    guard let byte = peek() else { return }
    offset += 1
    switch byte {
    case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "\\"): unescaped.append(byte)
    case UInt8(ascii: "n"): unescaped.append(0x0A)
    case UInt8(ascii: "t"): unescaped.append(0x09)
    case UInt8(ascii: "r"): unescaped.append(0x0D)
    case UInt8(ascii: "u"): unescaped += Array(String(try readScalar()).utf8)
    default: unescaped += [UInt8(ascii: "\\"), byte]
    }
  }

  /// Reads the four hexadecimal digits after `\u`, and the second escape of a surrogate pair.
  private mutating func readScalar() throws(PredicateError) -> Character {
    let start = offset - 2
    var code = try readHex(from: start)
    if code >> 10 == 0x36, peek() == UInt8(ascii: "\\"), peek(1) == UInt8(ascii: "u") {
      offset += 2
      let low = try readHex(from: start)
      guard low >> 10 == 0x37 else { throw failure("a low surrogate", at: start) }
      code = 0x10000 + (code & 0x3FF) << 10 + (low & 0x3FF)
    }
    guard let scalar = Unicode.Scalar(code) else { throw failure("a character", at: start) }
    return Character(scalar)
  }

  private mutating func readHex(from start: Int) throws(PredicateError) -> UInt32 {
    let end = min(bytes.count, offset + 4)
    let digits = bytes[offset..<end]
    guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
      let code = UInt32(text(offset..<end), radix: 16)
    else {
      throw failure("four hexadecimal digits after `\\u`", at: start)
    }
    offset = end
    return code
  }
}
