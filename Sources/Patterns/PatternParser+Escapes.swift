// Parses escapes.

import Bytes

extension PatternParser {
  /// Parses an escape outside of brackets.
  mutating func parseEscape() throws(PatternError) -> PatternNode {
    let start = offset
    guard let scalar = peek(1) else { throw failure("`\\` with nothing after it") }
    if let node = simpleEscape(scalar) {
      offset += 2
      return node
    }
    if (49...57).contains(scalar.value) || scalar == "k" {
      throw failure("a back reference, which needs backtracking", at: start)
    }
    if let set = try parseProperty() { return .character(set) }
    return literal(try parseEscapedCharacter())
  }

  private func simpleEscape(_ scalar: Unicode.Scalar) -> PatternNode? {
    switch scalar {
    case "A", "G": .assertion(.textStart)
    case "z": .assertion(.textEnd)
    case "Z": .assertion(flags.endAssertion(matchesLineEnds: false))
    case "b": .assertion(.wordBoundary)
    case "B": .assertion(.noWordBoundary)
    case "R": .unit(.lineEnd)
    case "X": .unit(.cluster)
    default: nil
    }
  }

  /// Parses `\d`, `\p{L}` and similar; nil if there is none.
  mutating func parseProperty() throws(PatternError) -> ScalarSet? {
    guard let letter = peek(1) else { return nil }
    let set: ScalarSet
    switch letter {
    case "d": set = .digits
    case "D": set = .noDigit
    case "w": set = .word
    case "W": set = .noWord
    case "s": set = .space
    case "S": set = .noSpace
    case "h": set = .horizontalSpace
    case "H": set = .noHorizontalSpace
    case "v": set = .lineEnds
    case "V": set = .noLineEnd
    case "p", "P": return try parseNamedProperty(isNegated: letter == "P")
    default: return nil
    }
    offset += 2
    return set
  }

  /// Parses `\p{Lu}`, `\p{Script=Greek}` or `\pL`.
  private mutating func parseNamedProperty(isNegated: Bool) throws(PatternError) -> ScalarSet {
    let start = offset
    offset += 2
    var name = ""
    if next == "{" {
      name = try parseBraces("a property", at: start)
    } else if let scalar = next {
      name.unicodeScalars.append(scalar)
      offset += 1
    }
    let set = try property(name, at: start)
    return isNegated ? set.complement : set
  }

  mutating func property(_ name: String, at start: Int) throws(PatternError) -> ScalarSet {
    try countName(at: start)
    guard let set = ScalarSet.named(name) else {
      throw failure("an unknown property `\(name.prefix(20))`", at: start)
    }
    // A block is a range of code points, independent of case.
    return flags.ignoresCase && !name.hasPrefix("In") ? set.closedOverCase : set
  }

  private mutating func countName(at start: Int) throws(PatternError) {
    nameCount += 1
    guard nameCount <= Self.maxNames else {
      throw failure("more than \(Self.maxNames) named properties and characters", at: start)
    }
  }

  /// Parses `{…}`.
  private mutating func parseBraces(
    _ what: String, at start: Int
  ) throws(PatternError) -> String {
    guard consume("{" as Unicode.Scalar) else { throw failure("no `{` before \(what)", at: start) }
    var text = ""
    while let scalar = next, scalar != "}" {
      text.unicodeScalars.append(scalar)
      offset += 1
    }
    guard consume("}" as Unicode.Scalar) else { throw failure("no `}` after \(what)", at: start) }
    return text
  }

  /// Parses an escape for a single character.
  mutating func parseEscapedCharacter() throws(PatternError) -> Unicode.Scalar {
    let start = offset
    guard let scalar = peek(1) else { throw failure("`\\` with nothing after it") }
    offset += 2
    if let control = Self.controls[scalar] { return control }
    switch scalar {
    case "0": return try parseOctal(at: start)
    case "u": return try parseUTF16(at: start)
    case "U": return try parseCode(8...8, at: start)
    case "x":
      guard consume("{" as Unicode.Scalar) else { return try parseCode(1...2, at: start) }
      let code = try parseCode(1...6, at: start)
      guard consume("}" as Unicode.Scalar) else { throw failure("no `}` after a code", at: start) }
      return code
    case "c": return try parseControl(at: start)
    case "N": return try parseNamedCharacter(at: start)
    default:
      guard !scalar.properties.isAlphabetic || !scalar.isASCII else {
        throw failure("an unknown escape `\\\(scalar)`", at: start)
      }
      return scalar
    }
  }

  private static let controls: [Unicode.Scalar: Unicode.Scalar] = [
    "t": "\t", "n": "\n", "r": "\r", "f": "\u{0C}", "a": "\u{07}", "e": "\u{1B}",
  ]

  private mutating func parseNamedCharacter(at start: Int) throws(PatternError) -> Unicode.Scalar {
    let name = try parseBraces("a character's name", at: start)
    try countName(at: start)
    guard let scalar = Unicode.Scalar.named(name) else {
      throw failure("no character is called `\(name.prefix(40))`", at: start)
    }
    return scalar
  }

  /// `\cA` is U+0001.
  private mutating func parseControl(at start: Int) throws(PatternError) -> Unicode.Scalar {
    guard let scalar = next, scalar.isASCII else {
      throw failure("`\\c` without a letter", at: start)
    }
    offset += 1
    return Unicode.Scalar(UInt8(scalar.value & 0x1F))
  }

  /// `\0` and one to three octal digits, at most 377.
  private mutating func parseOctal(at start: Int) throws(PatternError) -> Unicode.Scalar {
    var code: UInt32?
    for _ in 0..<3 {
      guard let digit = next, (48...55).contains(digit.value) else { break }
      let longer = (code ?? 0) * 8 + digit.value - 48
      guard longer <= 0o377 else { break }
      code = longer
      offset += 1
    }
    guard let code, let scalar = Unicode.Scalar(code) else {
      throw failure("`\\0` without octal digits", at: start)
    }
    return scalar
  }

  /// `\uhhhh`, or two of them for a surrogate pair.
  private mutating func parseUTF16(at start: Int) throws(PatternError) -> Unicode.Scalar {
    let unit = try parseHex(4...4, at: start)
    if unit >> 10 == 0x36, consume("\\u") {
      let low = try parseHex(4...4, at: start)
      if low >> 10 == 0x37 {
        return Unicode.Scalar(0x10000 + (unit & 0x3FF) << 10 + (low & 0x3FF)) ?? "\u{FFFD}"
      }
    }
    guard let scalar = Unicode.Scalar(unit) else { throw failure("no character's code", at: start) }
    return scalar
  }

  private mutating func parseCode(
    _ lengths: ClosedRange<Int>, at start: Int
  ) throws(PatternError) -> Unicode.Scalar {
    guard let scalar = Unicode.Scalar(try parseHex(lengths, at: start)) else {
      throw failure("no character's code", at: start)
    }
    return scalar
  }

  private mutating func parseHex(
    _ lengths: ClosedRange<Int>, at start: Int
  ) throws(PatternError) -> UInt32 {
    var code: UInt32 = 0
    var count = 0
    while count < lengths.upperBound, let byte = next.flatMap({ UInt8(exactly: $0.value) }),
      let digit = Hexadecimal.value(of: byte)
    {
      code = code << 4 | UInt32(digit)
      count += 1
      offset += 1
    }
    guard count >= lengths.lowerBound else { throw failure("no character's code", at: start) }
    return code
  }
}
