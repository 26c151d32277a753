// A plan with `as=dictionaries` → its SELECT, at the current or a past position.
//
//     select=continent,n:@count  group=continent  having=n > 3  sort=-n
//     SELECT "t0"."continent", count(*) FROM "Country" AS "t0" GROUP BY "t0"."continent"
//       HAVING count(*) > ? ORDER BY count(*) DESC, "t0"."continent"
//
// The order is total, so that equal dictionaries at two positions have equal bytes. The last sort
// term is the id of an object, or the values that a group has in common.

import FetchModel

/// A SELECT whose rows are dictionaries.
package struct GroupedQueryStatement: Sendable {
  package let sql: SQLFragment
  package let columns: [GroupedColumn]
}

/// The JSON representation of a column.
public struct GroupedColumn: Sendable {
  /// Its index in the statement's row. Columns with the same value share one.
  package let index: Int32
  /// The key as JSON with its colon.
  package let key: [UInt8]
  package let format: ValueFormat
  package let isDecimal: Bool
  package let isDouble: Bool
  /// True if the column holds the distinct values of a group.
  package let isCollection: Bool
  /// The encoding whose comparison keys it holds in place of stored values; nil if it holds stored
  /// values.
  package let encoding: ColumnEncoding?
}

package struct GroupedQueryComposer {
  private let plan: FetchPlan
  private let groupedQuery: GroupedQuery
  private var query: FetchQuery
  private var writer: ConditionWriter<GroupedQueryScope>
  /// The places of the selected values in the list of the SELECT.
  private var indexes: [SQLFragment: Int32] = [:]

  package init(
    _ composer: FetchComposer, _ plan: FetchPlan, _ groupedQuery: GroupedQuery,
    at position: ReadPosition
  ) {
    self.plan = plan
    self.groupedQuery = groupedQuery
    query = FetchQuery(
      composer: composer, definition: plan.definition, position: position, needsOrder: false)
    writer = ConditionWriter(GroupedQueryScope(query.scope, groupedQuery))
  }

  /// Selects the dictionaries of the window, and one more if that shows whether more exist.
  package mutating func window() -> GroupedQueryStatement {
    var columns: [GroupedColumn] = []
    var values: [SQLFragment] = []
    for column in groupedQuery.columns {
      let operand = writer.operand(column.value)
      let value = selected(operand)
      let index = indexes[value] ?? Int32(values.count)
      if indexes.updateValue(index, forKey: value) == nil { values.append(value) }
      columns.append(shown(column, operand, at: index))
    }
    let order = orderTerms()
    var sql = select(values.joined())
    sql.append(" ORDER BY ")
    sql.append(order.joined())
    let limit = plan.window.limit.map { $0 + (plan.isCapped ? 1 : 0) }
    sql.appendWindow(limit: limit, offset: plan.window.offset, dialect)
    return GroupedQueryStatement(sql: finished(sql), columns: columns)
  }

  /// Counts the dictionaries without the window.
  package mutating func total() -> SQLFragment {
    var values = [SQLFragment("1")]
    if groupedQuery.isDistinct {
      values = groupedQuery.columns.map { distinguished(writer.operand($0.value)) }
    } else if groupedQuery.isAggregated, groupedQuery.groups.isEmpty {
      // Without an aggregate in its list, a SELECT without GROUP BY would return a row for each
      // object.
      values = [SQLFragment("count(*)")]
    }
    let rows = select(values.joined())
    return finished(SQLFragment("SELECT count(*) FROM (") + rows + ")\(dialect.subqueryName)")
  }

  private var dialect: Dialect { query.context.schema.dialect }

  // MARK: Parts

  private mutating func select(_ values: SQLFragment) -> SQLFragment {
    let groups = groupedQuery.groups.flatMap { grouped(writer.operand($0)) }
    let having =
      groupedQuery.having == .constant(true)
      ? nil : writer.write(groupedQuery.having, between: .ands)
    query.scope = writer.scopes[0].objects
    var sql = SQLFragment(groupedQuery.isDistinct ? "SELECT DISTINCT " : "SELECT ")
    sql.append(values)
    sql.append(query.body)
    if !groups.isEmpty {
      sql.append(" GROUP BY ")
      sql.append(groups.joined())
    }
    if let having {
      sql.append(" HAVING ")
      sql.append(having)
    }
    return sql
  }

  private func finished(_ sql: SQLFragment) -> SQLFragment {
    query.context.withClause() + sql
  }

  /// Values with different code points are distinct, whatever collation their column declares.
  private func distinguished(_ operand: SQLOperand) -> SQLFragment { operand.collated }

  /// Returns the terms of GROUP BY for a value. PostgreSQL lets other expressions use a column only if the
  /// column itself is among them, without a collation. It divides no group: values with the same text
  /// are equal.
  private func grouped(_ operand: SQLOperand) -> [SQLFragment] {
    let value = distinguished(operand)
    guard dialect.hasTypedColumns, let column = operand.lookup?.sql else { return [value] }
    return [value, SQLFragment(column)]
  }

  /// Returns a value for ORDER BY. SELECT DISTINCT of PostgreSQL is ordered by what it selects only,
  /// which a number of the list names also where it has parameters.
  private func ordered(_ operand: SQLOperand) -> SQLFragment {
    guard groupedQuery.isDistinct, dialect.hasTypedColumns,
      let index = indexes[selected(operand)]
    else { return distinguished(operand) }
    return SQLFragment("\(index + 1)")
  }

  /// Returns a value as stored; for grouped rows its comparison key. Sums of decimals keep their
  /// digits.
  private func selected(_ operand: SQLOperand) -> SQLFragment {
    if operand.decimal != nil, let sum = operand.stored { return sum }
    if isMerged { return distinguished(operand) }
    return operand.output ?? operand.stored ?? distinguished(operand)
  }

  /// True if one dictionary may represent several objects.
  private var isMerged: Bool { groupedQuery.isDistinct || groupedQuery.isAggregated }

  // MARK: Order

  private mutating func orderTerms() -> [SQLFragment] {
    var terms = groupedQuery.order.map { term(for: $0) }
    // SELECT DISTINCT of PostgreSQL is ordered by what it selects only.
    if groupedQuery.isAggregated, !(groupedQuery.isDistinct && dialect.hasTypedColumns) {
      terms += groupedQuery.groups.map { ascending(writer.operand($0)) }
    }
    if groupedQuery.isDistinct {
      terms += groupedQuery.columns.map { ascending(writer.operand($0.value)) }
    }
    if !groupedQuery.isAggregated, !groupedQuery.isDistinct { terms.append(id) }
    return terms.isEmpty ? [SQLFragment("1")] : terms
  }

  /// The values in ascending order, nil first.
  private func ascending(_ operand: SQLOperand) -> SQLFragment {
    ordered(operand)
      + dialect.nullsClause(.first, .ascending, mayBeNull: operand.mayBeNull)
  }

  private mutating func term(for term: GroupedQuery.OrderTerm) -> SQLFragment {
    let operand = writer.operand(term.value)
    var sql = ordered(operand)
    if !term.options.isEmpty {
      let folded = SQLFragment("livefetch_fold(") + operand.sql + ", \(term.options.rawValue))"
      sql = SQLFragment(dialect.derivedText(folded.text), bindings: folded.bindings)
    }
    if term.direction == .descending { sql.append(" DESC") }
    sql.append(dialect.nullsClause(term.nils, term.direction, mayBeNull: operand.mayBeNull))
    return sql
  }

  private var id: SQLFragment {
    let key = query.context.schema.entities[plan.definition.entity].key
    return SQLFragment(
      writer.scopes[0].objects.idExpression
        + (key.isBinaryCollated ? "" : dialect.collation(key.idType)))
  }

  // MARK: Columns

  private func shown(
    _ column: GroupedQuery.Column, _ operand: SQLOperand, at index: Int32
  ) -> GroupedColumn {
    var key: [UInt8] = []
    key.append(jsonString: column.key)
    key.append(0x3A)
    var format = ValueFormat(
      SQLColumn(sql: "", type: column.type, dateFormat: operand.dateFormat))
    if case .path(let path) = column.value, path.path.target == .object, format == .number {
      format = .id
    }
    if plan.integersAsStrings { format = format.withLargeIntegersAsStrings }
    return GroupedColumn(
      index: index, key: key, format: format, isDecimal: column.type == .decimal,
      isDouble: column.type == .double, isCollection: isCollection(column.value),
      encoding: isMerged || operand.stored == nil ? operand.encoding : nil)
  }

  private func isCollection(_ value: ResolvedExpression) -> Bool {
    guard case .path(let path) = value, let aggregate = groupedQuery.aggregate(path.path) else {
      return false
    }
    return aggregate.function == nil
  }
}
