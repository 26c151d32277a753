// Deep parts of a condition as statements of their own, so that SQLite's parser can hold the rest:
//
//     livefetch_apart(?, "t0"."population")
//
// runs what is bound there, once a row, with the columns of the rows around it as values:
//
//     SELECT <the part> FROM (SELECT "population" AS "population" FROM "City" WHERE FALSE
//       UNION ALL SELECT ?) AS "t0"
//
// The empty half gives the values their columns' affinity, so that comparisons come out as they do
// beside the column itself.

import FetchModel

extension ConditionWriter {
  mutating func writeApart(_ condition: Condition) -> SQLFragment {
    apart { $0.write(condition, between: .ors) }
  }

  mutating func operandApart(
    _ expression: ResolvedExpression, _ dateFormat: DateFormat?
  ) -> SQLOperand {
    var operand: SQLOperand?
    let sql = apart { writer in
      let inner = writer.operandInPlace(expression, dateFormat)
      operand = inner
      return inner.decimal?.exact ?? inner.sql
    }
    var result = SQLOperand(
      sql: sql, mayBeNull: true, dateFormat: operand?.dateFormat,
      isInteger: operand?.isInteger ?? false)
    result.isNumber = operand?.isNumber ?? false
    result.form = operand?.form
    result.ownPrecision = operand?.ownPrecision ?? .binary
    if operand?.decimal != nil {
      let calculation = DecimalCalculation(sql)
      result.sql = calculation.number
      result.decimal = calculation
    }
    return result
  }

  /// A call that runs what `body` writes.
  private mutating func apart(_ body: (inout Self) -> SQLFragment) -> SQLFragment {
    let names = self.names
    self.names = []
    statementsApart += 1
    let part = body(&self)
    statementsApart -= 1
    self.names = names
    let isInner = statementsApart > 0
    let statement = StatementApart(part, behind: scopes[0].prelude) { [scope = scopes[0]] in
      scope.table(of: $0)
    }
    var call = SQLFragment("livefetch_apart(")
    call.bind(.blob(statement.program))
    for value in statement.values {
      let isAggregate = value.alias == StatementApart.aggregates && !isInner
      let sql = isAggregate ? Int(value.name).map { aggregates[$0] } : nil
      call.append(", " + (sql ?? qualified(value.name, value.alias)))
    }
    call.append(")")
    return call
  }

  /// What stands for an aggregate of the query in a statement of its own.
  mutating func given(_ aggregate: String) -> String {
    let index = aggregates.firstIndex(of: aggregate) ?? aggregates.count
    if index == aggregates.count { aggregates.append(aggregate) }
    return qualified("\(index)", StatementApart.aggregates)
  }

  // MARK: Names

  /// A comparison, with names in front of it for the values that it takes more than once:
  ///
  ///     (SELECT "v0"."v" <> ? OR "v0"."v" IS NULL FROM (SELECT … AS "v") AS "v0")
  mutating func naming(
    in place: Surroundings, _ body: (inout Self) -> Alternatives
  ) -> SQLFragment {
    let outer = names
    names = []
    let alternatives = body(&self)
    let named = names
    names = outer
    guard !named.isEmpty else { return alternatives.joined(in: place) }
    var sql = SQLFragment("(SELECT ")
    sql.append(alternatives.joined(in: Surroundings.ors))
    for (index, name) in named.enumerated() {
      sql.append(index == 0 ? " FROM " : ", ")
      sql.append(name)
    }
    sql.append(")")
    return sql
  }

  /// `operand` under a name, where it may be deep: its SQL would double with each level otherwise.
  mutating func named(_ operand: SQLOperand, _ expression: ResolvedExpression) -> SQLOperand {
    switch expression {
    case .constant, .path: return operand
    case .arithmetic, .function, .conditional, .aggregate, .element, .listAggregate: break
    }
    // An aggregate of the query has to stand in the query itself.
    guard nesting.setsApart, statementsApart > 0 || !scopes[0].hasAggregates else { return operand }
    let alias = "v\(nameCount)"
    nameCount += 1
    names.append(SQLFragment("(SELECT ") + operand.sql + " AS \"v\") AS \(quoted(alias))")
    var named = operand
    named.sql = SQLFragment(qualified("v", alias))
    named.stored = nil
    named.chain = nil
    named.decimal = nil
    return named
  }
}
