// ResolvedExpression → Term, with what comparisons have to know about it.

/// A term and how it takes part in comparisons.
struct EvaluatedOperand {
  var term: PredicateEvaluator.Term
  /// Of a column; nil for what is calculated.
  var affinity: Affinity?
  /// How it holds a date; nil where it is none.
  var dateFormat: DateFormat?
  /// Whether it is calculated with as an integer.
  var isInteger = false

  /// A date as seconds since 1970.
  var inSeconds: EvaluatedOperand {
    if dateFormat == .unixSeconds { return self }
    return EvaluatedOperand(term: .seconds(term), dateFormat: .unixSeconds)
  }

  func folded(_ options: StringOptions) -> EvaluatedOperand {
    if options.isEmpty { return self }
    if case .constant(let value) = term {
      return EvaluatedOperand(term: .constant(value.folded(options)))
    }
    return EvaluatedOperand(term: .folded(term, options))
  }
}

extension PredicateEvaluator.Term {
  /// A constant as a comparison takes it; anything else is converted in each row. nil where only
  /// the store can convert it.
  func converted(by affinity: Affinity?) -> Self? {
    guard case .constant(let value) = self else { return self }
    return value.converted(by: affinity).map { .constant($0) }
  }
}

extension EvaluatorCompiler {
  /// - Parameter dateFormat: how a date constant is written; that of what it is compared with.
  mutating func operand(
    _ expression: ResolvedExpression, dateFormat: DateFormat? = nil
  ) -> EvaluatedOperand {
    switch expression {
    case .constant(let value): constant(value, dateFormat)
    case .path(let path): column(path)
    case .arithmetic(let operation, let left, let right):
      arithmetic(operation, operand(left), operand(right))
    case .function(let function, let arguments): call(function, arguments.map { operand($0) })
    case .conditional(let condition, let yes, let no):
      conditional(condition, yes, no, dateFormat)
    case .aggregate(let aggregation): aggregate(aggregation)
    case .listAggregate(let function, let expressions):
      list(function, expressions, dateFormat)
    }
  }

  private func constant(_ value: Value, _ format: DateFormat?) -> EvaluatedOperand {
    var operand = EvaluatedOperand(term: .constant(StoredValue(value, format)))
    switch value {
    case .integer, .boolean, .id(.integer): operand.isInteger = true
    default: break
    }
    return operand
  }

  private mutating func column(_ path: ScopedPath) -> EvaluatedOperand {
    guard let treatment = columns.treatment(of: path.path, in: model) else {
      return EvaluatedOperand(term: uncovered())
    }
    let type = model.type(of: path.path)
    var operand = EvaluatedOperand(
      term: .slot(slot(of: path), scope: path.scope), affinity: treatment.affinity)
    operand.isInteger = type == .integer || type == .boolean
    if case .attribute(let index) = path.path.target {
      operand.dateFormat = model.entities[model.walk(path.path).end].attributes[index].dateFormat
    }
    return operand
  }

  // MARK: Calculations

  private func arithmetic(
    _ operation: ArithmeticOperator, _ left: EvaluatedOperand, _ right: EvaluatedOperand
  ) -> EvaluatedOperand {
    let isInteger = left.isInteger && right.isInteger && operation != .power
    return EvaluatedOperand(
      term: .arithmetic(operation, left.term, right.term, isReal: !isInteger),
      isInteger: isInteger)
  }

