// A resolved expression → a term, with the properties that comparisons need.

/// A term and how it takes part in comparisons.
struct EvaluatedOperand {
  var term: PredicateEvaluator.Term
  /// The affinity of a column; nil for a calculated value.
  var affinity: Affinity?
  /// The format of its dates; nil if it is not a date.
  var dateFormat: DateFormat?
  /// The encoding whose comparison keys it holds; nil if it holds stored values.
  var encoding: ColumnEncoding?
  /// The value as it is stored, if `term` is a comparison key of it.
  var stored: PredicateEvaluator.Term?
  /// True if arithmetic treats it as an integer.
  var isInteger = false
  /// The precision of arithmetic with it if it is not an integer.
  var ownPrecision = Precision.binary
  /// The same calculation in decimal digits, as input of further calculations.
  var exact: PredicateEvaluator.Term?

  var precision: Precision { isInteger ? .adapting : ownPrecision }

  /// A date as seconds since 1970.
  var inSeconds: EvaluatedOperand {
    if dateFormat == .unixSeconds { return self }
    return EvaluatedOperand(term: .seconds(stored ?? term), dateFormat: .unixSeconds)
  }

  /// This operand as it is stored.
  var asStored: EvaluatedOperand {
    var operand = self
    operand.term = stored ?? term
    return operand
  }

  /// This operand as the text that strings are looked for in.
  var text: EvaluatedOperand {
    guard case .uuid? = encoding else { return self }
    return EvaluatedOperand(term: .uuidText(stored ?? term))
  }

  /// This operand converted so that it compares with values in `encoding`.
  func put(in encoding: ColumnEncoding?) -> EvaluatedOperand {
    guard let encoding, encoding != self.encoding else { return self }
    var operand = EvaluatedOperand(
      term: (stored ?? term).comparisonKey(encoding), dateFormat: dateFormat, encoding: encoding)
    operand.stored = stored ?? term
    return operand
  }

  /// Both sides in the same encoding, if one of them has an encoding.
  static func aligned(
    _ left: EvaluatedOperand, _ right: EvaluatedOperand
  ) -> (EvaluatedOperand, EvaluatedOperand) {
    let encoding = [left, right].lazy.compactMap { $0.encoding }.first {
      $0.hasSeveralRepresentations
    }
    return (left.put(in: encoding), right.put(in: encoding))
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

  /// The comparison key in `encoding`; computed at once for a constant.
  fileprivate func comparisonKey(_ encoding: ColumnEncoding) -> Self {
    if case .constant(let value) = self { return .constant(value.comparisonKey(encoding)) }
    return .comparisonKey(self, encoding)
  }
}

extension EvaluatorCompiler {
  /// - Parameter dateFormat: the format of a date constant: the format of the operand that it is
  ///   compared with.
  mutating func operand(
    _ expression: ResolvedExpression, dateFormat: DateFormat? = nil
  ) -> EvaluatedOperand {
    switch expression {
    case .constant(let value): constant(value, dateFormat)
    // Only bound plans are evaluated.
    case .parameter: EvaluatedOperand(term: unsupported())
    case .path(let path): column(path)
    case .arithmetic(let operation, let left, let right):
      arithmetic(
        operation, operand(left), operand(right), keepsIntegers: operation.keepsIntegers(right))
    case .function(let function, let arguments):
      call(function, arguments.map { operand($0).text.asStored })
    case .conditional(_, let yes, let no) where yes.isConstantDate || no.isConstantDate:
      EvaluatedOperand(term: unsupported())
    case .conditional(let condition, let yes, let no):
      conditional(condition, yes, no, dateFormat)
    case .aggregate(let aggregation): aggregate(aggregation)
    // The order of a collection's objects is the store's to know.
    case .element: EvaluatedOperand(term: unsupported())
    case .listAggregate(_, let expressions)
    where expressions.contains { $0.isConstantDate || $0.isNested }:
      EvaluatedOperand(term: unsupported())
    case .listAggregate(let function, let expressions):
      list(function, expressions, dateFormat)
    }
  }

  private func constant(_ value: Value, _ format: DateFormat?) -> EvaluatedOperand {
    var operand = EvaluatedOperand(term: .constant(StoredValue(value, format)))
    switch value {
    case .integer, .boolean, .id(.integer): operand.isInteger = true
    case .double: operand.ownPrecision = .adapting
    default: break
    }
    return operand
  }

  private mutating func column(_ path: ScopedPath) -> EvaluatedOperand {
    guard let comparisonRule = columns.comparisonRule(of: path.path, in: model) else {
      return EvaluatedOperand(term: unsupported())
    }
    let type = model.type(of: path.path)
    let slot = PredicateEvaluator.Term.slot(slot(of: path), scope: path.scope)
    var operand = EvaluatedOperand(term: slot, affinity: comparisonRule.affinity)
    if let encoding = comparisonRule.encoding {
      operand = EvaluatedOperand(
        term: .comparisonKey(slot, encoding), encoding: encoding, stored: slot)
    }
    operand.isInteger = type == .integer || type == .boolean
    operand.ownPrecision = Precision(of: type)
    if case .attribute(let index) = path.path.target {
      operand.dateFormat = model.entities[model.walk(path.path).end].attributes[index].dateFormat
    }
    return operand
  }

  // MARK: Calculations

