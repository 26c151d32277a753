// Random syntax trees: every kind of node, hard names, hard literals.

import FetchModel
import TestSupport

/// Generates trees in the normal form that the parser produces. A seed repeats them.
struct PredicateGenerator: SeededCaseGenerator {
  var random: SeededRandom
  private var ordinal = 0
  /// Trees without calls and key paths in parentheses: each parenthesis in the text is a group.
  var groupsOnly = false

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func predicate(depth: Int) -> Predicate {
    ordinal = 0
    return part(depth)
  }

  private mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  private mutating func part(_ depth: Int) -> Predicate {
    switch depth <= 0 ? 5 : pick(9) {
    case 0, 1: chain(depth, isAnd: true)
    case 2, 3: chain(depth, isAnd: false)
    case 4: .not(part(depth - 1))
    case 5 where pick(6) == 0: .constant(pick(2) == 0)
    default: comparison(depth - 1)
    }
  }

  private mutating func chain(_ depth: Int, isAnd: Bool) -> Predicate {
    var operands: [Predicate] = []
    for _ in 0..<(2 + pick(2)) {
      let operand = part(depth - 1)
      switch (operand, isAnd) {
      case (.and(let inner), true), (.or(let inner), false): operands += inner
      default: operands.append(operand)
      }
    }
    return isAnd ? .and(operands) : .or(operands)
  }

  private mutating func comparison(_ depth: Int) -> Predicate {
    let quantifier: ComparisonPredicate.Quantifier? = pick([nil, nil, nil, .any, .all, .no])
    let left = expression(depth)
    let options: StringOptions =
      pick(3) > 0 ? [] : StringOptions(rawValue: UInt8(pick(8)))
    return .comparison(
      ComparisonPredicate(
        quantifier: quantifier, left: left,
        operation: pick(ComparisonPredicate.Operator.allCases), options: options,
        right: expression(depth)))
  }

  private mutating func expression(_ depth: Int) -> Expression {
    if depth <= 0 || pick(3) == 0 { return leaf() }
    return Expression(groupsOnly ? calculation(depth) : compound(depth))
  }

  private mutating func calculation(_ depth: Int) -> Expression.Kind {
    if pick(4) == 0 { return .negation(expression(depth - 1)) }
    let left = expression(depth - 1)
    return .arithmetic(pick(ArithmeticOperator.allCases), left, expression(depth - 1))
  }

  private mutating func compound(_ depth: Int) -> Expression.Kind {
    switch pick(9) {
    case 0:
      let collection = expression(depth - 1)
      let position: CollectionIndex =
        pick(2) == 0 ? pick([.first, .last, .size]) : .position(expression(depth - 1))
      return .index(collection, position)
    case 1: return .list(list(depth, pick(4)))
    case 2: return .function(pick(Self.functions), list(depth, pick(3)))
    case 3:
      let condition = part(depth - 1)
      let yes = expression(depth - 1)
      return .ternary(condition, yes, expression(depth - 1))
    case 4:
      let collection = expression(depth - 1)
      return .subquery(collection, variable: pick(["x", "y1", "any"]), part(depth - 1))
    case 5: return .cast(expression(depth - 1), type: pick(["NSDate", "NSString", "a\"b"]))
    case 6:
      let base = expression(depth - 1)
      return .keyPath(base: base, components(1 + pick(2), isFirst: false))
    default: return calculation(depth)
    }
  }

  private mutating func list(_ depth: Int, _ count: Int) -> [Expression] {
    (0..<count).map { _ in expression(depth - 1) }
  }

  // MARK: Leaves

  private mutating func leaf() -> Expression {
    switch pick(groupsOnly ? 6 : 8) {
    case 0, 1, 2: Expression(.keyPath(base: nil, components(1 + pick(3), isFirst: true)))
    case 3, 4, 5: Expression(.literal(literal()))
    case 6: pick(2) == 0 ? Expression(.object) : Expression(.variable(pick(["x", "not", "Ärger"])))
    default: Expression(.placeholder(placeholder(pick([.value, .integer, .double, .string]))))
    }
  }

  private mutating func placeholder(_ kind: Placeholder.Kind) -> Placeholder {
    defer { ordinal += 1 }
    return Placeholder(kind, ordinal: ordinal)
  }

  private mutating func components(_ count: Int, isFirst: Bool) -> [KeyPathComponent] {
    (0..<count).map { _ in
      switch pick(10) {
      case 0: KeyPathComponent(.collectionOperator(pick(["count", "sum", "avg", "in"])))
      case 1 where !groupsOnly: KeyPathComponent(.placeholder(placeholder(.keyPath)))
      default: KeyPathComponent(.name(pick(Self.names)))
      }
    }
  }

  private mutating func literal() -> Literal {
    switch pick(5) {
    case 0: .null
    case 1: .boolean(pick(2) == 0)
    case 2: .integer(pick([0, 1, -1, 42, .max, .min, -(1 << 53) - 1, Int64(pick(100_000))]))
    case 3: .double(double())
    default: .string(string())
    }
  }

  private mutating func double() -> Double {
    let hard = [
      0, -0.0, 0.1, -1.5, 5e-324, 1.7976931348623157e308, 0x1p63, -0x1p63, .infinity, -.infinity,
      100_000, 1e16, 1e-7, 9_007_199_254_740_993,
    ]
    if pick(2) == 0 { return pick(hard) }
    let any = Double(bitPattern: random.next())
    return any.isNaN ? 1 : any
  }

  private mutating func string() -> String {
    let pieces =
      groupsOnly
      ? ["a", "\"", "\\", "'", "é"]
      : [
        "", "a", "\"", "'", "\\", "\\n", "\n", "\r", "\t", "\u{0}", "\u{7F}", "\u{E9}", "e\u{301}",
        "👩‍👩‍👧", "\u{FFFF}", "%@", "$x", "#", "(", ")", "\u{2028}", "\u{FEFF}", "\\u0041",
      ]
    return (0..<pick(4)).map { _ in pick(pieces) }.joined()
  }

  private static let names = [
    "a", "name", "population", "in", "NOT", "any", "SELF", "nil", "yes", "size", "first", "cast",
    "contains", "_x1", "Größe", "truepredicate", "日本", "a1", "TERNARY", "self",
  ]

  private static let functions = [
    "sum", "add:to:", "length", "from:subtract:", "first", "in", "now", "not a name", "a::b",
    "FUNCTION", "bitwiseAnd:with:", "any:of:", "1a", "",
  ]
}
