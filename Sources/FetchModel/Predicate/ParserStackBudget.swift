// A resolved condition or value → the number of entries of the parser's stack that its SQL needs.
//
// SQLite's parser pushes the text before an open bracket on a stack of 100 entries and refuses SQL
// that needs more. The resolver refuses deeper predicates first, so composing and preparing SQL
// cannot fail. The weights are counted from SQLite's grammar, also for the SQL of past positions,
// and tests check them against SQLite.

/// Counts the stack entries that conditions and values need. O(size of the condition).
public enum ParserStackBudget {
  /// Entries that are left for the condition of a statement.
  static let ofCondition = 87
  /// The same in a statement of dictionaries, whose rows another statement around it may count.
  static let ofGroupedQuery = 80
  /// The same for the condition of a batch, which is inside `"id" IN (SELECT …)`.
  static let ofBatch = 77

  /// Conditions that need more are written first in their chain.
  private static let ofShallowPart = 24
  /// The entries that a function around a value needs: `livefetch_value(`.
  private static let ofCall = 3

  /// - Throws: ``PredicateError/Code/tooComplex``.
  static func check(
    _ entries: Int, atMost limit: Int = ofCondition
  ) throws(PredicateError) {
    guard entries > limit else { return }
    throw PredicateError(
      .tooComplex, at: 0, found: "parts nested too deeply for SQL", expected: "fewer levels")
  }

  // MARK: Conditions

  /// The entries of the parser's stack that the SQL of a condition needs. O(parts).
  public static func entries(_ condition: Condition) -> Int {
    switch condition {
    case .constant: 1
    case .and(let parts): chain(parts.map { entries($0) + ($0.isAlternative ? 1 : 0) })
    case .or(let parts): chain(parts.map(entries))
    case .comparison(let comparison): entries(comparison)
    case .between(let interval): max(3 + entries(interval.value), 12)
    case .membership(let membership): max(3 + ofCall + entries(membership.value), 12)
    case .exists(let collection, let part, let isNegated): exists(collection, part, isNegated)
    }
  }

  private static func exists(
    _ collection: ResolvedCollection, _ part: Condition, _ isNegated: Bool
  ) -> Int {
    let own = entries(part)
    return (isNegated && own <= ofShallowPart ? 8 : 7) + source(collection, part, needs: own)
  }

  /// The entries of a chain: the first part has nothing before it, each further part has the chain
  /// so far and the operator. A chain of many parts is written in groups.
  private static func chain(_ parts: [Int]) -> Int {
    let deepest = parts.sorted(by: >).prefix(2)
    let (first, second) = (deepest.first ?? 0, deepest.last ?? 0)
    let isSorted = first > ofShallowPart
    return (isSorted ? max(first, second + 2) : first + 2) + (parts.count > 200 ? 1 : 0)
  }

  /// The conditions in the order in which they are written: as they were unless one of them is deep.
  public static func deepestFirst(_ conditions: [Condition]) -> [Condition] {
    let parts = conditions.enumerated().map { (index: $0, condition: $1, entries: entries($1)) }
    guard parts.contains(where: { $0.entries > ofShallowPart }) else { return conditions }
    return parts.sorted { ($0.entries, $1.index) > ($1.entries, $0.index) }.map(\.condition)
  }

  /// True if a condition is written before the condition that correlates a subquery's rows with the
  /// outer ones.
  public static func isDeep(_ condition: Condition) -> Bool { entries(condition) > ofShallowPart }

  /// True if a comparison writes a value only once, although a second spelling would allow an
  /// index.
  public static func isDeep(_ value: ResolvedExpression) -> Bool { entries(value) > ofShallowPart }

  private static func entries(_ comparison: Comparison) -> Int {
    let (left, right) = (entries(comparison.left), entries(comparison.right))
    let areBothRead = comparison.left.constant == nil && comparison.right.constant == nil
    let around = areBothRead || !comparison.options.isEmpty ? ofCall : 0
    switch comparison.relation {
    case .beginsWith, .endsWith, .contains, .like, .matches:
      return 1 + 2 * ofCall + max(left, 2 + right)
    case .lessOrEqual, .greaterOrEqual:
      // If both may be nil: `a <= b OR (a IS NULL AND b IS NULL)`.
      if areBothRead { return 7 + max(left, 2 + right) }
    case .equal, .less, .greater: break
    }
    let isOne = max(left, right) > ofShallowPart
    return (isOne ? 1 : 3) + around + max(left, 2 + max(right, 4))
  }

  /// The entries of the FROM and WHERE clauses: the condition and the correlation follow WHERE. At
  /// a past position a table is a subquery, and so is a to-one step before the collection.
  /// `entries` is the need of the condition: the caller counts it once, so that counting nested
  /// conditions stays linear.
  private static func source(
    _ collection: ResolvedCollection, _ condition: Condition, needs entries: Int
  ) -> Int {
    let start = path(steps: collection.toOneSteps)
    let tie = collection.isManyToMany ? max(30, 18 + start) : max(22, 10 + start)
    let own = entries + (condition.isAlternative ? 1 : 0)
    return entries > ofShallowPart ? max(own, 2 + tie) : max(tie, 2 + own)
  }

  private static func source(_ collection: ResolvedCollection, _ condition: Condition) -> Int {
    source(collection, condition, needs: entries(condition))
  }

  // MARK: Values