  private func arithmetic(
    _ operation: ArithmeticOperator, _ left: EvaluatedOperand, _ right: EvaluatedOperand,
    keepsIntegers: Bool
  ) -> EvaluatedOperand {
    let isInteger = left.isInteger && right.isInteger && keepsIntegers
    let precision = Precision(left.precision, right.precision)
    let (first, second) = (left.stored ?? left.term, right.stored ?? right.term)
    if precision == .decimal, operation != .power {
      let exact = PredicateEvaluator.Term.decimal(
        operation, left.exact ?? first, right.exact ?? second)
      return EvaluatedOperand(
        term: .decimalNumber(exact), ownPrecision: .decimal, exact: exact)
    }
    return EvaluatedOperand(
      term: .arithmetic(operation, first, second, isReal: !isInteger), isInteger: isInteger,
      ownPrecision: operation == .power ? .binary : precision)
  }

  private mutating func call(
    _ function: ResolvedFunction, _ arguments: [EvaluatedOperand]
  ) -> EvaluatedOperand {
    guard let first = arguments.first else { return EvaluatedOperand(term: unsupported()) }
    let second = arguments.count > 1 ? arguments[1] : first
    let result = EvaluatedOperand(
      term: .function(function, arguments.map(\.term)),
      ownPrecision: function.precision(of: first.precision))
    let seconds2001 = PredicateEvaluator.Term.constant(.double(Instant.referenceDate))
    switch function {
    case .modulus where first.isInteger && second.isInteger:
      return EvaluatedOperand(term: .remainder(first.term, second.term), isInteger: true)
    case .date:
      return EvaluatedOperand(
        term: .arithmetic(.add, first.term, seconds2001, isReal: true), dateFormat: .unixSeconds)
    case .secondsSinceReference:
      return EvaluatedOperand(term: .reference(first.term))
    case _ where function.keepsIntegers: return result.counting(first.isInteger)
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
    } else {
      (first, second) = EvaluatedOperand.aligned(first, second)
    }
    return EvaluatedOperand(
      term: .conditional(test(condition), first.term, second.term),
      dateFormat: first.dateFormat ?? second.dateFormat,
      encoding: first.encoding ?? second.encoding,
      isInteger: first.isInteger && second.isInteger,
      ownPrecision: Precision(first.precision, second.precision))
  }

  // MARK: Aggregates

  private mutating func list(
    _ function: AggregateFunction, _ expressions: [ResolvedExpression], _ dateFormat: DateFormat?
  ) -> EvaluatedOperand {
    // A mean's last digits are those of the store's own sum.
    guard function != .average else { return EvaluatedOperand(term: unsupported()) }
    var operands = expressions.map { operand($0, dateFormat: dateFormat) }
    let formats = Set(operands.compactMap(\.dateFormat))
    if let format = formats.count > 1 ? .unixSeconds : formats.first {
      // An operand without a date format of its own takes the format of the others.
      for (index, expression) in expressions.enumerated() where operands[index].dateFormat == nil {
        operands[index] = operand(expression, dateFormat: format)
      }
    }
    if formats.count > 1 { operands = operands.map(\.inSeconds) }
    let encoding = operands.lazy.compactMap { $0.encoding }.first { $0.hasSeveralRepresentations }
    operands = operands.map { $0.put(in: encoding) }
    let precision = operands.map(\.precision).reduce(.adapting) { Precision($0, $1) }
    // Only the store adds up sums of decimals.
    if function == .sum, precision == .decimal { return EvaluatedOperand(term: unsupported()) }
    return EvaluatedOperand(
      term: .list(function, operands.map(\.term)), dateFormat: operands.first?.dateFormat,
      encoding: encoding ?? operands.lazy.compactMap { $0.encoding }.first,
      isInteger: operands.allSatisfy(\.isInteger), ownPrecision: precision)
  }

  private mutating func aggregate(_ aggregation: Aggregation) -> EvaluatedOperand {
    let collection = aggregation.collection
    let isCount = aggregation.function == .count
    guard aggregation.function != .average else { return EvaluatedOperand(term: unsupported()) }
    let value = column(ScopedPath(scope: collection.elementScope, path: aggregation.value))
    let term = PredicateEvaluator.Term.aggregate(
      aggregation.function, collection: index(of: collection), scope: collection.scope,
      test(aggregation.condition),
      aggregation.function == .sum && !aggregation.isDistinct
        ? value.stored ?? value.term : value.term,
      object: aggregation.object.map {
        column(ScopedPath(scope: collection.elementScope, path: $0)).term
      },
      isDistinct: aggregation.isDistinct)
    let isExtreme = aggregation.function == .min || aggregation.function == .max
    if aggregation.function == .sum, value.precision == .decimal {
      return EvaluatedOperand(term: unsupported())
    }
    return EvaluatedOperand(
      term: term, dateFormat: isExtreme ? value.dateFormat : nil,
      encoding: isExtreme ? value.encoding : nil, isInteger: isCount || value.isInteger,
      ownPrecision: value.ownPrecision)
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
  /// The comparison rule of the value at the end of a to-one path.
  public func comparisonRule(of path: PropertyPath, in model: Model) -> ComparisonRule? {
    switch path.target {
    case .attribute(let index):
      return comparisonRule(of: .attribute(index), in: model.walk(path).end)
    case .object:
      guard let last = path.steps.last else { return comparisonRule(of: .id, in: path.root) }
      let holder = PropertyPath(
        root: path.root, steps: Array(path.steps.dropLast()), target: .object)
      return comparisonRule(of: .relationship(last), in: model.walk(holder).end)
    }
  }
}

extension ResolvedExpression {
  /// True for a date. The format in which the store compares it is that of its column, which such an
  /// expression may not have: the store evaluates the few that have a date beside columns.
  fileprivate var isConstantDate: Bool {
    if case .date? = constant { true } else { false }
  }

  /// True for an expression whose type depends on the values of the row.
  fileprivate var isNested: Bool {
    switch self {
    case .conditional, .listAggregate: true
    default: false
    }
  }
}
