// Suggestions for a missing operator: misspelt ones and those of other languages.

extension PredicateParser {
  /// A syntax error at the current token, where an operator is expected.
  func operatorFailure(_ expected: String) -> PredicateError {
    let failure = failure(expected)
    return PredicateError(
      failure.code, at: failure.offset, found: failure.found, expected: expected,
      advice: operatorAdvice, nearest: nearestOperator)
  }

  /// The error for a single name that resembles TRUEPREDICATE or FALSEPREDICATE.
  func misspeltTruePredicate(_ node: Node) -> PredicateError? {
    guard case .expression(let expression) = node.content,
      case .keyPath(nil, let components) = expression.kind, components.count == 1,
      case .name(let name) = components[0].kind,
      let nearest = nearestName(to: name, among: ["TRUEPREDICATE", "FALSEPREDICATE"])
    else { return nil }
    return PredicateError(
      .syntaxError, at: expression.range.lowerBound, found: "`\(name)`", expected: "a comparison",
      nearest: nearest)
  }

  private var nearestOperator: String? {
    switch token.kind {
    case .word(let word, nil):
      Self.foreign[word.lowercased()] ?? nearestName(to: word, among: Self.operators)
    default: nil
    }
  }

  private var operatorAdvice: String? {
    switch token.kind {
    case .word(_, .not): "NOT precedes the whole comparison: `NOT name IN {…}`"
    case .symbol(.not): "`!` precedes the whole comparison; not equal is `!=`"
    case .symbol(.comma): "a list is written in braces: `{1, 2}`"
    case .symbol(.openBracket): "an option like `[c]` follows its operator"
    default: nil
    }
  }

  /// Refuses `BETWEEN 1 AND 5`, which would parse as two comparisons.
  func refuseBetweenAnd(_ right: Node) throws(PredicateError) {
    guard case .expression(let expression) = right.content, case .literal = expression.kind,
      infix?.precedence == .and, isValueAhead
    else { return }
    throw PredicateError(
      .syntaxError, at: right.range.lowerBound, found: "`\(text(right.range))`",
      expected: "two values in braces: {lower, upper}")
  }

  /// True if a number or a string follows that is not an operand of a comparison.
  private var isValueAhead: Bool {
    var ahead = self
    guard (try? ahead.advance()) != nil else { return false }
    switch ahead.token.kind {
    case .integer, .double, .string: break
    default: return false
    }
    guard (try? ahead.advance()) != nil else { return false }
    switch ahead.token.kind {
    case .end, .symbol(.closeParenthesis), .symbol(.and), .symbol(.or), .word(_, .and),
      .word(_, .or):
      return true
    default: return false
    }
  }

  private static let operators = [
    "AND", "OR", "BETWEEN", "IN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "MATCHES",
  ]

  /// Operators of other languages.
  private static let foreign = [
    "is": "==", "eq": "==", "equals": "==", "ne": "!=", "lt": "<", "le": "<=", "lte": "<=",
    "gt": ">", "ge": ">=", "gte": ">=", "startswith": "BEGINSWITH", "starts": "BEGINSWITH",
    "hasprefix": "BEGINSWITH", "hassuffix": "ENDSWITH", "ends": "ENDSWITH",
    "includes": "CONTAINS", "has": "CONTAINS", "ilike": "LIKE[c]", "regexp": "MATCHES",
    "rlike": "MATCHES", "regex": "MATCHES",
  ]
}
