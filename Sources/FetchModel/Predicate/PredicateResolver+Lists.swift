// Resolves IN and BETWEEN, whose right side is a list in braces, an array argument, a to-many key path or,
// for IN, a string.

extension PredicateResolver {
  /// Resolves `left IN right`.
  mutating func membership(
    _ side: ComparisonSide, _ comparison: ComparisonPredicate
  ) throws(PredicateError) -> Condition {
    if let keyPath = try resolveKeyPath(comparison.right), keyPath.isCollection {
      return try exists(keyPath) { (resolver, element) throws(PredicateError) in
        let left = try resolver.operand(side)
        return try resolver.compare(
          left, .equal, try resolver.operand(element), comparison.options)
      }
    }
    let left = try operand(side)
    if let elements = try list(comparison.right) {
      return try membership(of: left, in: elements, options: comparison.options)
    }
    let right = try operand(comparison.right)
    let textKinds: [Operand.Kind] = [.text, .untyped, .null]
    guard textKinds.contains(right.kind), textKinds.contains(left.kind) else {
      let isArgument = right.kind == .untyped || Self.isArgument(comparison.right)
      throw PredicateError(
        .typeMismatch, at: right.range.lowerBound,
        found: isArgument ? "one value, not several" : right.kind.phrase,
        expected: "values in braces, an array, or a to-many key path",
        advice: isArgument ? "an array is given as JSON: [1,2]" : nil)
    }
    return try compare(right, .contains, left, comparison.options)
  }

  /// True if the value was passed as an argument or variable rather than in the text.
  private static func isArgument(_ expression: Expression) -> Bool {
    switch expression.kind {
    case .placeholder, .variable: true
    default: false
    }
  }

  /// Makes one membership of the constants, and a comparison of each other element.
  private mutating func membership(
    of left: Operand, in elements: [Operand], options: StringOptions
  ) throws(PredicateError) -> Condition {
    var values: [Value] = []
    var seen: Set<Value> = []
    var includesNil = false
    var others: [Condition] = []
    var value = left.expression
    var kind = left.kind
    for element in elements {
      let (leftValue, rightValue, unifiedKind) = try unified(left, element, options)
      guard let constant = rightValue.constant, leftValue.constant == nil else {
        try countCopy(of: left.expression, at: left.range)
        others.append(try compare(left, .equal, element, options))
        continue
      }
      (value, kind) = (leftValue, unifiedKind)
      if constant == .null { includesNil = true }
      if constant != .null, seen.insert(constant).inserted { values.append(constant) }
    }
    let isText = left.kind == .text || kind == .text
    guard !values.isEmpty || includesNil else { return .any(others) }
    let membership = Membership(
      value: value, values: values, includesNil: includesNil,
      options: isText ? options.folding : [], isNegated: false)
    return .any([.membership(membership)] + others)
  }

  /// Resolves `left BETWEEN {lower, upper}`.
  mutating func interval(
    _ left: Operand, _ comparison: ComparisonPredicate
  ) throws(PredicateError) -> Condition {
    guard let bounds = try list(comparison.right), bounds.count == 2 else {
      throw PredicateError(
        .typeMismatch, at: comparison.right.range.lowerBound, found: "no pair of values",
        expected: "two values in braces: {lower, upper}")
    }
    let lower = try compare(left, .greaterOrEqual, bounds[0], comparison.options)
    let upper = try compare(left, .lessOrEqual, bounds[1], comparison.options)
    if case .comparison(let low) = lower, case .comparison(let high) = upper, low.options.isEmpty,
      low.relation == .greaterOrEqual, high.relation == .lessOrEqual, low.left == high.left,
      let lowest = low.right.constant, let highest = high.right.constant
    {
      return .between(
        Interval(value: low.left, lower: lowest, upper: highest, isNegated: false))
    }
    try countCopy(of: left.expression, at: left.range)
    return .all([lower, upper])
  }

  /// Returns the elements of a list in braces or of an array argument; nil if `expression` is neither.
  mutating func list(_ expression: Expression) throws(PredicateError) -> [Operand]? {
    let argument: PredicateArgument
    switch expression.kind {
    case .list(let elements):
      try countValues(elements.count, at: expression.range)
      var operands: [Operand] = []
      for element in elements { operands.append(try operand(element)) }
      return operands
    case .placeholder(let placeholder) where placeholder.kind == .value:
      argument = try self.argument(placeholder, at: expression.range)
    case .variable(let name) where !scopes.contains { $0.variable == name }:
      argument = try value(ofVariable: name, at: expression.range)
    default: return nil
    }
    guard let elements = argument.elements else { return nil }
    try countValues(elements.count, at: expression.range)
    return try elements.map { json throws(PredicateError) in
      try operand(json, at: expression.range)
    }
  }
}
