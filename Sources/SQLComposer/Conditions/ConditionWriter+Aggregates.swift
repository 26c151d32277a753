// A resolved aggregate (`cities.@count`, `SUBQUERY(…).@sum.x`, `max({a, b})`) → a scalar subquery:
// `(SELECT count(*) FROM … WHERE …)`. The subquery is one operand and may be repeated.

import FetchModel

extension ConditionWriter {
  mutating func aggregate(_ aggregation: Aggregation) -> SQLOperand {
    var value = SQLColumn(sql: "", type: .integer)
    var id = ""
    // True if several rows may hold the same object, which the aggregate must count once.
    var mayRepeat = false
    let source = source(aggregation.collection, aggregation.condition) { writer in
      let last = writer.scopes.count - 1
      value = writer.scopes[last].column(aggregation.value)
      mayRepeat = writer.scopes[last].mayRepeat || aggregation.object != nil
      if mayRepeat {
        let root = aggregation.collection.destination
        let object = aggregation.object ?? PropertyPath(root: root, target: .object)
        id = writer.scopes[last].column(object).sql
      }
    }
    let function = aggregation.function
    let sums = function == .sum || function == .average
    var (argument, rows) = (Self.collated(value), source)
    if aggregation.isDistinct {
      argument = "DISTINCT " + argument
    } else if function == .count {
      argument = mayRepeat ? "DISTINCT \(id)" : "*"
    } else if mayRepeat, sums {
      argument = "value"
      rows =
        SQLFragment(" FROM (SELECT DISTINCT \(id), \(value.sql) AS value") + source
        + ")\(dialect.subqueryName)"
    } else if sums {
      argument = value.sql
    }
    let call = Self.call(function, value, argument)
    var operand = Self.operand(SQLFragment("(SELECT \(call)") + rows + ")", function, value)
    if function == .sum, value.type == .decimal, dialect.arithmetic == nil {
      operand.decimal = DecimalCalculation(operand.sql)
      operand.sql = SQLFragment("(SELECT livefetch_decimal('v', \(call))") + rows + ")"
    }
    return operand
  }

  private static func collated(_ value: SQLColumn) -> String {
    value.isComparableBinary || value.type.isNumeric
      ? value.comparable : value.sql + " COLLATE BINARY"
  }

  private static func call(
    _ function: AggregateFunction, _ value: SQLColumn, _ argument: String
  ) -> String {
    switch function {
    case .count: "count(\(argument))"
    case .sum where value.type == .decimal: "livefetch_decimal_sum(\(argument))"
    case .sum: "livefetch_sum(\(argument))"
    case .average where value.type == .decimal: "livefetch_decimal_average(\(argument))"
    case .average: "livefetch_average(\(argument))"
    case .min: "min(\(argument))"
    case .max: "max(\(argument))"
    }
  }

  private static func operand(
    _ sql: SQLFragment, _ function: AggregateFunction, _ value: SQLColumn
  ) -> SQLOperand {
    var operand = SQLOperand(sql: sql, mayBeNull: function != .count && function != .sum)
    let isInteger = value.type == .integer || value.type == .boolean
    operand.isInteger = function == .count || (function != .average && isInteger)
    operand.isNumber = function != .min && function != .max
    if function != .average { operand.ownPrecision = Precision(of: value.type) }
    if function == .min || function == .max {
      operand.dateFormat = value.dateFormat
      operand.encoding = value.encoding
    }
    return operand
  }

  /// `max({a, b})`: an aggregate over the rows of VALUES.
  mutating func listAggregate(
    _ function: AggregateFunction, _ expressions: [ResolvedExpression], _ dateFormat: DateFormat?
  ) -> SQLOperand {
    let expressions = function.flattened(expressions)
    var operands = operandsOfOneDateFormat(expressions, dateFormat)
    let encoding = operands.lazy.compactMap { $0.encoding }.first { $0.hasSeveralRepresentations }
    operands = operands.map { $0.put(in: encoding) }
    let precision = operands.map(\.precision).reduce(.adapting) { Precision($0, $1) }
    if precision == .decimal, function == .sum || function == .average {
      operands = operands.map { operand in
        var exact = operand
        exact.sql = operand.decimal?.exact ?? operand.sql
        return exact
      }
    }
    var result = SQLOperand(
      sql: subquery(function, over: operands, precision), mayBeNull: function != .sum,
      dateFormat: operands.lazy.compactMap(\.dateFormat).first,
      isInteger: function != .average && operands.allSatisfy(\.isInteger),
      ownPrecision: function == .average ? .binary : precision)
    result.encoding = encoding ?? operands.lazy.compactMap { $0.encoding }.first
    if precision == .decimal, function == .sum, dialect.arithmetic == nil {
      let calculation = DecimalCalculation(result.sql)
      result.sql = calculation.number
      result.decimal = calculation
    }
    return result
  }

  /// Returns the operands of a list. If some are dates, all have the same format.
  private mutating func operandsOfOneDateFormat(
    _ expressions: [ResolvedExpression], _ dateFormat: DateFormat?
  ) -> [SQLOperand] {
    var operands = expressions.map { operand($0, dateFormat: dateFormat) }
    // A constant takes the format of the others.
    var formats = Set(
      zip(operands, expressions).compactMap { $1.constant == nil ? $0.dateFormat : nil })
    if let format = formats.count > 1 ? .unixSeconds : formats.first {
      for (index, expression) in expressions.enumerated()
      where operands[index].dateFormat == nil || expression.constant != nil {
        operands[index] = operand(expression, dateFormat: format)
      }
    }
    formats.formUnion(operands.compactMap(\.dateFormat))
    return formats.count > 1 ? operands.map(inSeconds) : operands
  }

  /// Returns the aggregate over the rows of VALUES.
  private func subquery(
    _ function: AggregateFunction, over operands: [SQLOperand], _ precision: Precision
  ) -> SQLFragment {
    // VALUES has no names for its columns. An empty row before it names the column.
    let column = SQLColumn(sql: "value", type: precision == .decimal ? .decimal : .string)
    var sql = SQLFragment("(SELECT \(Self.call(function, column, "value"))")
    sql.append(" FROM (SELECT NULL AS value WHERE \(dialect.never) UNION ALL VALUES ")
    for (index, operand) in operands.enumerated() {
      sql.append(index > 0 ? ", (" : "(")
      sql.append(operand.sql)
      sql.append(")")
    }
    sql.append(")\(dialect.subqueryName))")
    return sql
  }
}
