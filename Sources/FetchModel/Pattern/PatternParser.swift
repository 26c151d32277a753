// A pattern's text → its syntax tree.

/// A part of a pattern.
indirect enum PatternNode {
  case sequence([PatternNode])
  case alternatives([PatternNode])
  case character(CharacterClass)
  case repetition(PatternNode, least: Int, most: Int?)
  case assertion(RegularExpression.Assertion)
}

/// Reads a pattern. Groups nest at most 64 deep, so the stack is bounded.
struct PatternParser {
  struct Flags {
    var ignoresCase = false
    var dotTakesLineEnds = false
    var hasLines = false
    var skipsSpace = false
  }

  let scalars: [Unicode.Scalar]
  var offset = 0
  var flags = Flags()
  private var depth = 0

  init(_ pattern: String, ignoresCase: Bool) {
    scalars = Array(pattern.unicodeScalars)
    flags.ignoresCase = ignoresCase
  }

  mutating func parse() throws(PatternError) -> PatternNode {
    let node = try parseAlternatives()
    if offset < scalars.count { throw failure("`)` without `(`") }
    return node
  }

  var next: Unicode.Scalar? { offset < scalars.count ? scalars[offset] : nil }

  mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard next == scalar else { return false }
    offset += 1
    return true
  }

  mutating func take(_ text: String) -> Bool {
    let wanted = Array(text.unicodeScalars)
    guard scalars[offset...].starts(with: wanted) else { return false }
    offset += wanted.count
    return true
  }

  func failure(_ reason: String) -> PatternError {
    PatternError(position: offset, reason: reason)
  }

  private mutating func parseAlternatives() throws(PatternError) -> PatternNode {
    depth += 1
    guard depth <= 64 else { throw failure("too many nested groups") }
    defer { depth -= 1 }
    var alternatives = [try parseSequence()]
    while take("|" as Unicode.Scalar) { alternatives.append(try parseSequence()) }
    return alternatives.count == 1 ? alternatives[0] : .alternatives(alternatives)
  }

  private mutating func parseSequence() throws(PatternError) -> PatternNode {
    var nodes: [PatternNode] = []
    while let scalar = next, scalar != "|", scalar != ")" {
      if flags.skipsSpace, skipSpace() { continue }
      guard let node = try parseAtom() else { continue }
      nodes.append(try parseQuantifier(node))
    }
    return .sequence(nodes)
  }

  private mutating func skipSpace() -> Bool {
    if take("#" as Unicode.Scalar) {
      while let scalar = next, !CharacterClass.isLineEnd(scalar) { offset += 1 }
      return true
    }
    guard let scalar = next, scalar.properties.isWhitespace else { return false }
    offset += 1
    return true
  }

  /// Parses what a quantifier may follow; nil for flags, which stand for nothing.
  private mutating func parseAtom() throws(PatternError) -> PatternNode? {
    guard let scalar = next else { return nil }
    switch scalar {
    case "(": return try parseGroup()
    case "[": return .character(try parseClass())
    case "\\": return try parseEscape()
    case "*", "+", "?": throw failure("`\(scalar)` with nothing to repeat")
    case "{": throw failure("`{` with nothing to repeat")
    default: break
    }
    offset += 1
    switch scalar {
    case ".":
      let lineEnds = CharacterClass.Part(property: .lineEnd, isNegated: false)
      return .character(
        CharacterClass(parts: flags.dotTakesLineEnds ? [] : [lineEnds], isNegated: true))
    case "^": return .assertion(flags.hasLines ? .lineStart : .textStart)
    case "$": return .assertion(flags.hasLines ? .lineEnd : .textEndOrFinalNewline)
    default: return .character(CharacterClass(scalar, ignoresCase: flags.ignoresCase))
    }
  }

  // MARK: Quantifiers

  private mutating func parseQuantifier(_ node: PatternNode) throws(PatternError) -> PatternNode {
    var repeated = node
    guard let scalar = next else { return node }
    switch scalar {
    case "*", "+", "?":
      offset += 1
      repeated = .repetition(
        node, least: scalar == "+" ? 1 : 0, most: scalar == "?" ? 1 : nil)
    case "{":
      offset += 1
      let (least, most) = try parseCounts()
      repeated = .repetition(node, least: least, most: most)
    default: return node
    }
    if take("+" as Unicode.Scalar) { throw failure("a possessive quantifier") }
    // Lazy or not, the whole text matches or it does not.
    _ = take("?" as Unicode.Scalar)
    return repeated
  }

  private mutating func parseCounts() throws(PatternError) -> (least: Int, most: Int?) {
    guard let least = parseNumber() else { throw failure("no number behind `{`") }
    var most: Int? = least
    if take("," as Unicode.Scalar) { most = next == "}" ? nil : parseNumber() ?? -1 }
    guard take("}" as Unicode.Scalar) else { throw failure("no `}` behind a count") }
    guard least <= 1_000, (most ?? 0) <= 1_000, (most ?? least) >= least else {
      throw failure("counts that are not 0 to 1,000 and rising")
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

  private mutating func parseGroup() throws(PatternError) -> PatternNode? {
    offset += 1
    let outer = flags
    if take("?#") {
      while next != nil, next != ")" { offset += 1 }
      guard take(")" as Unicode.Scalar) else { throw failure("a comment that does not end") }
      return nil
    }
    if take("?" as Unicode.Scalar), try parseGroupKind() { return nil }
    let node = try parseAlternatives()
    guard take(")" as Unicode.Scalar) else { throw failure("`(` without `)`") }
    flags = outer
    return node
  }

  /// Parses what stands behind `(?`. True if it was flags for the rest of the surrounding group.
  private mutating func parseGroupKind() throws(PatternError) -> Bool {
    if take(":" as Unicode.Scalar) { return false }
    if ["=", "!", ">"].contains(next) || take("<=") || take("<!") {
      throw failure("lookaround or an atomic group, which need memory")
    }
    if take("<" as Unicode.Scalar) {
      while let scalar = next, scalar.properties.isAlphabetic || (48...57).contains(scalar.value) {
        offset += 1
      }
      guard take(">" as Unicode.Scalar) else { throw failure("a group's name that does not end") }
      return false
    }
    return try parseFlags()
  }

  private mutating func parseFlags() throws(PatternError) -> Bool {
    var isOn = true
    while let scalar = next {
      offset += 1
      switch scalar {
      case "-": isOn = false
      case "i": flags.ignoresCase = isOn
      case "s": flags.dotTakesLineEnds = isOn
      case "m": flags.hasLines = isOn
      case "x": flags.skipsSpace = isOn
      case "u", "w": break
      case ":": return false
      case ")": return true
      default: throw failure("an unknown flag `\(scalar)`")
      }
    }
    throw failure("`(` without `)`")
  }
}
