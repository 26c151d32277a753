// Parses a single expression, such as a column of dictionaries.

extension Expression {
  /// Parses `text`. Throws on a syntax error or an exceeded limit.
  public init(parsing text: String) throws(PredicateError) {
    var parser = try PredicateParser(text)
    self = try parser.parseWholeExpression()
  }
}

extension PredicateParser {
  fileprivate mutating func parseWholeExpression() throws(PredicateError) -> Expression {
    let node = try parse(.additive)
    guard case .end = token.kind else { throw failure("an operator like `+`, or the end") }
    guard case .expression(let expression) = node.content else {
      throw PredicateError(
        .syntaxError, at: node.range.lowerBound, found: "a condition", expected: "a value",
        advice: "TERNARY(condition, a, b) makes a value of it")
    }
    return expression
  }
}