  /// The entries of the parser's stack that the SQL of a value needs. O(parts).
  public static func entries(_ value: ResolvedExpression) -> Int {
    switch value {
    case .constant, .parameter: return 1
    case .path(let scoped): return path(steps: scoped.path.steps.count)
    case .arithmetic(.power, let left, let right): return arguments([left, right], quantity: false)
    case .arithmetic(let operation, let left, let right):
      return arithmetic(operation, left, right)
    case .function(let function, let values): return entries(function, values)
    case .conditional(let condition, let yes, let no):
      // Its branches may have to be put into one form.
      return max(3 + entries(condition), 5 + ofCall + entries(yes), 4 + ofCall + entries(no))
    case .aggregate(let aggregation): return entries(aggregation)
    case .element(let element):
      return 6
        + max(
          source(element.collection, element.condition), path(steps: element.value.steps.count))
    case .listAggregate(let function, let values):
      return 13 + (function.flattened(values).map(entries).max() ?? 0)
    }
  }

  /// A step is a join, or in an earlier state a subquery; many steps are one call there.
  private static func path(steps: Int) -> Int { steps == 0 ? 1 : 9 + 10 * min(2, steps) }

  /// `(a + b)`, and `(a / CAST(b AS REAL))`; decimals are calculated with in one call:
  /// `livefetch_decimal('vv+', a, b)`.
  private static func arithmetic(
    _ operation: ArithmeticOperator, _ left: ResolvedExpression, _ right: ResolvedExpression
  ) -> Int {
    let isCast = operation == .divide && !right.isQuotient
    return max(
      left.isCalculation ? 1 + entries(left) : 5 + quantity(left),
      right.isCalculation && !isCast ? 3 + entries(right) : 5 + quantity(right))
  }

  private static func entries(
    _ function: ResolvedFunction, _ values: [ResolvedExpression]
  ) -> Int {
    switch function {
    case .bitwiseAnd, .bitwiseOr, .leftShift, .rightShift, .onesComplement, .modulus, .date:
      arguments(values, quantity: true)
    default: arguments(values, quantity: false)
    }
  }

  private static func arguments(_ values: [ResolvedExpression], quantity isQuantity: Bool) -> Int {
    values.enumerated().map { index, value in
      let isInfix = isQuantity && !value.isNumeric
      return ofCall + (index > 0 ? 2 : 0) + entries(value) + (isInfix ? 1 : 0)
    }.max() ?? ofCall
  }

  /// The entries of an arithmetic operand: a value that may not be a number is wrapped in a call.
  private static func quantity(_ value: ResolvedExpression) -> Int {
    entries(value) + (value.isNumeric ? 0 : ofCall)
  }

  private static func entries(_ aggregation: Aggregation) -> Int {
    let value = 1 + path(steps: aggregation.value.steps.count)
    let source = max(source(aggregation.collection, aggregation.condition), value)
    switch aggregation.function {
    case .count, .min, .max: return 6 + source
    // Objects that are reached twice count once: a SELECT DISTINCT surrounds them.
    case .sum, .average: return (aggregation.collection.toManySteps > 1 ? 12 : 6) + source
    }
  }
}

extension Condition {
  /// True if it needs parentheses within AND.
  fileprivate var isAlternative: Bool {
    if case .or = self { true } else { false }
  }
}

extension ResolvedExpression {
  /// True if its SQL continues one calculation.
  fileprivate var isCalculation: Bool {
    if case .arithmetic(let operation, _, _) = self { operation != .power } else { false }
  }

  fileprivate var isQuotient: Bool {
    if case .arithmetic(.divide, _, _) = self { true } else { false }
  }

  /// True if its SQL gives a number or NULL, whatever the columns hold.
  fileprivate var isNumeric: Bool {
    switch self {
    case .constant, .parameter, .arithmetic: true
    case .function(let function, _): function.isNumeric
    case .conditional(_, let yes, let no): yes.isNumeric && no.isNumeric
    case .aggregate(let aggregation):
      aggregation.function != .min && aggregation.function != .max
    case .path, .element, .listAggregate: false
    }
  }
}

extension AggregateFunction {
  /// `values`, with the values of lists of the same function in the place of these lists:
  /// `max({a, max({b, c})})` is `max({a, b, c})`.
  public func flattened(_ values: [ResolvedExpression]) -> [ResolvedExpression] {
    guard self == .min || self == .max else { return values }
    return values.flatMap { value -> [ResolvedExpression] in
      guard case .listAggregate(self, let inner) = value else { return [value] }
      return flattened(inner)
    }
  }
}

extension ResolvedFunction {
  /// True if it gives a number or nil.
  public var isNumeric: Bool {
    switch self {
    case .sqrt, .log, .ln, .exp, .floor, .ceiling, .abs, .trunc, .modulus, .length, .bitwiseAnd,
      .bitwiseOr, .bitwiseXor, .leftShift, .rightShift, .onesComplement:
      true
    case .uppercase, .lowercase, .canonical, .date, .secondsSinceReference, .text, .number,
      .dateText, .initial, .day, .month, .year:
      false
    }
  }
}

extension ArithmeticOperator {
  /// Operators of the same chain follow each other without parentheses.
  public var chain: Chain {
    switch self {
    case .add, .subtract: .sum
    case .multiply, .divide: .product
    case .power: .power
    }
  }

  /// The groups of arithmetic operators with equal precedence.
  public enum Chain: Sendable, Hashable { case sum, product, power }
}

extension Model {
  /// True if the objects of both sides may be related to many; also if it is unknown because there
  /// is no inverse.
  func isManyToMany(_ relationship: Relationship) -> Bool {
    guard relationship.isToMany else { return false }
    guard let inverse = relationship.inverse else { return true }
    return entities[relationship.destination].relationships[inverse].isToMany
  }
}
