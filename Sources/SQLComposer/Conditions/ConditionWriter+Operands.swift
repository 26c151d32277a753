// A resolved expression → an SQL operand: text that needs no parentheses next to any operator, with
// its bound values and properties (nullability, date format, precision).

import FetchModel

extension ConditionWriter {
  /// - Parameter dateFormat: the format of a date constant: the format of the operand that it is
  ///   compared with.
  mutating func operand(
    _ expression: ResolvedExpression, dateFormat: DateFormat? = nil
  ) -> SQLOperand {
    switch expression {
    case .constant(let value): return constant(value, dateFormat)
    case .parameter(let parameter):
      return SQLOperand(
        sql: SQLFragment("?", bindings: [SQLBinding.parameter(parameter)]), mayBeNull: false,
        isInteger: parameter.kind == .integer, isNumber: true)
    case .path(let path): return column(path)
    case .arithmetic(let operation, let left, let right):
      let first = operand(left)
      return arithmetic(
        operation, first, operand(right), keepsIntegers: operation.keepsIntegers(right))
    case .function(let function, let arguments): return call(function, arguments)
    case .conditional(let condition, let yes, let no):
      return conditional(condition, then: yes, else: no, dateFormat)
    case .aggregate(let aggregation): return aggregate(aggregation)
    case .element(let element): return self.element(element)
    case .listAggregate(let function, let expressions):
      return listAggregate(function, expressions, dateFormat)
    }
  }

  /// A date constant that is compared with none that is stored is a number of seconds.
  private func constant(_ value: Value, _ format: DateFormat?) -> SQLOperand {
    var format = format
    if case .date = value, format == nil, !dialect.hasTypedColumns { format = .unixSeconds }
    // PostgreSQL cannot determine the type of a parameter that is compared with nothing of a type.
    let sql =
      value == .null && dialect.hasTypedColumns
      ? SQLFragment("NULL")
      : SQLFragment(placeholder(value, format), bindings: [SQLValue(value, format)])
    var operand = SQLOperand(sql: sql, mayBeNull: value == .null)
    switch value {
    case .integer, .boolean, .id(.integer): operand.isInteger = true
    case .double: operand.ownPrecision = .adapting
    default: break
    }
    operand.isNumber = true
    if case .date = value { operand.dateFormat = format }
    return operand
  }

  /// The placeholder of a constant. Dates in seconds are numbers.
  func placeholder(_ value: Value, _ format: DateFormat?) -> String {
    if case .date = value, format != .unixSeconds { return dialect.datePlaceholder }
    return "?"
  }

  private mutating func column(_ path: ScopedPath) -> SQLOperand {
    let column = scopes[path.scope].column(path.path)
    var operand = SQLOperand(
      sql: SQLFragment(column.comparable), mayBeNull: column.mayBeNull,
      isBinaryCollated: column.isComparableBinary || column.type.isNumeric,
      dateFormat: column.dateFormat,
      isInteger: column.type == .integer || column.type == .boolean)
    operand.encoding = column.encoding
    operand.isUntyped = column.isUntyped
    if column.isGenerated { readsGeneratedColumn = true }
    operand.stored = SQLFragment(column.sql)
    operand.output = column.output.map { SQLFragment($0) }
    operand.lookup = column.lookup
    operand.ownPrecision = Precision(of: column.type)
    if column.type == .decimal, dialect.arithmetic == nil,
      scopes[path.scope].isAggregate(path.path)
    {
      // The sum has every decimal digit, and may be stored as text.
      let calculation = DecimalCalculation(operand.sql)
      operand.sql = calculation.number
      operand.decimal = calculation
    }
    return operand
  }

  // MARK: Calculations

  private func arithmetic(
    _ operation: ArithmeticOperator, _ left: SQLOperand, _ right: SQLOperand,
    keepsIntegers: Bool
  ) -> SQLOperand {
    let (left, right) = (left.asStored, right.asStored)
    let isInteger = left.isInteger && right.isInteger
    let precision = Precision(left.precision, right.precision)
    if precision == .decimal, operation != .power, dialect.arithmetic == nil {
      let calculation = DecimalCalculation(operation, left, right)
      var operand = SQLOperand(
        sql: calculation.number, mayBeNull: true, isNumber: true, ownPrecision: .decimal)
      operand.decimal = calculation
      return operand
    }
    if operation == .power, dialect.arithmetic == nil {
      let call = SQLFragment("livefetch_power(") + left.sql + ", " + right.sql + ")"
      return SQLOperand(
        sql: call, mayBeNull: true, isInteger: isInteger && keepsIntegers, isNumber: true)
    }
    if let arithmetic = dialect.arithmetic {
      let sql = arithmetic(
        Dialect.Calculation(
          operation: operation, left: left.quantity, right: right.quantity, isInteger: isInteger,
          isExact: isInteger || precision == .decimal))
      guard operation != .power else {
        return SQLOperand(
          sql: sql, mayBeNull: true, isInteger: isInteger && keepsIntegers, isNumber: true)
      }
      return SQLOperand(
        sql: sql, mayBeNull: true, isInteger: isInteger, isNumber: true, ownPrecision: precision)
    }
    let chain = left.chain?.operators == operation.chain ? left.chain?.sql : nil
    let first = chain ?? left.quantity
    var second = right.quantity
    if operation == .divide, !isInteger, !right.isQuotient {
      second = SQLFragment("CAST(") + second + " AS REAL)"
    }
    let sql = first + " \(operation.rawValue) " + second
    var operand = SQLOperand(
      sql: SQLFragment("(") + sql + ")", mayBeNull: true, isInteger: isInteger, isNumber: true,
      ownPrecision: precision, chain: (operation.chain, sql))
    operand.isQuotient = operation == .divide && !isInteger
    return operand
  }