  private mutating func call(
    _ function: ResolvedFunction, _ arguments: [EvaluatedOperand]
  ) -> EvaluatedOperand {
    guard let first = arguments.first else { return EvaluatedOperand(term: uncovered()) }
    let second = arguments.count > 1 ? arguments[1] : first
    let result = EvaluatedOperand(term: .function(function, arguments.map(\.term)))
    let seconds2001 = PredicateEvaluator.Term.constant(.double(978_307_200))
    switch function {
    case .modulus where first.isInteger && second.isInteger:
      return EvaluatedOperand(term: .remainder(first.term, second.term), isInteger: true)
    case .date:
      return EvaluatedOperand(
        term: .arithmetic(.add, first.term, seconds2001, isReal: true), dateFormat: .unixSeconds)
    case .secondsSinceReference:
      return EvaluatedOperand(
        term: .arithmetic(.subtract, first.inSeconds.term, seconds2001, isReal: true))
    case .abs: return result.counting(first.isInteger)
    case .length, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift, .onesComplement:
      return result.counting(true)
    default: return result
    }
  }

  private mutating func conditional(
    _ condition: Condition, _ yes: ResolvedExpression, _ no: ResolvedExpression,
    _ dateFormat: DateFormat?
  ) -> EvaluatedOperand {
    var first = operand(yes, dateFormat: dateFormat)
    var second = operand(no, dateFormat: first.dateFormat ?? dateFormat)
    if yes.constant != nil, let format = second.dateFormat {
      first = operand(yes, dateFormat: format)
    }
    if let firstFormat = first.dateFormat, let secondFormat = second.dateFormat,
      firstFormat != secondFormat
    {
      (first, second) = (first.inSeconds, second.inSeconds)
    }
    return EvaluatedOperand(
      term: .conditional(test(condition), first.term, second.term),
      dateFormat: first.dateFormat ?? second.dateFormat,
      isInteger: first.isInteger && second.isInteger)
  }

  // MARK: Aggregates

  private mutating func list(
    _ function: AggregateFunction, _ expressions: [ResolvedExpression], _ dateFormat: DateFormat?
  ) -> EvaluatedOperand {
    // A mean's last digits are those of the store's own sum.
    guard function != .average else { return EvaluatedOperand(term: uncovered()) }
    var operands = expressions.map { operand($0, dateFormat: dateFormat) }
    if Set(operands.compactMap(\.dateFormat)).count > 1 {
      operands = expressions.map { operand($0, dateFormat: .unixSeconds).inSeconds }
    } else if let format = operands.lazy.compactMap(\.dateFormat).first {
      operands = expressions.map { operand($0, dateFormat: format) }
    }
    return EvaluatedOperand(
      term: .list(function, operands.map(\.term)), dateFormat: operands.first?.dateFormat,
      isInteger: operands.allSatisfy(\.isInteger))
  }

  private mutating func aggregate(_ aggregation: Aggregation) -> EvaluatedOperand {
    let collection = aggregation.collection
    let isCount = aggregation.function == .count
    guard aggregation.function != .average else { return EvaluatedOperand(term: uncovered()) }
    let value = column(ScopedPath(scope: collection.elementScope, path: aggregation.value))
    let term = PredicateEvaluator.Term.aggregate(
      aggregation.function, collection: number(of: collection), scope: collection.scope,
      test(aggregation.condition), value.term, isDistinct: aggregation.isDistinct)
    let isExtreme = aggregation.function == .min || aggregation.function == .max
    return EvaluatedOperand(
      term: term, dateFormat: isExtreme ? value.dateFormat : nil,
      isInteger: isCount || value.isInteger)
  }
}

extension EvaluatedOperand {
  fileprivate func counting(_ isInteger: Bool) -> EvaluatedOperand {
    var operand = self
    operand.isInteger = isInteger
    return operand
  }
}

extension ColumnTraits {
  /// How the value at the end of a to-one path takes part in comparisons.
  public func treatment(of path: PropertyPath, in model: Model) -> ColumnTreatment? {
    switch path.target {
    case .attribute(let index):
      return treatment(of: .attribute(index), in: model.walk(path).end)
    case .object:
      guard let last = path.steps.last else { return treatment(of: .id, in: path.root) }
      let holder = PropertyPath(
        root: path.root, steps: Array(path.steps.dropLast()), target: .object)
      return treatment(of: .relationship(last), in: model.walk(holder).end)
    }
  }
}
