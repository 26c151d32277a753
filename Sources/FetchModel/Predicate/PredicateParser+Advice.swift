// What may have been meant where an operator should stand: a misspelt one, or one of another
// language.

extension PredicateParser {
  /// A syntax error at the token that stands here, in the place of an operator.
  func operatorFailure(_ expected: String) -> PredicateError {
    let failure = failure(expected)
    return PredicateError(
      failure.code, at: failure.offset, found: failure.found, expected: expected,
      hint: operatorAdvice, nearest: nearestOperator)
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
    case .word(_, .not): "NOT stands before the whole comparison: `NOT name IN {…}`"
    case .symbol(.not): "`!` stands before the whole comparison; not equal is `!=`"
    case .symbol(.openBracket): "an option like `[c]` stands behind its operator"
    default: nil
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
