// Parses quantifiers, groups and flags.

extension PatternParser {
  mutating func parseQuantifier(_ node: PatternNode) throws(PatternError) -> PatternNode {
    skipSpace()
    let start = offset
    let (least, most): (Int, Int?)
    switch next {
    case "*": (least, most) = (0, nil)
    case "+": (least, most) = (1, nil)
    case "?": (least, most) = (0, 1)
    case "{":
      offset += 1
      (least, most) = try parseCounts(at: start)
      return try repeated(node, least: least, most: most, at: start)
    default: return node
    }
    offset += 1
    return try repeated(node, least: least, most: most, at: start)
  }

  private mutating func repeated(
    _ node: PatternNode, least: Int, most: Int?, at start: Int
  ) throws(PatternError) -> PatternNode {
    if consume("+" as Unicode.Scalar) {
      guard node.firsts != nil else {
        throw failure(
          "a possessive quantifier after more than one character, which needs backtracking",
          at: start)
      }
      return .repetition(node, least: least, most: most, .possessive)
    }
    // Laziness does not change whether the whole text matches.
    let isLazy = consume("?" as Unicode.Scalar)
    return .repetition(node, least: least, most: most, isLazy ? .lazy : .greedy)
  }

  private mutating func parseCounts(at start: Int) throws(PatternError) -> (Int, Int?) {
    skipSpace()
    guard let least = parseNumber() else {
      throw failure("no number after `{`, which is `\\{` as a character", at: start)
    }
    var most: Int? = least
    skipSpace()
    if consume("," as Unicode.Scalar) {
      skipSpace()
      most = parseNumber()
      skipSpace()
    }
    guard consume("}" as Unicode.Scalar) else { throw failure("no `}` after a count", at: start) }
    guard least <= 1_000, (most ?? 0) <= 1_000, (most ?? least) >= least else {
      throw failure("counts that are not 0 to 1,000, or the first above the second", at: start)
    }
    return (least, most)
  }

  private mutating func parseNumber() -> Int? {
    var number: Int?
    while let digit = next, (48...57).contains(digit.value) {
      number = min(10_000, (number ?? 0) * 10 + Int(digit.value) - 48)
      offset += 1
    }
    return number
  }

  // MARK: Groups

  mutating func parseGroup() throws(PatternError) -> PatternNode? {
    let start = offset
    offset += 1
    if consume("?#") {
      while next != nil, next != ")" { offset += 1 }
      guard consume(")" as Unicode.Scalar) else {
        throw failure("a comment that does not end", at: start)
      }
      return nil
    }
    let outer = flags
    var isAtomic = false
    if consume("?" as Unicode.Scalar) {
      isAtomic = consume(">" as Unicode.Scalar)
      if !isAtomic, try parseGroupKind(at: start) { return nil }
    }
    let node = try parseAlternatives()
    guard consume(")" as Unicode.Scalar) else { throw failure("`(` without `)`", at: start) }
    flags = outer
    guard isAtomic else { return .sequence([node]) }
    guard let atomic = node.atomic else {
      throw failure("an atomic group with a choice inside, which needs backtracking", at: start)
    }
    return .sequence([atomic])
  }

  /// Parses the text after `(?`. Returns true for flags that apply to the rest of the surrounding
  /// group.
  private mutating func parseGroupKind(at start: Int) throws(PatternError) -> Bool {
    if consume(":" as Unicode.Scalar) { return false }
    if next == "=" || next == "!" {
      throw failure("a lookahead, which a linear engine does not have", at: start)
    }
    if isAt("<=") || isAt("<!") {
      throw failure("a lookbehind, which a linear engine does not have", at: start)
    }
    if consume("<" as Unicode.Scalar) {
      try parseGroupName(at: start)
      return false
    }
    return try parseFlags(at: start)
  }

  /// Parses `name>`: ASCII letters and digits, a letter first.
  private mutating func parseGroupName(at start: Int) throws(PatternError) {
    let isLetter = next.map { $0.isASCII && $0.properties.isAlphabetic } ?? false
    while let scalar = next, scalar.isASCII,
      scalar.properties.isAlphabetic || (48...57).contains(scalar.value)
    { offset += 1 }
    guard isLetter, consume(">" as Unicode.Scalar) else {
      throw failure("a group's name that is not ASCII letters and digits", at: start)
    }
  }

  private mutating func parseFlags(at start: Int) throws(PatternError) -> Bool {
    let outer = flags
    var isOn = true
    while let scalar = next {
      offset += 1
      switch scalar {
      case "-": isOn = false
      case "i": flags.ignoresCase = isOn
      case "s": flags.dotMatchesLineEnds = isOn
      case "m": flags.isMultiline = isOn
      case "d": flags.usesUnixLines = isOn
      case "x": flags.skipsSpace = isOn
      // Case folding is always that of Unicode.
      case "u": break
      case ":": return false
      case ")": return true
      default:
        flags = outer
        throw failure("an unknown flag `\(scalar)`", at: offset - 1)
      }
    }
    throw failure("`(` without `)`", at: start)
  }
}
