// How deep a condition is once it is SQL. A parser like SQLite's keeps what stands before an open
// bracket on a stack of 100 places, and conditions may be deeper than that: then their deep parts
// are set apart, as statements of their own that a function runs. What is set apart is told here,
// so that writing and preparing a condition cannot fail. The weights were measured on SQLite 3.40.

/// How many places of a parser's stack conditions and values need.
public struct Nesting: Sendable, Hashable {
  /// Whether deep parts are set apart.
  public let setsApart: Bool

  /// Everything in one statement.
  public static let whole = Nesting(setsApart: false)
  /// Deep parts in statements of their own; what is left of any condition fits.
  public static let apart = Nesting(setsApart: true)

  /// What a statement has for its condition.
  private static let places = 85
  /// What may stay beside an operator, in a chain, and in a subquery.
  private static let (besideOperator, inChain, inSubquery) = (40, 40, 24)
  /// What a part needs that was set apart.
  private static let placesApart = 14

  private init(setsApart: Bool) { self.setsApart = setsApart }

  /// Whether `condition` fits into one statement.
  public static func fits(_ condition: Condition) -> Bool {
    whole.places(condition) <= places
  }

  /// Whether `value` fits into one statement.
  public static func fits(_ value: ResolvedExpression) -> Bool {
    whole.places(value) <= places
  }

  // MARK: What is set apart

  /// Whether a value is set apart where an operator or a call stands around it. Columns and
  /// subqueries are not, so that they are compared as what they are.
  public func isApart(_ value: ResolvedExpression) -> Bool {
    setsApart && value.isCalculated && places(value) > Self.besideOperator
  }

  /// Whether a condition is set apart that AND or OR stand around.
  public func isApart(inChain condition: Condition) -> Bool {
    setsApart && places(condition) > Self.inChain
  }

  /// Whether a condition is set apart that a subquery or a TERNARY stand around.
  public func isApart(inSubquery condition: Condition) -> Bool {
    setsApart && places(condition) > Self.inSubquery
  }

  private func part(_ value: ResolvedExpression) -> Int {
    let places = places(value)
    return setsApart && value.isCalculated && places > Self.besideOperator
      ? Self.placesApart : places
  }

  private func part(inChain condition: Condition) -> Int {
    let places = places(condition)
    return setsApart && places > Self.inChain ? Self.placesApart : places
  }

  private func part(inSubquery condition: Condition) -> Int {
    let places = places(condition)
    return setsApart && places > Self.inSubquery ? Self.placesApart : places
  }

  // MARK: Conditions

  /// How many places the condition needs, with the deepest part of every chain written first.
  public func places(_ condition: Condition) -> Int {
    switch condition {
    case .constant: 1
    case .and(let conditions):
      places(
        ofChain: conditions.map { part in
          self.part(inChain: part) + (part.isAlternative ? 1 : 0)
        })
    case .or(let conditions): places(ofChain: conditions.map { part(inChain: $0) })
    case .comparison(let comparison):
      once + max(1 + part(comparison.left), 4 + part(comparison.right))
    case .between(let interval): once + 5 + part(interval.value)
    case .membership(let membership): once + 4 + part(membership.value)
    case .exists(_, let condition, _): 10 + part(inSubquery: condition)
    }
  }

  /// A value that is needed more than once may be given a name first.
  private var once: Int { setsApart ? 8 : 0 }

  /// The first part has nothing before it, each other one what came before and the operator. Where
  /// none is deep the deepest may stand anywhere.
  private func places(ofChain parts: [Int]) -> Int {
    let deepest = parts.sorted(by: >).prefix(2)
    let first = deepest.first ?? 0
    return first <= 26 ? first + 2 : max(first, (deepest.last ?? 0) + 2)
  }

  /// The conditions in the order in which they should be written: as they were unless one of them
  /// is deep.
  public func deepestFirst(_ conditions: [Condition]) -> [Condition] {
    let nested = conditions.enumerated().map {
      (index: $0, condition: $1, places: part(inChain: $1))
    }
    guard nested.contains(where: { $0.places > 24 }) else { return conditions }
    return nested.sorted { ($0.places, $1.index) > ($1.places, $0.index) }.map(\.condition)
  }

  // MARK: Values

  /// How many places the value needs.
  public func places(_ value: ResolvedExpression) -> Int {
    switch value {
    // A function may stand around it that puts the value into the form of the other side.
    case .constant: return 4
    // A step is a join, or in a query of the past a subquery; many steps are one call there.
    case .path(let path):
      return path.path.steps.isEmpty ? 4 : 11 + 8 * min(2, path.path.steps.count)
    case .arithmetic(let operation, let left, let right):
      return places(operation, left, right)
    case .function(_, let arguments):
      return arguments.enumerated().map { 3 + 2 * $0 + part($1) }.max() ?? 3
    case .conditional(let condition, let yes, let no):
      // Its branches may have to be put into one form.
      return max(5 + part(inSubquery: condition), 8 + max(part(yes), part(no)))
    case .aggregate(let aggregation):
      return (aggregation.collection.steps.count > 1 ? 14 : 9)
        + part(inSubquery: aggregation.condition)
    case .element(let element):
      return (element.collection.steps.count > 1 ? 15 : 10) + part(inSubquery: element.condition)
    case .listAggregate(_, let expressions):
      return 13 + (expressions.map { part($0) }.max() ?? 0)
    }
  }

  private func places(
    _ operation: ArithmeticOperator, _ left: ResolvedExpression, _ right: ResolvedExpression
  ) -> Int {
    let (first, second) = (part(left), part(right))
    if operation.isCommutative, second > first { return max(5 + second, 3 + first) }
    // A power is a call and stands in no chain.
    if operation == .power { return max(4 + first, 6 + second) }
    if case .arithmetic(let inner, _, _) = left, inner.chain == operation.chain {
      return max(first, 5 + second)
    }
    // Decimals are calculated with in a call.
    return max(5 + first, 5 + second)
  }

  /// Whether the operands of an operation are exchanged, so that the deeper one stands first.
  public func exchanges(
    _ operation: ArithmeticOperator, _ left: ResolvedExpression, _ right: ResolvedExpression
  ) -> Bool {
    operation.isCommutative && part(right) > part(left)
  }
}

extension Condition {
  /// Whether it stands in parentheses within AND.
  fileprivate var isAlternative: Bool {
    if case .or = self { true } else { false }
  }
}

extension ResolvedExpression {
  /// Whether it is made of other values, and not read.
  public var isCalculated: Bool {
    switch self {
    case .arithmetic, .function, .conditional, .listAggregate: true
    case .constant, .path, .aggregate, .element: false
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
