// One query being composed: aliases that never collide, and the tables seen as they were.
//
// A query of the present reads tables. A query of the past reads each table's rows that were not
// touched since, together with the old images of those that were; the images stand in a common
// table expression a table ("shadow"), and whatever ties a row to its neighbours is written inside
// both halves, so that the table's indexes serve.
//
// Where a table has none for what it is looked up by, SQLite makes one for the statement if that pays;
// of a table that stands alone in a subquery it takes it that it is read once. Where a query looks up
// many rows' neighbours, one row beside the table has it think better of that.

import FetchModel

/// What a query's parts share while it is composed.
final class QueryContext {
  let model: Model
  let schema: Schema
  let moment: Moment
  /// The columns whose every value is in the column's form.
  let uniform: Set<ColumnPlace>
  /// Whether the shadows stand as tables already.
  private let pastIsGathered: Bool
  /// Whether subqueries run for many rows.
  private let looksUpMany: Bool
  private var aliasCount = 0
  private(set) var shadows: [HistoryLayout] = []

  convenience init(
    composer: FetchComposer, moment: Moment = .now, looksUpMany: Bool = false
  ) {
    self.init(
      model: composer.model, schema: composer.schema, moment: moment, uniform: composer.uniform,
      pastIsGathered: composer.pastIsGathered, looksUpMany: looksUpMany)
  }

  init(
    model: Model, schema: Schema, moment: Moment = .now, uniform: Set<ColumnPlace> = [],
    pastIsGathered: Bool = false, looksUpMany: Bool = false
  ) {
    self.uniform = uniform
    self.pastIsGathered = pastIsGathered
    self.looksUpMany = looksUpMany
    self.model = model
    self.schema = schema
    self.moment = moment
  }

  var isPast: Bool { moment != .now }

  /// An alias that this query has not used yet.
  func nextAlias() -> String {
    defer { aliasCount += 1 }
    return "t\(aliasCount)"
  }

