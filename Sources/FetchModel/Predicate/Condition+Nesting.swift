// How deep a condition is once it is SQL. A parser like SQLite's keeps what stands before an open
// bracket on a stack of 100 places; a condition that would not fit is refused when it is resolved,
// so that writing and preparing it cannot fail. The weights were measured on SQLite 3.40.

extension Condition {
  /// How many places the condition needs, with the deepest part of every chain written first.
  public var nesting: Int {
    switch self {
    case .constant: 1
    case .and(let conditions), .or(let conditions):
      Self.nesting(ofChain: conditions.map { $0.nesting + (isParenthesised($0) ? 1 : 0) })
    case .comparison(let comparison):
      max(1 + comparison.left.nesting, 4 + comparison.right.nesting)
    case .between(let interval): 5 + interval.value.nesting
    case .membership(let membership): 4 + membership.value.nesting
    case .exists(_, let condition, _): 10 + condition.nesting
    }
  }

  /// The first part has nothing before it, each other one what came before and the operator. Where
  /// none is deep the deepest may stand anywhere.
  private static func nesting(ofChain parts: [Int]) -> Int {
    let deepest = parts.sorted(by: >).prefix(2)
    let first = deepest.first ?? 0
    return first <= 26 ? first + 2 : max(first, (deepest.last ?? 0) + 2)
  }

  /// Whether a part of this chain stands in parentheses: OR within AND.
  private func isParenthesised(_ part: Condition) -> Bool {
    if case .and = self, case .or = part { true } else { false }
  }

  /// The conditions in the order in which they should be written: as they were unless one of them
  /// is deep.
  public static func deepestFirst(_ conditions: [Condition]) -> [Condition] {
    let nested = conditions.enumerated().map { (index: $0, condition: $1, nesting: $1.nesting) }
    guard nested.contains(where: { $0.nesting > 24 }) else { return conditions }
    return nested.sorted { ($0.nesting, $1.index) > ($1.nesting, $0.index) }.map(\.condition)
  }
}

extension ResolvedExpression {
  /// How many places the expression needs.
  public var nesting: Int {
    switch self {
    // A function may stand around it that puts the value into the form of the other side.
    case .constant: return 4
    // A step is a join, or in a query of the past a subquery.
    case .path(let path): return path.path.steps.isEmpty ? 4 : 11 + 8 * path.path.steps.count
    case .arithmetic(let operation, let left, let right):
      let (first, second) = (left.nesting, right.nesting)
      if operation.isCommutative, second > first { return max(1 + second, 3 + first) }
      // A power is a call and stands in no chain.
      if operation == .power { return max(4 + first, 6 + second) }
      if case .arithmetic(let inner, _, _) = left, inner.chain == operation.chain {
        return max(first, 5 + second)
      }
      return max(1 + first, 5 + second)
    case .function(_, let arguments):
      return arguments.enumerated().map { 3 + 2 * $0 + $1.nesting }.max() ?? 3
    case .conditional(let condition, let yes, let no):
      // Its branches may have to be put into one form.
      return max(5 + condition.nesting, 8 + max(yes.nesting, no.nesting))
    case .aggregate(let aggregation):
      return (aggregation.collection.steps.count > 1 ? 14 : 9) + aggregation.condition.nesting
    case .element(let element):
      return (element.collection.steps.count > 1 ? 15 : 10) + element.condition.nesting
    case .listAggregate(_, let expressions):
      return 13 + (expressions.map(\.nesting).max() ?? 0)
    }
  }
}

extension ArithmeticOperator {
  /// Whether the operands may be exchanged.
  public var isCommutative: Bool { self == .add || self == .multiply }

  /// Operators of the same chain follow each other without parentheses.
  public var chain: Chain {
    switch self {
    case .add, .subtract: .sum
    case .multiply, .divide: .product
    case .power: .power
    }
  }

  public enum Chain: Sendable, Hashable { case sum, product, power }
}
