// FetchPlan + Schema → the SELECT statements of a fetch, each with the layout of its rows.
//
//     where=population >= 1000000  sort=-population  limit=50
//     SELECT "t0"."id", "t0"."name", … FROM "City" AS "t0" WHERE "t0"."population" >= ?
//       ORDER BY "t0"."population" DESC, "t0"."id" LIMIT ?

import FetchModel

/// A SELECT with its values and the meaning of its columns.
struct FetchStatement: Sendable {
  let sql: String
  let bindings: [SQLValue]
  let layout: RowLayout
}

/// Where the values of items come from.
enum ItemPlace { case inRows, apart }

/// Composes the statements of fetches. Composing cannot fail.
struct FetchComposer {
  let model: Model
  let schema: Schema

  /// The rows of a plan's window, in order.
  ///
  /// - Parameters:
  ///   - extra: rows asked for beyond the limit, to see whether there are more.
  ///   - items: whether the rows hold the items' values, or their ids and order alone.
  func window(
    of plan: FetchPlan, extra: Int = 0, items: ItemPlace = .inRows
  ) -> FetchStatement {
    var query = FetchQuery(composer: self, definition: plan.definition)
    if items == .inRows { query.select(plan) } else { query.formatID(plan) }
    query.restrict(behind: plan.window.after)
    return query.statement(
      isOrdered: true, limit: plan.window.limit.map { $0 + extra }, offset: plan.window.offset)
  }

  /// The order keys of a result, strictly behind `after`.
  func keys(
    of definition: ResultDefinition, after: OrderKey?, limit: Int?
  ) -> FetchStatement {
    var query = FetchQuery(composer: self, definition: definition)
    query.restrict(behind: after)
    return query.statement(isOrdered: true, limit: limit, offset: 0)
  }

  /// How many objects a result has.
  func total(of definition: ResultDefinition) -> FetchStatement {
    let query = FetchQuery(composer: self, definition: definition, needsOrder: false)
    return query.countStatement()
  }

  /// Those of `ids` that are in the result at `moment`, in no order.
  func rows(of plan: FetchPlan, ids: Set<ObjectID>, at moment: Moment) -> FetchStatement {
    var query = FetchQuery(
      composer: self, definition: plan.definition, moment: moment, ids: ids)
    query.select(plan)
    return query.statement(isOrdered: false, limit: nil, offset: 0)
  }
}

/// One SELECT over an entity, while it is composed.
struct FetchQuery {
  private let context: QueryContext
  private let definition: ResultDefinition
  private var scope: TableScope
  private var fromBindings: [SQLValue] = []
  private var condition: SQLFragment
  private var columns = ResultColumns()
  private(set) var layout = RowLayout()
  private var orderTerms: [OrderColumn] = []

  /// One expression of ORDER BY.
  struct OrderColumn {
    let sql: String
    let direction: Direction
    let nils: NilPlace
    let isBinary: Bool
    /// Whether rows can be nil there.
    let mayBeNull: Bool
  }

  init(
    composer: FetchComposer, definition: ResultDefinition, moment: Moment = .now,
    ids: Set<ObjectID>? = nil, needsOrder: Bool = true
  ) {
    context = QueryContext(model: composer.model, schema: composer.schema, moment: moment)
    self.definition = definition
    let table = composer.schema.entities[definition.entity]
    let alias = context.nextAlias()
    let restriction = ids.map { IDRestriction(key: table.key, ids: $0) }
    condition = SQLFragment()
    if context.isPast {
      let source = context.source(
        TableShape(table), alias: alias, where: restriction?.condition(nil),
        bindings: restriction?.bindings ?? [])
      fromBindings = source.bindings
      scope = TableScope(
        context: context, entity: definition.entity, alias: alias, source: source.text)
    } else {
      scope = TableScope(
        context: context, entity: definition.entity, alias: alias,
        source: "\(table.quotedName) AS \(quoted(alias))")
      if let restriction {
        add(SQLFragment(restriction.condition(alias), bindings: restriction.bindings))
      }
    }
    add(SQLFragment(table.key.presenceCondition(alias) ?? ""))
    add(PredicateCompiler.condition(of: definition.predicate, in: &scope))
    layout.id = columns.index(of: scope.idExpression)
    layout.idFormat = table.key.idType == .integer ? .number : .text
    if needsOrder { addOrder() }
  }

  private mutating func add(_ fragment: SQLFragment) {
    guard !fragment.text.isEmpty else { return }
    if !condition.text.isEmpty { condition.append(" AND ") }
    condition.append(fragment)
  }
}

// MARK: - Order

extension FetchQuery {
  private mutating func addOrder() {
    if let section = definition.section {
      add(section, isSection: true)
      layout.sectionComponents = layout.components.count
    }
    for term in definition.order { add(term, isSection: false) }
  }

