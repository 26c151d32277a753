// One query being composed: aliases that never collide, and the tables seen as they were.
//
// A query of the present reads tables. A query of the past reads each table's rows that were not
// touched since, together with the old images of those that were; the images stand in a common
// table expression a table ("shadow"), and whatever ties a row to its neighbours is written inside
// both halves, so that the table's indexes serve.

import FetchModel

/// What a query's parts share while it is composed.
final class QueryContext {
  let model: Model
  let schema: Schema
  let moment: Moment
  /// The columns whose every value is in the column's form.
  let uniform: Set<ColumnPlace>
  private var aliasCount = 0
  private(set) var shadows: [HistoryLayout] = []
  /// The table that each alias stands for, quoted.
  private var tables: [String: String] = [:]

  convenience init(composer: FetchComposer, moment: Moment = .now) {
    self.init(
      model: composer.model, schema: composer.schema, moment: moment, uniform: composer.uniform)
  }

  init(
    model: Model, schema: Schema, moment: Moment = .now, uniform: Set<ColumnPlace> = []
  ) {
    self.uniform = uniform
    self.model = model
    self.schema = schema
    self.moment = moment
  }

  var isPast: Bool { moment != .now }

  /// An alias for `table` that this query has not used yet.
  func nextAlias(of table: String) -> String {
    defer { aliasCount += 1 }
    let alias = "t\(aliasCount)"
    tables[alias] = quoted(table)
    return alias
  }

  /// The table behind an alias, quoted.
  func table(of alias: String) -> String? { tables[alias] }

  /// `WITH …` for every shadow that was used; empty in the present.
  func withClause() -> SQLFragment {
    guard case .past(let position) = moment, !shadows.isEmpty else { return SQLFragment() }
    var fragment = SQLFragment("WITH ")
    for (index, layout) in shadows.enumerated() {
      if index > 0 { fragment.append(", ") }
      fragment.append(layout.shadowExpression)
      fragment.bindings.append(.integer(position))
    }
    fragment.append(" ")
    return fragment
  }

  /// The rows of `table` at this query's moment, restricted by `condition`, as a FROM item.
  ///
  /// - Parameters:
  ///   - condition: over the bare column names; nil for every row.
  ///   - bindings: of `condition`, once.
  func source(
    _ table: TableShape, alias: String, where condition: String?, bindings: [SQLValue] = []
  ) -> SQLFragment {
    let columns = table.columnNames.map(quoted).joined(separator: ", ")
    let layout = shadow(table)
    let tie = condition.map { " AND \($0)" } ?? ""
    let text = """
      (SELECT \(columns) FROM main.\(quoted(table.name)) WHERE \(layout.isUntouched)\(tie) \
      UNION ALL SELECT \(columns) FROM \(layout.shadowName) WHERE livefetch_existed\(tie)) \
      AS \(alias)
      """
    return SQLFragment(text, bindings: bindings + bindings)
  }

  /// One column of the row of `table` that meets `condition` at this query's moment.
  func scalar(_ column: String, of table: TableShape, where condition: String) -> String {
    let layout = shadow(table)
    return """
      (SELECT \(quoted(column)) FROM main.\(quoted(table.name)) \
      WHERE \(condition) AND \(layout.isUntouched) \
      UNION ALL SELECT \(quoted(column)) FROM \(layout.shadowName) \
      WHERE livefetch_existed AND \(condition))
      """
  }

  /// The same over any number of steps: one call whose statements each find the row for the next.
  ///
  /// - Parameters:
  ///   - steps: the tables, what ties each to the row before it (its columns, in the order of the
  ///     values given), and what is read of it.
  ///   - start: SQL for the values that the first statement is given.
  func walk(
    _ steps: [(table: TableShape, tie: [String], columns: [String])], from start: [String]
  ) -> String {
    let statements = steps.map { step in
      let layout = HistoryLayout(of: step.table)
      let columns = step.columns.map(quoted).joined(separator: ", ")
      let tie = step.tie.enumerated().map { "\(quoted($1)) = ?\($0 + 1)" }
        .joined(separator: " AND ")
      return literal(
        """
        WITH \(layout.shadowExpression(after: position)) \
        SELECT \(columns) FROM main.\(quoted(step.table.name)) \
        WHERE \(tie) AND \(layout.isUntouched) \
        UNION ALL SELECT \(columns) FROM \(layout.shadowName) \
        WHERE livefetch_existed AND \(tie)
        """)
    }
    let arguments = ["\(statements.count)"] + statements + start
    return "livefetch_walk(\(arguments.joined(separator: ", ")))"
  }

  private var position: String {
    if case .past(let position) = moment { "\(position)" } else { "0" }
  }

  private func shadow(_ table: TableShape) -> HistoryLayout {
    if let known = shadows.first(where: { $0.table == table.name }) { return known }
    let layout = HistoryLayout(of: table)
    shadows.append(layout)
    return layout
  }
}
