// Expressions → operands of one value.

/// The left side of a comparison before it is resolved. The right side may open the scope of a
/// collection's elements; the left side is then resolved within that scope.
enum ComparisonSide {
  case expression(Expression)
  case keyPath(ResolvedKeyPath)
}

extension PredicateResolver {
  mutating func operand(_ expression: Expression) throws(PredicateError) -> Operand {
    if let operand = try element(expression) { return operand }
    if let keyPath = try resolveKeyPath(expression) { return try operand(keyPath) }
    let range = expression.range
    switch expression.kind {
    case .literal(.double(let value)) where value.isNaN: throw notANumber(at: range)
    case .literal(let literal): return Operand(literal, at: range)
    case .placeholder(let placeholder): return try operand(placeholder, at: range)
    case .variable(let name): return try operand(try value(ofVariable: name, at: range), at: range)
    case .arithmetic(let operation, let left, let right):
      return try arithmetic(operation, try operand(left), try operand(right), at: range)
    case .negation(let operand):
      let zero = Operand(Literal.integer(0), at: range)
      var value = try self.operand(operand)
      if case .parameter(let parameter) = value.expression {
        value.expression = .parameter(parameter.negated)
        return value
      }
      return try arithmetic(.subtract, zero, value, at: range)
    case .ternary(let condition, let yes, let no):
      return try conditional(try resolve(condition), try operand(yes), try operand(no), at: range)
    case .cast(let value, let type, let place):
      return try cast(value, to: type, at: place, range)
    case .function(let name, let arguments): return try call(name, arguments, at: range)
    case .list: throw misplacedAggregate(at: range)
    case .object, .keyPath, .subquery, .index: throw misplacedAggregate(at: range)
    }
  }

  mutating func operand(_ side: ComparisonSide) throws(PredicateError) -> Operand {
    switch side {
    case .expression(let expression): try operand(expression)
    case .keyPath(let keyPath): try operand(keyPath)
    }
  }

  mutating func operand(_ keyPath: ResolvedKeyPath) throws(PredicateError) -> Operand {
    if keyPath.aggregate != nil { return try aggregate(keyPath) }
    if keyPath.isCollection || keyPath.element != nil { throw tooMany(keyPath) }
    track(keyPath.scope, keyPath.steps, keyPath.target)
    return operand(.path(ScopedPath(scope: keyPath.scope, path: keyPath.path)), read: keyPath)
  }

  /// `value`, read at the end of `keyPath`, as an operand.
  func operand(_ value: ResolvedExpression, read keyPath: ResolvedKeyPath) -> Operand {
    let range = keyPath.range
    if keyPath.isLength {
      return Operand(
        expression: .function(.length, [value]), kind: .number(isInteger: true), range: range)
    }
    guard keyPath.target == .object else {
      let kind = Operand.kind(of: model.type(of: keyPath.path))
      return Operand(expression: value, kind: kind, range: range)
    }
    var operand = Operand(expression: value, kind: .object(keyPath.endEntity), range: range)
    operand.isRelationship = keyPath.reference == .relationship
    return operand
  }

  private func misplacedAggregate(at range: SourceRange) -> PredicateError {
    PredicateError(
      .typeMismatch, at: range.lowerBound, found: "several values", expected: "one value",
      advice: "braces belong after IN and BETWEEN, or into a function like sum(…)")
  }

  // MARK: Arguments

  private mutating func operand(
    _ placeholder: Placeholder, at range: SourceRange
  ) throws(PredicateError) -> Operand {
    let operand = try operand(try argument(placeholder, at: range), at: range)
    switch placeholder.kind {
    case .value, .keyPath: return operand
    case .integer: return try number(operand, isInteger: true)
    case .double: return try number(operand, isInteger: false)
    case .string:
      return Operand(expression: try text(operand), kind: .text, range: range)
    }
  }