  private mutating func add(_ term: OrderTerm, isSection: Bool) {
    let column = scope.column(term.path)
    let isText = !column.isBinaryCollated
    if !term.options.isEmpty {
      add(FoldingSQL.fold(column.sql, term.options), term, column, isBinary: true)
      guard isSection else { return }
    }
    add(FoldingSQL.derive(column, term.derivation), term, column, isBinary: !isText)
  }

  private mutating func add(
    _ sql: String, _ term: OrderTerm, _ column: SQLColumn, isBinary: Bool
  ) {
    layout.components.append(
      RowLayout.Component(
        column: columns.index(of: sql), direction: term.direction, nils: term.nils))
    orderTerms.append(
      OrderColumn(
        sql: sql, direction: term.direction, nils: term.nils, isBinary: isBinary,
        mayBeNull: column.mayBeNull))
  }

  private var orderClause: String {
    let key = context.schema.entities[definition.entity].key
    let id = OrderColumn(
      sql: scope.idExpression, direction: .ascending, nils: .first,
      isBinary: key.idType == .integer || !key.isPlain, mayBeNull: false)
    return " ORDER BY "
      + (orderTerms + [id]).map { term in
        var sql = term.sql
        if !term.isBinary { sql += " COLLATE BINARY" }
        if term.direction == .descending { sql += " DESC" }
        // SQLite's own order has nil first ascending and last descending.
        if term.mayBeNull, term.nils != (term.direction == .ascending ? .first : .last) {
          sql += term.nils == .first ? " NULLS FIRST" : " NULLS LAST"
        }
        return sql
      }.joined(separator: ", ")
  }

  /// Leaves out everything up to and with the place at `key`.
  mutating func restrict(behind key: OrderKey?) {
    guard let key else { return }
    let id = OrderColumn(
      sql: scope.idExpression, direction: .ascending, nils: .first, isBinary: false,
      mayBeNull: false)
    add(Keyset(columns: orderTerms + [id], key: key).condition)
  }
}

// MARK: - Selection

extension FetchQuery {
  mutating func formatID(_ plan: FetchPlan) {
    if plan.integersAsStrings, layout.idFormat == .number { layout.idFormat = .largeNumberAsString }
  }

  /// Adds the values of a plan's items.
  mutating func select(_ plan: FetchPlan) {
    formatID(plan)
    guard plan.shape == .objects else { return }
    for value in plan.selection {
      let (sql, format) = expression(of: value.source)
      layout.addValue(
        key: value.key, column: columns.index(of: sql),
        format: format == .number && plan.integersAsStrings ? .largeNumberAsString : format)
    }
  }

  private mutating func expression(
    of source: SelectedValue.Source
  ) -> (sql: String, format: ValueFormat) {
    switch source {
    case .path(let path):
      let column = scope.column(path)
      return (column.sql, ValueFormat(column))
    case .ids(let path):
      let inner = scope.over(path.steps)
      let id = inner.idExpression
      return ("(\(Self.idList(id, inner)))", .ids)
    case .etag:
      let table = context.schema.entities[definition.entity]
      return (table.etagExpression(scope.alias), .text)
    }
  }

  /// The ids of a subquery's objects as a JSON array, ascending, each once.
  private static func idList(_ id: String, _ inner: TableScope) -> String {
    let tie = inner.correlation.isEmpty ? "" : " WHERE \(inner.correlation)"
    return "SELECT json_group_array(v) FROM (SELECT DISTINCT \(id) AS v FROM \(inner.from)\(tie)"
      + " ORDER BY v COLLATE BINARY)"
  }
}

// MARK: - Statements

extension FetchQuery {
  func statement(isOrdered: Bool, limit: Int?, offset: Int) -> FetchStatement {
    var fragment = context.withClause()
    fragment.append("SELECT \(columns.list) FROM \(scope.from)")
    fragment.bindings += fromBindings
    appendCondition(to: &fragment)
    if isOrdered { fragment.append(orderClause) }
    if limit != nil || offset > 0 {
      fragment.append(" LIMIT ")
      fragment.bind(.integer(Int64(limit ?? -1)))
    }
    if offset > 0 {
      fragment.append(" OFFSET ")
      fragment.bind(.integer(Int64(offset)))
    }
    return FetchStatement(sql: fragment.text, bindings: fragment.bindings, layout: layout)
  }

  func countStatement() -> FetchStatement {
    var fragment = SQLFragment("SELECT count(*) FROM \(scope.from)")
    appendCondition(to: &fragment)
    return FetchStatement(sql: fragment.text, bindings: fragment.bindings, layout: layout)
  }

  private func appendCondition(to fragment: inout SQLFragment) {
    guard !condition.text.isEmpty else { return }
    fragment.append(" WHERE ")
    fragment.append(condition)
  }
}

extension ValueFormat {
  /// The format of a column's values.
  init(_ column: SQLColumn) {
    self =
      switch column.type {
      case .integer, .double, .decimal: .number
      case .boolean: .boolean
      case .string, .uri: .text
      case .date: .date(column.dateFormat ?? .iso8601)
      case .binary: .binary
      case .uuid: .uuid
      case .json: .json
      }
  }
}
