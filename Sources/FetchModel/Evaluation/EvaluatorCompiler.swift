// Compiles a condition into a tree of tests, with the same conversions between operands and date
// formats as the SQL of a store.

struct EvaluatorCompiler<Columns: ColumnTraits> {
  typealias Test = PredicateEvaluator.Test
  typealias Term = PredicateEvaluator.Term

  let model: Model
  let columns: Columns
  var paths: [ScopedPath] = []
  var collections: [ResolvedCollection] = []
  /// True if every part so far is supported.
  var isComplete = true
  private var slots: [ScopedPath: Int] = [:]

  init(model: Model, columns: Columns) {
    self.model = model
    self.columns = columns
  }

  mutating func test(_ condition: Condition) -> Test {
    switch condition {
    case .constant(let value): .constant(value)
    case .and(let conditions): chain(conditions, isAll: true)
    case .or(let conditions): chain(conditions, isAll: false)
    case .comparison(let comparison): test(comparison)
    case .between(let interval): test(interval)
    case .membership(let membership): test(membership)
    case .exists(let collection, let condition, let isNegated):
      .exists(
        collection: index(of: collection), scope: collection.scope, test(condition),
        isNegated: isNegated)
    }
  }

  private mutating func chain(_ conditions: [Condition], isAll: Bool) -> Test {
    let parts = conditions.map { test($0) }
    if parts.allSatisfy(\.isUnknown) { return .unknown }
    return isAll ? .all(parts) : .any(parts)
  }

  /// Records an unsupported part.
  mutating func unsupported() -> Test {
    isComplete = false
    return .unknown
  }

  mutating func unsupported() -> Term {
    isComplete = false
    return .unknown
  }

  mutating func slot(of path: ScopedPath) -> Int {
    if let known = slots[path] { return known }
    paths.append(path)
    slots[path] = paths.count - 1
    return paths.count - 1
  }

  mutating func index(of collection: ResolvedCollection) -> Int {
    if let known = collections.firstIndex(of: collection) { return known }
    collections.append(collection)
    return collections.count - 1
  }
}

// MARK: - Comparisons

extension EvaluatorCompiler {
  private mutating func test(_ comparison: Comparison) -> Test {
    switch comparison.relation {
    case .equal, .less, .lessOrEqual, .greater, .greaterOrEqual: compare(comparison)
    case .beginsWith, .endsWith, .contains, .like, .matches: search(comparison)
    }
  }

  private mutating func compare(_ comparison: Comparison) -> Test {
    // The store compares two constants of other types: dates, binary and ids.
    if let left = comparison.left.constant, let right = comparison.right.constant,
      !left.isComparedAlike(to: right)
    {
      return unsupported()
    }
    let (left, right) = operands(comparison)
    if left.term.isUnknown || right.term.isUnknown { return unsupported() }
    let affinity = Affinity.ofComparison(left.affinity, right.affinity)
    guard let leftTerm = left.term.converted(by: affinity),
      let rightTerm = right.term.converted(by: affinity)
    else { return unsupported() }
    return .comparison(
      leftTerm, comparison.relation, rightTerm, affinity, isNegated: comparison.isNegated)
  }

  /// Both operands, folded according to the options, with dates in one format.
  private mutating func operands(
    _ comparison: Comparison
  ) -> (EvaluatedOperand, EvaluatedOperand) {
    var left = operand(comparison.left)
    var right = operand(comparison.right, dateFormat: left.dateFormat)
    if let leftFormat = left.dateFormat, let rightFormat = right.dateFormat,
      leftFormat != rightFormat
    {
      (left, right) = (left.inSeconds, right.inSeconds)
    }
    if comparison.options.isEmpty { return EvaluatedOperand.aligned(left, right) }
    return (left.text.folded(comparison.options), right.text.folded(comparison.options))
  }

  private mutating func test(_ interval: Interval) -> Test {
    let value = operand(interval.value)
    if value.term.isUnknown { return unsupported() }
    let affinity = Affinity.ofComparison(value.affinity, nil)
    guard
      let lower = constant(interval.lower, comparedWith: value).converted(by: affinity),
      let upper = constant(interval.upper, comparedWith: value).converted(by: affinity)
    else { return unsupported() }
    return .interval(value.term, lower, upper, affinity, isNegated: interval.isNegated)
  }

  /// A constant in the representation of `operand`.
  private func constant(_ value: Value, comparedWith operand: EvaluatedOperand) -> StoredValue {
    let stored = StoredValue(value, operand.dateFormat)
    guard let encoding = operand.encoding, encoding.hasSeveralRepresentations else { return stored }
    return stored.comparisonKey(encoding)
  }

  private mutating func test(_ membership: Membership) -> Test {
    let original = operand(membership.value)
    if original.term.isUnknown { return unsupported() }
    let value =
      membership.options.isEmpty ? original : original.text.folded(membership.options)
    let affinity = Affinity.ofComparison(value.affinity, nil)
    var elements: Set<StoredValue> = []
    for element in membership.values {
      let stored =
        membership.options.isEmpty
        ? constant(element, comparedWith: original)
        : StoredValue(element, nil).folded(membership.options)
      guard let converted = stored.converted(by: affinity) else { return unsupported() }
      elements.insert(converted)
    }
    return .membership(
      value.term, elements, includesNil: membership.includesNil, affinity,
      isNegated: membership.isNegated)
  }

  /// BEGINSWITH of a literal text is a range comparison, which converts numbers in numeric columns;
  /// other searches examine text only.
  private mutating func search(_ comparison: Comparison) -> Test {
    let text = operand(comparison.left).text
    if text.term.isUnknown { return unsupported() }
    let isNegated = comparison.isNegated
    guard case .string(let searched)? = comparison.right.constant else {
      let pattern = operand(comparison.right).text
      return .dynamicSearch(
        text.term, comparison.relation, pattern.term, comparison.options, isNegated: isNegated)
    }
    if comparison.relation == .beginsWith, text.affinity?.isNumeric == true {
      return unsupported()
    }
    let search = TextSearch(searched, comparison.relation, comparison.options)
    return .search(text.term, search, isNegated: isNegated)
  }
}

extension Value {
  /// True if every store compares the two as the evaluator does, except that PostgreSQL compares an
  /// integer beyond 2^53 with a double as doubles.
  fileprivate func isComparedAlike(to other: Value) -> Bool {
    switch (self, other) {
    case (.null, _), (_, .null), (.boolean, .boolean), (.string, .string), (.integer, .integer),
      (.integer, .double), (.double, .integer), (.double, .double):
      true
    default: false
    }
  }
}
