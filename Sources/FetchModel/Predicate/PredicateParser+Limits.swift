// Checks limits, and distinguishes predicates from expressions.
extension PredicateParser {
  mutating func expect(_ symbol: PredicateSymbol) throws(PredicateError) {
    guard case .symbol(symbol) = token.kind else { throw failure("`\(symbol.rawValue)`") }
    try advance()
  }

  func predicate(_ node: Node) throws(PredicateError) -> Predicate {
    if case .predicate(let predicate) = node.content { return predicate }
    if let misspelt = misspeltTruePredicate(node) { throw misspelt }
    throw operatorFailure("a comparison operator")
  }

  func expression(_ node: Node) throws(PredicateError) -> Expression {
    if case .expression(let expression) = node.content { return expression }
    throw PredicateError(
      .syntaxError, at: node.range.lowerBound, found: "`\(text(node.range))`",
      expected: "an expression", advice: "a comparison is no value; TERNARY makes one of it")
  }

  /// Creates a node one level above `depth` and counts it towards the limit.
  mutating func counted(
    _ kind: Expression.Kind, above depth: Depth, _ range: Range<Int>
  ) throws(PredicateError) -> Node {
    try count(at: range.lowerBound)
    return try node(
      .expression(Expression(kind, range: SourceRange(range))), above: depth, range)
  }

  func node(
    _ content: Node.Content, above depth: Depth, _ range: Range<Int>
  ) throws(PredicateError) -> Node {
    guard depth.levels < PredicateLimits.depth else { throw tooDeep(at: depth.offset) }
    let depth = Depth(levels: depth.levels + 1, offset: depth.offset)
    return Node(content: content, depth: depth, range: range)
  }

  mutating func count(at offset: Int) throws(PredicateError) {
    nodeCount += 1
    guard nodeCount <= PredicateLimits.nodes else {
      throw PredicateError(
        .tooComplex, at: offset, found: "one comparison or operation too many",
        expected: "at most \(PredicateLimits.nodes)", advice: "IN compares with many values at once"
      )
    }
  }

  mutating func countValue() throws(PredicateError) {
    valueCount += 1
    guard valueCount <= PredicateLimits.values else {
      throw PredicateError(
        .tooComplex, at: token.range.lowerBound, found: "one value too many",
        expected: "at most \(PredicateLimits.values) values")
    }
  }

  /// Enters a bracket or a prefix; ``leave()`` ends it.
  mutating func enter() throws(PredicateError) {
    nesting += 1
    guard nesting <= PredicateLimits.nesting else { throw tooDeep(at: token.range.lowerBound) }
  }

  mutating func leave() { nesting -= 1 }

  private func tooDeep(at offset: Int) -> PredicateError {
    PredicateError(
      .tooComplex, at: offset, found: "too many nested parts",
      expected: "at most \(PredicateLimits.depth) levels")
  }
}
