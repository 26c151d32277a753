// Translates Foundation's predicate expressions to the predicate language's syntax tree. Each
// supported expression type implements its translation; any other type is refused by name.

import FetchModel
import Foundation

/// A predicate expression that can be translated.
protocol PredicateTranslatable {
  typealias Failure = PredicateTranslationError

  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm
}

/// The translation of a part of a predicate.
indirect enum PredicateTerm {
  case condition(FetchModel.Predicate)
  /// One value of an object, possibly nil.
  case value(FetchModel.Expression)
  /// The objects at the end of a to-many path, or a SUBQUERY of them.
  case collection(FetchModel.Expression)
  /// A Swift value that is the same for every object.
  case constant(Any)
  /// A condition on an optional value: nil unless `present` holds.
  case optional(present: FetchModel.Predicate, FetchModel.Predicate)
  case range(lower: FetchModel.Expression, upper: FetchModel.Expression, isClosed: Bool)
  /// The case-insensitive order of two texts.
  case ordering(FetchModel.Expression, FetchModel.Expression)
}

struct PredicateTranslator {
  typealias Tree = FetchModel.Predicate
  typealias Expression = FetchModel.Expression

  private var bindings: [PredicateExpressions.VariableID: PredicateTerm] = [:]
  private var variables = 0
  /// The conditions under which the operands so far of a condition exist, because it unwraps them by `!`.
  private var required: [Tree] = []
  /// True within a part that may be negated: then what it unwraps is required outside of that part.
  private var isNegatable = false

  mutating func bind(_ variable: PredicateExpressions.VariableID, to term: PredicateTerm) {
    bindings[variable] = term
  }

  func term(
    of variable: PredicateExpressions.VariableID
  ) throws(PredicateTranslationError) -> PredicateTerm {
    guard let term = bindings[variable] else {
      throw .unsupported(operation: "a variable", reason: "it is not the predicate's own")
    }
    return term
  }

  /// A new variable name for the elements of a SUBQUERY.
  mutating func freshVariable() -> String {
    variables += 1
    return "x\(variables)"
  }

  // MARK: - Parts

  mutating func term(_ expression: Any) throws(PredicateTranslationError) -> PredicateTerm {
    guard let expression = expression as? any PredicateTranslatable else {
      let name = String(describing: type(of: expression)).prefix { $0 != "<" }
      throw .unsupported(operation: String(name), reason: "the language has no such operation")
    }
    return try expression.translated(by: &self)
  }

  mutating func condition(_ expression: Any) throws(PredicateTranslationError) -> Tree {
    if isNegatable { return try condition(of: try term(expression)) }
    let outer = required
    required = []
    defer { required = outer }
    let condition = try condition(of: try term(expression))
    return Self.all(required + [condition])
  }

  /// The condition that is being translated does not hold where `value` is nil.
  mutating func require(_ value: Expression) { require(Self.isPresent(value)) }

  /// The condition that is being translated does not hold unless `condition` holds.
  mutating func require(_ condition: Tree) { required.append(condition) }

  /// Translates a part that is evaluated only where `test` holds: only there must what it unwraps
  /// exist.
  mutating func term(
    _ expression: Any, where test: Tree
  ) throws(PredicateTranslationError) -> PredicateTerm {
    let outer = required
    required = []
    let term = try term(expression)
    required = outer + required.map { Self.any([Self.not(test), $0]) }
    return term
  }

  /// Translates an operand that is evaluated only where `test` holds.
  mutating func condition(
    _ expression: Any, where test: Tree
  ) throws(PredicateTranslationError) -> Tree {
    guard isNegatable else { return try condition(expression) }
    return try condition(of: try term(expression, where: test))
  }

  /// Translates a part that may be negated. What it unwraps has to exist where it is false, too.
  mutating func negatable(_ expression: Any) throws(PredicateTranslationError) -> PredicateTerm {
    let outer = isNegatable
    isNegatable = true
    defer { isNegatable = outer }
    return try term(expression)
  }

  /// Translates a condition on the elements of a collection. What it unwraps concerns the elements.
  mutating func elementCondition(_ expression: Any) throws(PredicateTranslationError) -> Tree {
    let outer = isNegatable
    isNegatable = false
    defer { isNegatable = outer }
    return try condition(expression)
  }

