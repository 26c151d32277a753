// A SELECT over an entity under construction: its FROM and WHERE clauses. `FetchQuery+Order` adds
// its order, `FetchQuery+Selection` its columns.

import FetchModel

/// A SELECT over an entity, under construction.
package struct FetchQuery {
  let context: QueryContext
  let definition: ResultDefinition
  var scope: JoinBuilder
  private var fromBindings: [SQLBinding] = []
  private var condition: SQLFragment
  var columns = ResultColumns()
  var layout = RowLayout()
  var orderTerms: [OrderColumn] = []
  /// The key paths that are not NULL in any row.
  let required: Set<PropertyPath>

  /// One expression of ORDER BY.
  struct OrderColumn {
    let sql: String
    let direction: Direction
    let nils: NilPlace
    let isBinaryCollated: Bool
    let type: AttributeType
    /// True if the expression may be NULL.
    let mayBeNull: Bool
  }

  init(
    composer: FetchComposer, definition: ResultDefinition, position: ReadPosition = .now,
    ids: Set<ObjectID>? = nil, needsOrder: Bool = true
  ) {
    context = QueryContext(
      composer: composer, position: position,
      looksUpMany: ids.map { $0.count >= IDRestriction.fewestForIndex } ?? (position != .now))
    self.definition = definition
    required = definition.predicate.requiredPaths
    if let access = definition.access { context.restrict(to: access) }
    let table = composer.schema.entities[definition.entity]
    let alias = context.nextAlias()
    let restriction = ids.map { IDRestriction(key: table.key, ids: $0) }
    condition = SQLFragment()
    if context.isPast {
      let source = context.source(
        TableInfo(table), alias: alias,
        where: restriction.map { SQLFragment($0.condition(nil), bindings: $0.bindings) })
      fromBindings = source.bindings
      scope = JoinBuilder(
        context: context, entity: definition.entity, alias: alias, source: source.text)
    } else {
      scope = JoinBuilder(
        context: context, entity: definition.entity, alias: alias,
        source: "\(table.quotedName) AS \(quoted(alias))",
        required: required.relationshipPaths)
      if let restriction {
        add(SQLFragment(restriction.condition(alias), bindings: restriction.replaceableBindings))
      }
    }
    add(SQLFragment(table.key.presenceCondition(alias) ?? ""))
    add(PredicateCompiler.condition(of: definition.predicate, in: &scope))
    layout.id = columns.index(of: scope.idExpression)
    if needsOrder { addOrder() }
  }

  mutating func add(_ fragment: SQLFragment) {
    guard !fragment.text.isEmpty else { return }
    if !condition.text.isEmpty { condition.append(" AND ") }
    condition.append(fragment)
  }
}

// MARK: - Statements

extension FetchQuery {
  /// The order of the rows.
  package enum RowOrder {
    case none
    /// By the order's terms only, with ties in any order.
    case terms
    /// By the terms and then by the id.
    case total
  }

  /// - Parameter hasSpareColumn: True for one more column than the layout has, which is NULL.
  func statement(
    _ order: RowOrder, limit: Int?, offset: Int, hasSpareColumn: Bool = false
  ) -> FetchStatement {
    var fragment = context.withClause()
    let spare = hasSpareColumn ? ", NULL" : ""
    fragment.append("SELECT \(columns.list)\(spare) FROM \(scope.from)")
    fragment.bindings += fromBindings
    appendCondition(to: &fragment)
    fragment.append(orderClause(order))
    fragment.appendWindow(limit: limit, offset: offset, context.schema.dialect)
    var layout = layout
    layout.columnCount = columns.count
    return FetchStatement(fragment, layout: layout, overlays: context.overlays)
  }

  func countStatement() -> FetchStatement {
    var fragment = context.withClause()
    fragment.append("SELECT count(*) FROM \(scope.from)")
    appendCondition(to: &fragment)
    return FetchStatement(fragment, layout: layout)
  }

  /// ` FROM … WHERE …`, for callers that add the rest of the statement.
  var body: SQLFragment {
    var fragment = SQLFragment(" FROM \(scope.from)", bindings: fromBindings)
    appendCondition(to: &fragment)
    return fragment
  }

  private func appendCondition(to fragment: inout SQLFragment) {
    guard !condition.text.isEmpty else { return }
    fragment.append(" WHERE ")
    fragment.append(condition)
  }
}

extension SQLFragment {
  /// Appends the LIMIT and OFFSET of a statement, where it has any.
  mutating func appendWindow(limit: Int?, offset: Int, _ dialect: Dialect) {
    guard limit != nil || offset > 0 else { return }
    append(" LIMIT ")
    append(dialect.limit(limit))
    guard offset > 0 else { return }
    append(" OFFSET ")
    bind(.integer(Int64(offset)))
  }
}
