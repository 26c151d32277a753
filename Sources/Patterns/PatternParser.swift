// Parses a pattern into its syntax tree.

/// Parses a pattern. Groups nest at most 64 deep, which bounds the recursion.
struct PatternParser {
  struct Flags {
    var ignoresCase = false
    var dotTakesLineEnds = false
    var hasLines = false
    var hasUnixLines = false
    var skipsSpace = false
  }

  /// The most characters and properties by name in a pattern, since each lookup is slow.
  static let mostNames = 50

  let scalars: [Unicode.Scalar]
  var offset = 0
  var flags = Flags()
  var names = 0
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

  func peek(_ distance: Int) -> Unicode.Scalar? {
    offset + distance < scalars.count ? scalars[offset + distance] : nil
  }

  mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard next == scalar else { return false }
    offset += 1
    return true
  }

  func isAt(_ text: String) -> Bool { scalars[offset...].starts(with: text.unicodeScalars) }

  mutating func take(_ text: String) -> Bool {
    guard isAt(text) else { return false }
    offset += text.unicodeScalars.count
    return true
  }

  /// An error at `start`, otherwise at the current position.
  func failure(_ reason: String, at start: Int? = nil) -> PatternError {
    PatternError(position: start ?? offset, reason: reason)
  }

  /// Calls `parse` one nesting level deeper.
  mutating func nested<T>(
    _ parse: (inout Self) throws(PatternError) -> T
  ) throws(PatternError) -> T {
    depth += 1
    defer { depth -= 1 }
    guard depth <= 64 else { throw failure("too many nested groups") }
    return try parse(&self)
  }

  mutating func parseAlternatives() throws(PatternError) -> PatternNode {
    try nested { parser throws(PatternError) in
      var alternatives = [try parser.parseSequence()]
      while parser.take("|" as Unicode.Scalar) { alternatives.append(try parser.parseSequence()) }
      return alternatives.count == 1 ? alternatives[0] : .alternatives(alternatives)
    }
  }

  private mutating func parseSequence() throws(PatternError) -> PatternNode {
    var nodes: [PatternNode] = []
    while true {
      skipSpace()
      guard let scalar = next, scalar != "|", scalar != ")" else { return .sequence(nodes) }
      if take("\\Q") {
        try parseQuotation(into: &nodes)
      } else if let node = try parseAtom() {
        append(try parseQuantifier(node), to: &nodes)
      }
    }
  }

  /// Adjacent letters are folded together: `ss` matches ß.
  private func append(_ node: PatternNode, to nodes: inout [PatternNode]) {
    if case .folded(let letters) = node, case .folded(let before)? = nodes.last {
      nodes[nodes.count - 1] = .folded(before + letters)
    } else {
      nodes.append(node)
    }
  }

  /// `\Q…\E`: literal text. A following quantifier applies to its last character.
  private mutating func parseQuotation(into nodes: inout [PatternNode]) throws(PatternError) {
    let start = offset - 2
    while !take("\\E") {
      guard let scalar = next else { throw failure("`\\Q` without `\\E`", at: start) }
      offset += 1
      let isLast = take("\\E")
      guard isLast else {
        append(letter(scalar), to: &nodes)
        continue
      }
      return append(try parseQuantifier(letter(scalar)), to: &nodes)
    }
  }

  /// With the flag `x`, skips white space and comments.
  mutating func skipSpace() {
    guard flags.skipsSpace else { return }
    while let scalar = next, scalar == "#" || scalar.properties.isWhitespace {
      if scalar == "#" {
        while let scalar = next, !ScalarSet.lineEnds.contains(scalar) { offset += 1 }
      } else {
        offset += 1
      }
    }
  }

  /// A literal character.
  func letter(_ scalar: Unicode.Scalar) -> PatternNode {
    flags.ignoresCase ? .folded(CaseFolding.fold(scalar)) : .character(ScalarSet(scalar))
  }

  /// Parses an element that a quantifier may follow; nil for flags and comments.
  private mutating func parseAtom() throws(PatternError) -> PatternNode? {
    guard let scalar = next else { return nil }
    switch scalar {
    case "(": return try parseGroup()
    case "[": return .character(try parseSet())
    case "\\": return try parseEscape()
    case "*", "+", "?", "{": throw failure("`\(scalar)` with nothing to repeat")
    default: break
    }
    offset += 1
    switch scalar {
    case ".":
      if flags.dotTakesLineEnds { return .unit(.any) }
      return .character((flags.hasUnixLines ? ScalarSet("\n") : .lineEnds).complement)
    case "^":
      guard flags.hasLines else { return .assertion(.textStart) }
      return .assertion(flags.hasUnixLines ? .unixLineStart : .lineStart)
    case "$": return .assertion(flags.end(ofLines: flags.hasLines))
    default: return letter(scalar)
    }
  }
}

extension PatternParser.Flags {
  /// The assertion of `$` and `\Z`.
  func end(ofLines hasLines: Bool) -> RegularExpression.Assertion {
    switch (hasLines, hasUnixLines) {
    case (true, true): .unixLineEnd
    case (true, false): .lineEnd
    case (false, true): .textEndOrFinalNewline
    case (false, false): .textEndOrFinalLineEnd
    }
  }
}