  /// `WITH …` for every shadow that was used; empty in the present and where they are gathered.
  func withClause() -> SQLFragment {
    guard case .past(let position) = moment, !shadows.isEmpty, !pastIsGathered else {
      return SQLFragment()
    }
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
      (SELECT \(columns) FROM main.\(quoted(table.name)) WHERE \(layout.isUntouched(nil))\(tie) \
      UNION ALL SELECT \(columns) FROM \(layout.shadowName) WHERE livefetch_existed\(tie)) \
      AS \(alias)
      """
    return SQLFragment(text, bindings: bindings + bindings)
  }

  /// The same, looked up by `tie`: a condition over the row of an alias, or over bare columns, and a
  /// row of the query around it.
  ///
  /// Beside a further row a bare `"rowid"` would be no column, and so a text.
  func source(_ table: TableShape, alias: String, tiedBy tie: (String?) -> String) -> String {
    let layout = shadow(table)
    let rows = table.columnNames.map { qualified($0, alias) }.joined(separator: ", ")
    let images = table.columnNames.map(quoted).joined(separator: ", ")
    return """
      (SELECT \(rows) FROM \(lookUpRow())main.\(quoted(table.name)) AS \(quoted(alias)) \
      WHERE \(layout.isUntouched(alias)) AND \(tie(alias)) \
      UNION ALL SELECT \(images) FROM \(layout.shadowName) \
      WHERE \(tie(nil)) AND livefetch_existed) AS \(quoted(alias))
      """
  }

  /// What stands in front of a table that is looked up by columns of the query around it.
  func lookUpRow() -> String {
    guard looksUpMany else { return "" }
    return "(SELECT 1 AS livefetch_one) AS \(quoted(nextAlias())) CROSS JOIN "
  }

  /// Where an object stands in an order that its link holds.
  static let place = "livefetch_place"

  /// The objects of `table` at this query's moment that links lead to, as a FROM item.
  ///
  ///     (SELECT m."id", … FROM <links> CROSS JOIN main.<table> AS m ON m."id" = <link>."tag"
  ///         WHERE m."id" NOT IN (SELECT … <shadow>)
  ///       UNION ALL SELECT m."id", … FROM <links> CROSS JOIN <shadow> AS m ON …
  ///         WHERE m.livefetch_existed)
  ///
  /// - Parameters:
  ///   - links: the links as a FROM item, which binds nothing.
  ///   - object: the alias of the table inside.
  ///   - tie: between both.
  ///   - place: SQL for ``place``, where there is an order.
  func source(
    _ table: TableShape, alias: String, over links: String, as object: String, on tie: String,
    place: String?
  ) -> String {
    let layout = shadow(table)
    let place = place.map { ["\($0) AS \(quoted(Self.place))"] } ?? []
    let columns = (table.columnNames.map { qualified($0, object) } + place)
      .joined(separator: ", ")
    return """
      (SELECT \(columns) FROM \(links) CROSS JOIN main.\(quoted(table.name)) \
      AS \(quoted(object)) ON \(tie) WHERE \(layout.isUntouched(object)) \
      UNION ALL SELECT \(columns) FROM \(links) CROSS JOIN \(layout.shadowName) \
      AS \(quoted(object)) ON \(tie) WHERE \(qualified(HistoryLayout.existed, object))) \
      AS \(quoted(alias))
      """
  }

  /// One column of the row of `table` that meets `condition` at this query's moment.
  func scalar(_ column: String, of table: TableShape, where condition: String) -> String {
    let layout = shadow(table)
    return """
      (SELECT \(quoted(column)) FROM main.\(quoted(table.name)) \
      WHERE \(layout.isUntouched(nil)) AND \(condition) \
      UNION ALL SELECT \(quoted(column)) FROM \(layout.shadowName) \
      WHERE \(condition) AND livefetch_existed)
      """
  }

  /// A step of a chain: the table that it leads to, the foreign key that leads to a row of it from the
  /// values before, and the columns that the next one leads from.
  typealias ChainStep = (table: TableShape, key: ForeignKey, columns: [String])

  /// The same over several steps: the last one's only column. Each step stands there once, whatever
  /// their number, and looks rows up in what was made once for the whole query.
  ///
  ///     (SELECT … FROM (SELECT 1) AS x
  ///       LEFT JOIN <shadow> AS s ON s."id" = <start> AND s.livefetch_existed
  ///       LEFT JOIN main.<table> AS m ON m."id" = <start> AND m."id" NOT IN (SELECT … <shadow>)
  ///       LEFT JOIN …)
  ///
  /// - Parameter start: SQL for the values that tie the first step's row.
  func chain(_ steps: [ChainStep], from start: [String]) -> String {
    var values = start
    var from = "(SELECT 1) AS \(quoted(nextAlias()))"
    for step in steps {
      let layout = shadow(step.table)
      let (old, same) = (nextAlias(), nextAlias())
      let tie = { (alias: String) in step.key.leads(to: alias, from: values) }
      let existed = qualified(HistoryLayout.existed, old)
      from += """
         LEFT JOIN \(layout.shadowName) AS \(quoted(old)) ON \(tie(old)) AND \(existed) \
        LEFT JOIN main.\(quoted(step.table.name)) AS \(quoted(same)) ON \(tie(same)) \
        AND \(layout.isUntouched(same))
        """
      values = step.columns.map { column in
        """
        CASE WHEN \(existed) IS NULL THEN \(qualified(column, same)) \
        ELSE \(qualified(column, old)) END
        """
      }
    }
    return "(SELECT \(values.first ?? "NULL") FROM \(from))"
  }

  private func shadow(_ table: TableShape) -> HistoryLayout {
    if let known = shadows.first(where: { $0.table == table.name }) { return known }
    let layout = HistoryLayout(of: table)
    shadows.append(layout)
    return layout
  }
}
