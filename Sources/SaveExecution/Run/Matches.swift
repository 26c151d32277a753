// The rows that a batch changes: a condition of the composer, or a set of ids.

import FetchModel
import SQLComposer

/// The matching rows of a table.
struct Matches {
  let table: SaveTable
  private let alias: String
  private let from: String
  private let condition: SQLFragment
  /// The table expressions of access rules.
  private let with: SQLFragment

  /// - Parameter rules: The rules for what the predicate sees.
  init(
    _ predicate: ResolvedPredicate, of table: SaveTable, model: Model, schema: Schema,
    rules: ReadRules? = nil
  ) {
    let context = QueryContext(model: model, schema: schema)
    if let rules { context.restrict(to: rules) }
    alias = context.nextAlias()
    var scope = JoinBuilder(
      context: context, entity: table.index, alias: alias,
      source: "\(table.table.quotedName) AS \(quoted(alias))")
    var condition = SQLFragment(table.key.presenceCondition(alias) ?? "")
    let filter = PredicateCompiler.condition(
      of: predicate.and(model.membership(of: table.index)), in: &scope)
    if !condition.text.isEmpty, !filter.text.isEmpty { condition.append(" AND ") }
    condition.append(filter)
    self.table = table
    self.condition = condition
    from = scope.from
    with = context.withClause()
  }

  init(_ ids: Set<ObjectID>, of table: SaveTable) {
    self.table = table
    alias = "t0"
    from = "\(table.table.quotedName) AS \(quoted(alias))"
    let restriction = IDRestriction(key: table.key, ids: ids)
    condition = SQLFragment(restriction.condition(alias), bindings: restriction.bindings)
    with = SQLFragment()
  }

  /// `SELECT … FROM … WHERE … LIMIT …`
  private func select(_ list: String, upTo limit: Int? = nil) -> SQLFragment {
    var fragment = with
    fragment.append("SELECT \(list) FROM \(from)")
    if !condition.text.isEmpty {
      fragment.append(" WHERE ")
      fragment.append(condition)
    }
    if let limit {
      fragment.append(" LIMIT ")
      fragment.bind(.integer(Int64(limit)))
    }
    return fragment
  }

  /// Selects columns of every matching row.
  func columns(_ names: [String]) -> SQLFragment {
    select(names.map { qualified($0, alias) }.joined(separator: ", "))
  }

  /// Selects the ids of the matching rows, up to `limit`; all of them if it is nil.
  func ids(upTo limit: Int? = nil) -> SQLFragment {
    select(table.key.idExpression(alias), upTo: limit)
  }

  /// Counts the matching rows, up to `limit`; all of them if it is nil.
  func count(upTo limit: Int?) -> SQLFragment {
    var fragment = SQLFragment("SELECT count(*) FROM (")
    fragment.append(select("1", upTo: limit))
    fragment.append(") AS matches")
    return fragment
  }

  /// `"id" IN (SELECT …)`
  ///
  /// - Parameter lock: The lock of the matching rows, taken before the first one is changed.
  func membership(_ lock: RowLock?) -> SQLFragment {
    let keys = table.key.columns.map(quoted).joined(separator: ", ")
    var fragment = SQLFragment(table.key.columns.count == 1 ? keys : "(\(keys))")
    fragment.append(" IN (")
    fragment.append(lock.map(locking) ?? columns(table.key.columns))
    fragment.append(")")
    return fragment
  }

  /// Selects the keys of the matching rows, and locks the rows in the order of their keys.
  func locking(_ lock: RowLock) -> SQLFragment {
    var fragment = columns(table.key.columns)
    fragment.append(lock.clauses(table.key, alias))
    return fragment
  }
}