  private mutating func call(
    _ function: ResolvedFunction, _ arguments: [ResolvedExpression]
  ) -> SQLOperand {
    let operands = arguments.map { operand($0).text.asStored }
    guard let first = operands.first else { return SQLOperand(sql: "NULL", mayBeNull: true) }
    let second = operands.count > 1 ? operands[1] : first
    switch function {
    case .bitwiseAnd: return infix(first, "&", second)
    case .bitwiseOr: return infix(first, "|", second)
    case .leftShift: return infix(first, "<<", second)
    case .rightShift: return infix(first, ">>", second)
    case .onesComplement:
      let sql = dialect.integerFunction("~").map { SQLFragment("\($0)(") } ?? SQLFragment("(~")
      return SQLOperand(
        sql: sql + first.quantity + ")", mayBeNull: true, isInteger: true, isNumber: true)
    case .modulus where first.isInteger && second.isInteger: return infix(first, "%", second)
    case .date:
      return SQLOperand(
        sql: SQLFragment("(") + first.quantity + " + 978307200.0)", mayBeNull: true,
        dateFormat: .unixSeconds)
    case .secondsSinceReference:
      return SQLOperand(
        sql: SQLFragment("livefetch_reference(") + first.sql + ")", mayBeNull: true)
    case .initial, .day, .month, .year: return part(function, of: first)
    default: return call("livefetch_\(function.rawValue)", function, operands)
    }
  }

  /// A value that SQLite stores in a column of another type stays as stored.
  private func part(_ function: ResolvedFunction, of value: SQLOperand) -> SQLOperand {
    let derivation = OrderTerm.Derivation(rawValue: function.rawValue) ?? .value
    let sql = DerivedValueSQL.derived(
      derivation, from: value.sql.text, dateFormat: value.dateFormat)
    var operand = SQLOperand(
      sql: SQLFragment(dialect.derivedText(sql), bindings: value.sql.bindings), mayBeNull: true)
    operand.encoding = dialect.hasTypedColumns ? nil : .text
    return operand
  }

  private func infix(_ left: SQLOperand, _ symbol: String, _ right: SQLOperand) -> SQLOperand {
    let sql =
      if let function = dialect.integerFunction(symbol) {
        SQLFragment("\(function)(") + left.quantity + ", " + right.quantity + ")"
      } else {
        SQLFragment("(") + left.quantity + " \(symbol) " + right.quantity + ")"
      }
    return SQLOperand(sql: sql, mayBeNull: true, isInteger: true, isNumber: true)
  }

  private func call(
    _ name: String, _ function: ResolvedFunction, _ operands: [SQLOperand]
  ) -> SQLOperand {
    let arguments = operands.map { function.takesText ? derivedText($0.sql) : $0.sql }
    var sql = SQLFragment(name + "(") + arguments.joined() + ")"
    if function.returnsText { sql = derivedText(sql) }
    let isInteger: Bool
    switch function {
    case .length, .bitwiseXor: isInteger = true
    case _ where function.keepsIntegers: isInteger = operands.allSatisfy(\.isInteger)
    default: isInteger = false
    }
    return SQLOperand(
      sql: sql, mayBeNull: true, isInteger: isInteger, isNumber: function.isNumeric,
      ownPrecision: function.precision(of: operands.first?.precision ?? .binary))
  }

  /// A text that compares by code point, whatever collation its column declares.
  private func derivedText(_ sql: SQLFragment) -> SQLFragment {
    SQLFragment(dialect.derivedText(sql.text), bindings: sql.bindings)
  }

  private mutating func conditional(
    _ condition: Condition, then yes: ResolvedExpression, else no: ResolvedExpression,
    _ dateFormat: DateFormat?
  ) -> SQLOperand {
    let test = compose(condition, between: .ors)
    let (first, second) = alternatives(yes, no, dateFormat)
    var sql = SQLFragment("CASE WHEN ") + test
    sql.append(SQLFragment(" THEN ") + ordered(first.sql, yes.constant))
    sql.append(SQLFragment(" ELSE ") + ordered(second.sql, no.constant) + " END")
    var operand = SQLOperand(
      sql: sql,
      mayBeNull: first.mayBeNull || second.mayBeNull,
      dateFormat: first.dateFormat ?? second.dateFormat,
      isInteger: first.isInteger && second.isInteger,
      isNumber: first.isNumber && second.isNumber,
      ownPrecision: Precision(first.precision, second.precision))
    operand.encoding = first.encoding ?? second.encoding
    return operand
  }

  /// Two values, one of which is chosen at run time, with dates in one format.
  private mutating func alternatives(
    _ first: ResolvedExpression, _ second: ResolvedExpression, _ dateFormat: DateFormat?
  ) -> (SQLOperand, SQLOperand) {
    var left = operand(first, dateFormat: dateFormat)
    let right = operand(second, dateFormat: left.dateFormat ?? dateFormat)
    if first.constant != nil, let format = right.dateFormat {
      left = operand(first, dateFormat: format)
    }
    if let leftFormat = left.dateFormat, let rightFormat = right.dateFormat,
      leftFormat != rightFormat
    {
      return (inSeconds(left), inSeconds(right))
    }
    return aligned(left, right)
  }
}

extension SQLFragment: ExpressibleByStringLiteral {
  public init(stringLiteral text: String) { self.init(text) }
}

extension ResolvedFunction {
  fileprivate var takesText: Bool {
    [.uppercase, .lowercase, .canonical, .length].contains(self)
  }

  fileprivate var returnsText: Bool {
    [.uppercase, .lowercase, .canonical, .text, .dateText].contains(self)
  }
}
