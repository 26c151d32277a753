// Parses a regular expression into its syntax tree. O(length).

/// Parses a regular expression. Groups nest at most 64 deep, which bounds the recursion.
struct PatternParser {
  /// The flags `i`, `s`, `m`, `d` and `x`.
  struct Flags {
    var ignoresCase = false
    var dotMatchesLineEnds = false
    var isMultiline = false
    var usesUnixLines = false
    var skipsSpace = false
  }

  /// The maximum number of named characters and properties in a pattern, because each lookup is slow.
  static let maxNames = 50
  /// The maximum number of ranges of code points that are copied or compared for a pattern's sets.
  static let maxSpans = 1_000_000

  let scalars: [Unicode.Scalar]
  var offset = 0
  var flags = Flags()
  /// The number of named characters and properties so far.
  var nameCount = 0
  private var spanCount = 0
  private var depth = 0

  init(_ pattern: String, ignoresCase: Bool) {
    scalars = Array(pattern.unicodeScalars)
    flags.ignoresCase = ignoresCase
  }

  /// Parses the whole pattern.
  mutating func parse() throws(PatternError) -> PatternNode {
    let node = try parseAlternatives()
    if offset < scalars.count { throw failure("`)` without `(`") }
    return node
  }

  var next: Unicode.Scalar? { offset < scalars.count ? scalars[offset] : nil }

  func peek(_ distance: Int) -> Unicode.Scalar? {
    offset + distance < scalars.count ? scalars[offset + distance] : nil
  }

  mutating func consume(_ scalar: Unicode.Scalar) -> Bool {
    guard next == scalar else { return false }
    offset += 1
    return true
  }

  func isAt(_ text: String) -> Bool { scalars[offset...].starts(with: text.unicodeScalars) }

  mutating func consume(_ text: String) -> Bool {
    guard isAt(text) else { return false }
    offset += text.unicodeScalars.count
    return true
  }

  /// Returns an error at `start`, or without one at the current position.
  func failure(_ reason: String, at start: Int? = nil) -> PatternError {
    PatternError(position: start ?? offset, reason: reason)
  }

  /// Counts ranges of code points that are copied or compared for a set.
  mutating func count(spans: Int) throws(PatternError) {
    spanCount += spans
    guard spanCount <= Self.maxSpans else { throw failure("a pattern that is too large") }
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
      while parser.consume("|" as Unicode.Scalar) {
        alternatives.append(try parser.parseSequence())
      }
      return alternatives.count == 1 ? alternatives[0] : .alternatives(alternatives)
    }
  }

  private mutating func parseSequence() throws(PatternError) -> PatternNode {
    var nodes: [PatternNode] = []
    while true {
      skipSpace()
      guard let scalar = next, scalar != "|", scalar != ")" else { return .sequence(nodes) }
      if consume("\\Q") {
        try parseQuotation(into: &nodes)
      } else if let node = try parseAtom() {
        append(try parseQuantifier(node), to: &nodes)
      }
    }
  }

  /// Appends a node. Joins adjacent letters, because their case is folded together: `ss` matches ß.
  private func append(_ node: PatternNode, to nodes: inout [PatternNode]) {
    guard case .folded(let letters) = node, case .folded(var joined)? = nodes.last else {
      return nodes.append(node)
    }
    // Without its second owner, the array is not copied.
    nodes.removeLast()
    joined += letters
    nodes.append(.folded(joined))
  }

  /// Parses `\Q…\E`: literal text. A following quantifier applies to its last character.
  private mutating func parseQuotation(into nodes: inout [PatternNode]) throws(PatternError) {
    let start = offset - 2
    while !consume("\\E") {
      guard let scalar = next else { throw failure("`\\Q` without `\\E`", at: start) }
      offset += 1
      let isLast = consume("\\E")
      guard isLast else {
        append(literal(scalar), to: &nodes)
        continue
      }
      return append(try parseQuantifier(literal(scalar)), to: &nodes)
    }
  }

  /// Skips white space and comments if the flag `x` is set.
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

  /// Returns the node of a literal character.
  func literal(_ scalar: Unicode.Scalar) -> PatternNode {
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
      if flags.dotMatchesLineEnds { return .unit(.any) }
      return .character((flags.usesUnixLines ? ScalarSet("\n") : .lineEnds).complement)
    case "^":
      guard flags.isMultiline else { return .assertion(.textStart) }
      return .assertion(flags.usesUnixLines ? .unixLineStart : .lineStart)
    case "$": return .assertion(flags.endAssertion(matchesLineEnds: flags.isMultiline))
    default: return literal(scalar)
    }
  }
}

extension PatternParser.Flags {
  /// The assertion of `$` and `\Z`.
  func endAssertion(matchesLineEnds: Bool) -> RegularExpression.Assertion {
    switch (matchesLineEnds, usesUnixLines) {
    case (true, true): .unixLineEnd
    case (true, false): .lineEnd
    case (false, true): .textEndOrFinalNewline
    case (false, false): .textEndOrFinalLineEnd
    }
  }
}
