// Replaces expressions in a syntax tree. Replacements are not visited again.

/// Returns the replacement of an expression; nil to visit its operands.
typealias ExpressionRewriting = (Expression) throws(PredicateError) -> Expression?

extension Predicate {
  /// The names of the variables that are given values, which those of SUBQUERY are not.
  var variables: Set<String> {
    var names: Set<String> = []
    var bound: Set<String> = []
    _ = try? rewriting { expression throws(PredicateError) in
      if case .variable(let name) = expression.kind { names.insert(name) }
      if case .subquery(_, let variable, _) = expression.kind { bound.insert(variable) }
      return nil
    }
    return names.subtracting(bound)
  }

  func rewriting(_ body: ExpressionRewriting) throws(PredicateError) -> Predicate {
    switch self {
    case .constant: return self
    case .and(let operands): return .and(try Self.rewrite(operands, body))
    case .or(let operands): return .or(try Self.rewrite(operands, body))
    case .not(let operand): return .not(try operand.rewriting(body))
    case .comparison(var comparison):
      comparison.left = try comparison.left.rewriting(body)
      comparison.right = try comparison.right.rewriting(body)
      return .comparison(comparison)
    }
  }

  private static func rewrite(
    _ operands: [Predicate], _ body: ExpressionRewriting
  ) throws(PredicateError) -> [Predicate] {
    var rewritten: [Predicate] = []
    for operand in operands { rewritten.append(try operand.rewriting(body)) }
    return rewritten
  }
}

extension Expression {
  func rewriting(_ body: ExpressionRewriting) throws(PredicateError) -> Expression {
    if let replacement = try body(self) { return replacement }
    return Expression(try rewrittenKind(body), range: range)
  }

  private func rewrittenKind(
    _ body: ExpressionRewriting
  ) throws(PredicateError) -> Expression.Kind {
    switch kind {
    case .literal, .placeholder, .variable, .object: return kind
    case .keyPath(let base, let components):
      guard let base else { return kind }
      return .keyPath(base: try base.rewriting(body), components)
    case .index(let collection, let index):
      let collection = try collection.rewriting(body)
      guard case .position(let position) = index else { return .index(collection, index) }
      return .index(collection, .position(try position.rewriting(body)))
    case .list(let elements): return .list(try Self.rewrite(elements, body))
    case .function(let name, let arguments):
      return .function(name, try Self.rewrite(arguments, body))
    case .arithmetic(let operation, let left, let right):
      return .arithmetic(operation, try left.rewriting(body), try right.rewriting(body))
    case .negation(let operand): return .negation(try operand.rewriting(body))
    case .ternary(let condition, let yes, let no):
      return .ternary(
        try condition.rewriting(body), try yes.rewriting(body), try no.rewriting(body))
    case .subquery(let collection, let variable, let condition):
      return .subquery(
        try collection.rewriting(body), variable: variable, try condition.rewriting(body))
    case .cast(let value, let type, let place):
      return .cast(try value.rewriting(body), type: type, place)
    }
  }

  private static func rewrite(
    _ expressions: [Expression], _ body: ExpressionRewriting
  ) throws(PredicateError) -> [Expression] {
    var rewritten: [Expression] = []
    for expression in expressions { rewritten.append(try expression.rewriting(body)) }
    return rewritten
  }
}
