// Parses binary operators.
extension PredicateParser {
  enum Precedence: Int, Comparable {
    case or, and, comparison, additive, multiplicative, power, operand

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    /// The minimum precedence of a left-associative operator's right operand.
    var next: Precedence { Precedence(rawValue: rawValue + 1) ?? .operand }
  }

  enum Infix {
    case or, and
    case comparison(ComparisonPredicate.Operator)
    case arithmetic(ArithmeticOperator, Precedence)

    var precedence: Precedence {
      switch self {
      case .or: .or
      case .and: .and
      case .comparison: .comparison
      case .arithmetic(_, let precedence): precedence
      }
    }
  }

  /// Parses an operand and all following operators that bind at least as tightly as `minimum`.
  mutating func parse(_ minimum: Precedence) throws(PredicateError) -> Node {
    var left = try parsePrefix()
    while let infix, infix.precedence >= minimum {
      switch infix {
      case .or: left = try parseChain(left, .or)
      case .and: left = try parseChain(left, .and)
      case .comparison(let operation): left = try parseComparison(left, operation, nil)
      case .arithmetic(let operation, let precedence):
        left = try parseArithmetic(left, operation, precedence)
      }
    }
    return left
  }

  var infix: Infix? {
    switch token.kind {
    case .symbol(let symbol): Self.infix(symbol)
    case .word(_, let keyword?): Self.infix(keyword)
    default: nil
    }
  }

  /// The comparison operator at the current token; nil if there is none.
  var comparisonOperator: ComparisonPredicate.Operator? {
    if case .comparison(let operation) = infix { operation } else { nil }
  }

  private static func infix(_ symbol: PredicateSymbol) -> Infix? {
    switch symbol {
    case .and: .and
    case .or: .or
    case .equal: .comparison(.equal)
    case .notEqual: .comparison(.notEqual)
    case .less: .comparison(.less)
    case .lessOrEqual: .comparison(.lessOrEqual)
    case .greater: .comparison(.greater)
    case .greaterOrEqual: .comparison(.greaterOrEqual)
    case .plus: .arithmetic(.add, .additive)
    case .minus: .arithmetic(.subtract, .additive)
    case .times: .arithmetic(.multiply, .multiplicative)
    case .divide: .arithmetic(.divide, .multiplicative)
    case .power: .arithmetic(.power, .power)
    default: nil
    }
  }

  private static func infix(_ keyword: PredicateKeyword) -> Infix? {
    switch keyword {
    case .and: .and
    case .or: .or
    case .between: .comparison(.between)
    case .in: .comparison(.in)
    case .beginswith: .comparison(.beginsWith)
    case .endswith: .comparison(.endsWith)
    case .contains: .comparison(.contains)
    case .like: .comparison(.like)
    case .matches: .comparison(.matches)
    default: nil
    }
  }

  /// Parses the rest of an AND or OR chain in a loop, so that its length does not use stack.
  private mutating func parseChain(
    _ first: Node, _ kind: Precedence
  ) throws(PredicateError) -> Node {
    var operands: [Predicate] = []
    var depth = Depth.leaf(at: first.range.lowerBound)
    var last = first
    try append(first, to: &operands, &depth, kind)
    while let infix, infix.precedence == kind {
      try advance()
      last = try parse(kind.next)
      try append(last, to: &operands, &depth, kind)
    }
    return try node(
      .predicate(kind == .and ? .and(operands) : .or(operands)), above: depth,
      first.range.lowerBound..<last.range.upperBound)
  }

  /// Appends an operand; the operands of a chain of the same kind are appended one by one.
  private func append(
    _ node: Node, to operands: inout [Predicate], _ depth: inout Depth, _ kind: Precedence
  ) throws(PredicateError) {
    let predicate = try predicate(node)
    switch (predicate, kind) {
    case (.and(let inner), .and), (.or(let inner), .or):
      operands += inner
      depth = max(depth, Depth(levels: node.depth.levels - 1, offset: node.depth.offset))
    default:
      operands.append(predicate)
      depth = max(depth, node.depth)
    }
  }

  private mutating func parseArithmetic(
    _ left: Node, _ operation: ArithmeticOperator, _ precedence: Precedence
  ) throws(PredicateError) -> Node {
    let leftExpression = try expression(left)
    try advance()
    let right = try parse(precedence.next)
    let range = left.range.lowerBound..<right.range.upperBound
    let kind = Expression.Kind.arithmetic(operation, leftExpression, try expression(right))
    return try counted(kind, above: max(left.depth, right.depth), range)
  }

  mutating func parseComparison(
    _ left: Node, _ operation: ComparisonPredicate.Operator,
    _ quantifier: ComparisonPredicate.Quantifier?
  ) throws(PredicateError) -> Node {
    guard case .expression(let leftExpression) = left.content else {
      throw failure("AND, OR or the end", advice: "a comparison cannot be compared")
    }
    let range = token.range
    try advance()
    let options = try parseOptions()
    let right = try parse(.additive)
    if operation == .between { try refuseBetweenAnd(right) }
    try count(at: range.lowerBound)
    let comparison = ComparisonPredicate(
      quantifier: quantifier, left: leftExpression, operation: operation, options: options,
      right: try expression(right), range: SourceRange(range))
    return Node(
      content: .predicate(.comparison(comparison)), depth: max(left.depth, right.depth),
      range: left.range.lowerBound..<right.range.upperBound)
  }

  /// Parses `[cd]` if present.
  private mutating func parseOptions() throws(PredicateError) -> StringOptions {
    guard case .symbol(.openBracket) = token.kind else { return [] }
    try advance()
    guard case .word(let letters, _) = token.kind else { throw failure("`c`, `d`, `cd` or `n`") }
    var options: StringOptions = []
    for letter in letters.utf8 {
      switch letter | 0x20 {
      case UInt8(ascii: "c"): options.insert(.caseInsensitive)
      case UInt8(ascii: "d"): options.insert(.diacriticInsensitive)
      case UInt8(ascii: "n"): options.insert(.normalized)
      default: throw failure("`c`, `d`, `cd` or `n`")
      }
    }
    try advance()
    try expect(.closeBracket)
    return options
  }
}
