// Escapes, and classes in brackets.

extension PatternParser {
  /// Parses a backslash and what it makes of the characters behind it.
  mutating func parseEscape() throws(PatternError) -> PatternNode? {
    offset += 1
    guard let scalar = next else { throw failure("`\\` with nothing behind it") }
    if let assertion = Self.assertion(scalar) {
      offset += 1
      return .assertion(assertion)
    }
    if (49...57).contains(scalar.value) || scalar == "k" || scalar == "G" || scalar == "X" {
      throw failure("a backreference or another escape that needs memory")
    }
    if scalar == "Q" { return parseQuotation() }
    if let part = try parseProperty() {
      return .character(CharacterClass(parts: [part], ignoresCase: flags.ignoresCase))
    }
    return .character(
      CharacterClass(try parseEscapedCharacter(), ignoresCase: flags.ignoresCase))
  }

  private static func assertion(_ scalar: Unicode.Scalar) -> RegularExpression.Assertion? {
    switch scalar {
    case "A": .textStart
    case "z": .textEnd
    case "Z": .textEndOrFinalNewline
    case "b": .wordBorder
    case "B": .noWordBorder
    default: nil
    }
  }

  /// `\Q…\E`: everything in between as it is.
  private mutating func parseQuotation() -> PatternNode {
    offset += 1
    var nodes: [PatternNode] = []
    while let scalar = next, !take("\\E") {
      nodes.append(.character(CharacterClass(scalar, ignoresCase: flags.ignoresCase)))
      offset += 1
    }
    return .sequence(nodes)
  }

  /// Parses `\d`, `\p{L}` and kin behind their backslash; nil if something else stands here.
  private mutating func parseProperty() throws(PatternError) -> CharacterClass.Part? {
    guard let scalar = next else { return nil }
    let property: CharacterClass.Property
    switch scalar {
    case "d", "D": property = .digit
    case "w", "W": property = .word
    case "s", "S": property = .space
    case "h", "H": property = .horizontalSpace
    case "R", "v", "V": property = .lineEnd
    case "p", "P":
      offset += 1
      return try parseCategory(isNegated: scalar == "P")
    default: return nil
    }
    offset += 1
    return CharacterClass.Part(
      property: property, isNegated: "DWSHV".unicodeScalars.contains(scalar))
  }

  /// Parses `{Lu}`, `{L}` or a single letter.
  private mutating func parseCategory(isNegated: Bool) throws(PatternError) -> CharacterClass.Part {
    var name = ""
    if take("{" as Unicode.Scalar) {
      while let scalar = next, scalar != "}" {
        name.unicodeScalars.append(scalar)
        offset += 1
      }
      guard take("}" as Unicode.Scalar) else { throw failure("no `}` behind a property") }
    } else if let scalar = next {
      name.unicodeScalars.append(scalar)
      offset += 1
    }
    let known =
      "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cs Co Cn"
    guard known.split(separator: " ").contains(Substring(name)) else {
      throw failure("an unknown property `\(name.prefix(20))`")
    }
    return CharacterClass.Part(property: .category(name), isNegated: isNegated)
  }

  /// Parses the one character that an escape stands for, behind its backslash.
  private mutating func parseEscapedCharacter() throws(PatternError) -> Unicode.Scalar {
    guard let scalar = next else { throw failure("`\\` with nothing behind it") }
    offset += 1
    switch scalar {
    case "t": return "\t"
    case "n": return "\n"
    case "r": return "\r"
    case "f": return "\u{0C}"
    case "a": return "\u{07}"
    case "e": return "\u{1B}"
    case "0": return try parseCode(1...3, radix: 8)
    case "u": return try parseCode(4...4)
    case "U": return try parseCode(8...8)
    case "x":
      guard take("{" as Unicode.Scalar) else { return try parseCode(2...2) }
      let code = try parseCode(1...6)
      guard take("}" as Unicode.Scalar) else { throw failure("no `}` behind a code") }
      return code
    default:
      guard !scalar.properties.isAlphabetic || !scalar.isASCII else {
        throw failure("an unknown escape `\\\(scalar)`")
      }
      return scalar
    }
  }

  private mutating func parseCode(
    _ lengths: ClosedRange<Int>, radix: Int = 16
  ) throws(PatternError) -> Unicode.Scalar {
    var digits = ""
    while digits.count < lengths.upperBound, let scalar = next,
      let value = Character(scalar).hexDigitValue, value < radix
    {
      digits.unicodeScalars.append(scalar)
      offset += 1
    }
    guard digits.count >= lengths.lowerBound, let code = UInt32(digits, radix: radix),
      let scalar = Unicode.Scalar(code)
    else { throw failure("no character's code") }
    return scalar
  }

  // MARK: Brackets

  /// Parses `[a-z\d_]` or `[^…]`.
  mutating func parseClass() throws(PatternError) -> CharacterClass {
    offset += 1
    let isNegated = take("^" as Unicode.Scalar)
    var ranges: [ClosedRange<UInt32>] = []
    var parts: [CharacterClass.Part] = []
    var isFirst = true
    while let scalar = next, isFirst || scalar != "]" {
      isFirst = false
      if scalar == "[" || take("&&") || take("--") {
        throw failure("a set within a set; write `\\[` for the sign")
      }
      if scalar == "\\" {
        offset += 1
        if let part = try parseProperty() {
          parts.append(part)
          continue
        }
        offset -= 1
      }
      ranges.append(try parseRange())
    }
    guard take("]" as Unicode.Scalar) else { throw failure("`[` without `]`") }
    return CharacterClass(
      ranges: ranges, parts: parts, isNegated: isNegated, ignoresCase: flags.ignoresCase)
  }

  private mutating func parseRange() throws(PatternError) -> ClosedRange<UInt32> {
    let first = try parseClassCharacter()
    guard next == "-", offset + 1 < scalars.count, scalars[offset + 1] != "]" else {
      return first.value...first.value
    }
    offset += 1
    let last = try parseClassCharacter()
    guard first.value <= last.value else { throw failure("a range that runs backwards") }
    return first.value...last.value
  }

  private mutating func parseClassCharacter() throws(PatternError) -> Unicode.Scalar {
    guard let scalar = next else { throw failure("`[` without `]`") }
    offset += 1
    guard scalar == "\\" else { return scalar }
    if take("b" as Unicode.Scalar) { return "\u{08}" }
    return try parseEscapedCharacter()
  }
}
