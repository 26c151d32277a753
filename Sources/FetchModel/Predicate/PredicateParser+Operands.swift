// Parses operands: prefixes, brackets, literals, key paths and calls.

extension PredicateParser {
  /// Parses one operand with its prefixes, and the dots and brackets after it.
  mutating func parsePrefix() throws(PredicateError) -> Node {
    try enter()
    defer { leave() }
    switch token.kind {
    case .symbol(.not), .word(_, .not): return try parseNot()
    case .symbol(.minus): return try parseNegation()
    case .word(_, .any?), .word(_, .some?): return try parseQuantifier(.any)
    case .word(_, .all): return try parseQuantifier(.all)
    case .word(_, .none?): return try parseQuantifier(.no)
    case .word(_, .truepredicate): return try parseTruth(true)
    case .word(_, .falsepredicate): return try parseTruth(false)
    default: return try parsePostfix(try parsePrimary())
    }
  }

  private mutating func parseNot() throws(PredicateError) -> Node {
    let start = token.range.lowerBound
    try advance()
    let operand = try parse(.comparison)
    try count(at: start)
    return try node(
      .predicate(.not(try predicate(operand))), above: operand.depth,
      start..<operand.range.upperBound)
  }

  private mutating func parseTruth(_ value: Bool) throws(PredicateError) -> Node {
    let range = token.range
    try advance()
    return Node(
      content: .predicate(.constant(value)), depth: .leaf(at: range.lowerBound), range: range)
  }

  /// Parses `-` before an operand; before a number literal it becomes part of the number.
  private mutating func parseNegation() throws(PredicateError) -> Node {
    let start = token.range.lowerBound
    try advance()
    let digits = token
    let operand = try parsePrefix()
    let expression = try expression(operand)
    let range = start..<operand.range.upperBound
    if case .literal(let literal) = expression.kind, let negative = negative(literal, digits) {
      return leaf(.literal(negative), range)
    }
    return try counted(.negation(expression), above: operand.depth, range)
  }

  /// The negated literal; nil if the operand is more than the number token `digits`, such as `(5)`.
  private func negative(_ literal: Literal, _ digits: PredicateToken) -> Literal? {
    switch (digits.kind, literal) {
    case (.integer, .integer(let value)): return .integer(0 &- value)
    case (.double, .double(let value)):
      // 2^63 does not fit in an `Int64`, so it is a double; -2^63 fits.
      return text(digits.range) == "9223372036854775808" ? .integer(.min) : .double(-value)
    default: return nil
    }
  }

  private mutating func parseQuantifier(
    _ quantifier: ComparisonPredicate.Quantifier
  ) throws(PredicateError) -> Node {
    let start = token.range.lowerBound
    try advance()
    let left = try parse(.additive)
    guard let operation = comparisonOperator else { throw operatorFailure("a comparison operator") }
    var node = try parseComparison(left, operation, quantifier)
    node.range = start..<node.range.upperBound
    return node
  }

  private mutating func parsePrimary() throws(PredicateError) -> Node {
    let range = token.range
    switch token.kind {
    case .integer(let value): return try parseLeaf(.literal(.integer(value)))
    case .double(let value): return try parseLeaf(.literal(.double(value)))
    case .string(let value): return try parseLeaf(.literal(.string(value)))
    case .placeholder(.keyPath): return try parseKeyPath(base: nil)
    case .placeholder(let kind): return try parseLeaf(.placeholder(placeholder(kind)))
    case .variable(let name): return try parseLeaf(.variable(name))
    case .escapedWord, .collectionOperator: return try parseKeyPath(base: nil)
    case .selector(let name):
      try advance()
      return try parseCall(name, at: range)
    case .word(let word, let keyword): return try parseWord(word, keyword)
    case .symbol(.openParenthesis): return try parseParentheses()
    case .symbol(.openBrace): return try parseAggregate()
    default: throw failure("a key path, a value or a comparison")
    }
  }

  private mutating func parseWord(
    _ word: String, _ keyword: PredicateKeyword?
  ) throws(PredicateError) -> Node {
    switch keyword {
    case .true, .yes: return try parseLeaf(.literal(.boolean(true)))
    case .false, .no: return try parseLeaf(.literal(.boolean(false)))
    case .null, .nil: return try parseLeaf(.literal(.null))
    case .self: return try parseLeaf(.object)
    default: break
    }
    if let keyword, !keyword.canBeName {
      let isConnective = keyword == .and || keyword == .or
      throw failure(
        "a key path, a value or a comparison",
        advice: isConnective ? nil : "a property of that name is written `#\(word)`")
    }
    let name = token
    try advance()
    guard case .symbol(.openParenthesis) = token.kind else {
      return try parseKeyPath(base: nil, first: (word, name.range))
    }
    return try parseCall(word, keyword, at: name.range)
  }

  /// Parses parentheses around a predicate or an expression.
  private mutating func parseParentheses() throws(PredicateError) -> Node {
    let start = token.range.lowerBound
    try advance()
    var node = try parse(.or)
    guard case .symbol(.closeParenthesis) = token.kind else {
      if case .expression = node.content {
        throw misspeltTruePredicate(node) ?? operatorFailure("a comparison operator or `)`")
      }
      throw operatorFailure("AND, OR or `)`")
    }
    node.range = start..<token.range.upperBound
    try advance()
    return node
  }

  private mutating func parseAggregate() throws(PredicateError) -> Node {
    let start = token.range.lowerBound
    try advance()
    let (elements, depth) = try parseList(until: .closeBrace, counting: true)
    let range = start..<token.range.upperBound
    try advance()
    return try node(
      .expression(Expression(.list(elements), range: SourceRange(range))), above: depth, range)
  }

  /// Parses expressions separated by commas, up to but not including `end`.
  mutating func parseList(
    until end: PredicateSymbol, counting: Bool = false
  ) throws(PredicateError) -> ([Expression], depth: Depth) {
    var elements: [Expression] = []
    var depth = Depth.leaf(at: token.range.lowerBound)
    if case .symbol(end) = token.kind { return ([], depth) }
    while true {
      let node = try parse(.additive)
      if counting { try countValue() }
      elements.append(try expression(node))
      depth = max(depth, node.depth)
      if case .symbol(end) = token.kind { return (elements, depth) }
      guard case .symbol(.comma) = token.kind else { throw failure("`,` or `\(end.rawValue)`") }
      try advance()
    }
  }

  /// A leaf from the current token.
  private mutating func parseLeaf(_ kind: Expression.Kind) throws(PredicateError) -> Node {
    let range = token.range
    try advance()
    return leaf(kind, range)
  }

  func leaf(_ kind: Expression.Kind, _ range: Range<Int>) -> Node {
    Node(
      content: .expression(Expression(kind, range: SourceRange(range))),
      depth: .leaf(at: range.lowerBound), range: range)
  }

  mutating func placeholder(_ kind: Placeholder.Kind) -> Placeholder {
    defer { placeholderCount += 1 }
    return Placeholder(kind, ordinal: placeholderCount)
  }
}