  /// The argument of a `%ld` or `%f`.
  private func number(_ operand: Operand, isInteger: Bool) throws(PredicateError) -> Operand {
    let kind = Operand.Kind.number(isInteger: isInteger)
    if operand.kind == .null { return operand }
    let value = try converted(operand, to: kind)
    if isInteger, case .double(let double)? = value.constant {
      throw PredicateError(
        .typeMismatch, at: operand.range.lowerBound,
        found: double.isFinite ? "a number with a fraction" : "infinity",
        expected: "an integer")
    }
    return Operand(expression: value, kind: kind, range: operand.range)
  }

  private func operand(
    _ argument: PredicateArgument, at range: SourceRange
  ) throws(PredicateError) -> Operand {
    switch argument {
    case .text(let text): Operand(.string(text), .untyped, at: range)
    case .json(let json): try operand(json, at: range)
    case .parameter(let parameter):
      Operand(expression: .parameter(parameter), kind: Operand.kind(of: parameter), range: range)
    }
  }

  func operand(_ json: JSON, at range: SourceRange) throws(PredicateError) -> Operand {
    if integersAsStrings, case .string(let text) = json, Int64(text)?.description == text {
      return Operand(.string(text), .untyped, at: range)
    }
    guard let operand = Operand(json, at: range) else {
      throw PredicateError(
        .typeMismatch, at: range.lowerBound, found: json.kind, expected: "one value",
        advice: "arrays belong after IN and BETWEEN")
    }
    return operand
  }

  // MARK: Calculations

  func arithmetic(
    _ operation: ArithmeticOperator, _ left: Operand, _ right: Operand, at range: SourceRange
  ) throws(PredicateError) -> Operand {
    try refuseRelationship(left, right)
    let number = Operand.Kind.number(isInteger: false)
    let leftValue = try converted(left, to: number)
    let rightValue = try converted(right, to: number)
    if leftValue.constant == .null || rightValue.constant == .null {
      return Operand(.null, .null, at: range)
    }
    let isInteger =
      isInteger(left, leftValue) && isInteger(right, rightValue)
      && operation.keepsIntegers(rightValue)
    return Operand(
      expression: .arithmetic(operation, leftValue, rightValue),
      kind: .number(isInteger: isInteger), range: range)
  }

  /// True if arithmetic treats a number as an integer.
  func isInteger(_ operand: Operand, _ value: ResolvedExpression) -> Bool {
    switch operand.kind {
    case .number(let isInteger): return isInteger
    case .boolean, .object: return true
    default:
      if case .integer? = value.constant { return true }
      return false
    }
  }

  private func conditional(
    _ condition: Condition, _ yes: Operand, _ no: Operand, at range: SourceRange
  ) throws(PredicateError) -> Operand {
    var (yesValue, noValue, kind) = try unified(yes, no)
    if case .number = kind {
      // A column has one type: an integer next to a double is a double, in every store.
      if isDouble(noValue) { yesValue = Self.asDouble(yesValue, yes) }
      if isDouble(yesValue) { noValue = Self.asDouble(noValue, no) }
      let areIntegers = [(yes, yesValue), (no, noValue)].allSatisfy { operand, value in
        value.constant == .null || isInteger(operand, value) && !isDouble(value)
      }
      kind = .number(isInteger: areIntegers)
    }
    var expression = ResolvedExpression.conditional(condition, yesValue, noValue)
    if case .constant(let isTrue) = condition { expression = isTrue ? yesValue : noValue }
    return Operand(
      expression: expression, kind: kind, range: range,
      isRelationship: yes.isRelationship || no.isRelationship)
  }

  /// True for a constant or an attribute whose type is a double.
  private func isDouble(_ value: ResolvedExpression) -> Bool {
    switch value {
    case .constant(.double): return true
    case .path(let path):
      if case .attribute = path.path.target { return model.type(of: path.path) == .double }
      return false
    default: return false
    }
  }

  /// Returns an integer as a double; any other value unchanged.
  private static func asDouble(
    _ value: ResolvedExpression, _ operand: Operand
  ) -> ResolvedExpression {
    if case .integer(let integer)? = value.constant { return .constant(.double(Double(integer))) }
    guard case .number(isInteger: true) = operand.kind, value.constant != .null else {
      return value
    }
    return .arithmetic(.multiply, value, .constant(.double(1)))
  }
}