  mutating func value(_ expression: Any) throws(PredicateTranslationError) -> Expression {
    // A condition as a value may be compared with false.
    try value(of: try negatable(expression))
  }

  func condition(of term: PredicateTerm) throws(PredicateTranslationError) -> Tree {
    switch term {
    case .condition(let condition): return condition
    case .value(let value):
      return Self.comparison(value, .equal, Expression(.literal(.boolean(true))))
    case .constant(let constant):
      guard let isTrue = constant as? Bool else { throw Self.refused(constant) }
      return .constant(isTrue)
    case .optional(let present, let condition): return Self.all([present, condition])
    case .collection, .range, .ordering: throw Self.notAValue
    }
  }

  func value(of term: PredicateTerm) throws(PredicateTranslationError) -> Expression {
    switch term {
    case .value(let value): return value
    case .constant(let constant): return try Self.literal(of: constant)
    case .condition(let condition): return Self.ternary(condition, true, false)
    case .optional(let present, let condition):
      let value = Self.ternary(condition, true, false)
      return Expression(.ternary(present, value, Expression(.literal(.null))))
    case .collection, .range, .ordering: throw Self.notAValue
    }
  }

  private static let notAValue = PredicateTranslationError.unsupported(
    operation: "a collection or range as a value", reason: "ask for its count or what it contains")

  // MARK: - Trees

  static func comparison(
    _ left: Expression, _ operation: ComparisonPredicate.Operator, _ right: Expression,
    _ options: StringOptions = []
  ) -> Tree {
    .comparison(
      ComparisonPredicate(left: left, operation: operation, options: options, right: right))
  }

  static func isPresent(_ value: Expression) -> Tree {
    comparison(value, .notEqual, Expression(.literal(.null)))
  }

  /// AND, flattened, without constant operands.
  static func all(_ operands: [Tree]) -> Tree {
    let parts = operands.flatMap { (operand: Tree) -> [Tree] in
      if case .and(let inner) = operand { inner } else { [operand] }
    }
    let flat = parts.filter { !isConstant($0, true) }
    if flat.contains(where: { isConstant($0, false) }) { return .constant(false) }
    return flat.count > 1 ? .and(flat) : flat.first ?? .constant(true)
  }

  /// OR, flattened, without constant operands.
  static func any(_ operands: [Tree]) -> Tree {
    let parts = operands.flatMap { (operand: Tree) -> [Tree] in
      if case .or(let inner) = operand { inner } else { [operand] }
    }
    let flat = parts.filter { !isConstant($0, false) }
    if flat.contains(where: { isConstant($0, true) }) { return .constant(true) }
    return flat.count > 1 ? .or(flat) : flat.first ?? .constant(false)
  }

  private static func isConstant(_ tree: Tree, _ isTrue: Bool) -> Bool {
    if case .constant(isTrue) = tree { true } else { false }
  }

  static func not(_ operand: Tree) -> Tree {
    switch operand {
    case .constant(let isTrue): .constant(!isTrue)
    case .not(let inner): inner
    default: .not(operand)
    }
  }

  /// `yes` if `test` holds, otherwise `no`.
  static func either(_ test: Tree, _ yes: Tree, _ no: Tree) -> Tree {
    any([all([test, yes]), all([not(test), no])])
  }

  private static func ternary(_ test: Tree, _ yes: Bool, _ no: Bool) -> Expression {
    Expression(
      .ternary(test, Expression(.literal(.boolean(yes))), Expression(.literal(.boolean(no)))))
  }

  static func count(_ collection: Expression) -> Expression {
    Self.path(collection, appending: KeyPathComponent(.collectionOperator("count")))
  }

  static func path(_ base: Expression, appending component: KeyPathComponent) -> Expression {
    switch base.kind {
    case .object: Expression(.keyPath(base: nil, [component]))
    case .keyPath(let inner, let components):
      Expression(.keyPath(base: inner, components + [component]))
    default: Expression(.keyPath(base: base, [component]))
    }
  }
}
