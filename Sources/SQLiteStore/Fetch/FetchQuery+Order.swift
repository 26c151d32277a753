// The terms of an order → ORDER BY, the components of the order key, and the condition of a cursor.

import FetchModel

extension FetchQuery {
  mutating func addOrder() {
    if let section = definition.section {
      add(section, isSection: true)
      layout.sectionComponents = layout.components.count
    }
    for term in definition.order { add(term, isSection: false) }
  }

  private mutating func add(_ term: OrderTerm, isSection: Bool) {
    let column = scope.column(term.path)
    let isText = !column.isComparableBinary
    if !term.options.isEmpty {
      add(FoldingSQL.fold(column.comparable, term.options), term, column, isBinary: true)
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
        mayBeNull: column.mayBeNull
          && !(term.derivation == .value && required.contains(term.path))))
  }

  func orderClause(_ order: RowOrder) -> String {
    if order == .none { return "" }
    let key = context.schema.entities[definition.entity].key
    let id = OrderColumn(
      sql: scope.idExpression, direction: .ascending, nils: .first,
      isBinary: key.idType == .integer || !key.isPlain, mayBeNull: false)
    return " ORDER BY "
      + (order == .terms ? orderTerms : orderTerms + [id]).map { term in
        var sql = term.sql
        if !term.isBinary { sql += " COLLATE BINARY" }
        if term.direction == .descending { sql += " DESC" }
        // SQLite's default order has NULL first in ascending and last in descending order.
        if term.mayBeNull, term.nils != (term.direction == .ascending ? .first : .last) {
          sql += term.nils == .first ? " NULLS FIRST" : " NULLS LAST"
        }
        return sql
      }.joined(separator: ", ")
  }

  /// Excludes every row up to and including the position `key`.
  mutating func restrict(behind key: OrderKey?) {
    guard let key else { return }
    let id = OrderColumn(
      sql: scope.idExpression, direction: .ascending, nils: .first, isBinary: false,
      mayBeNull: false)
    add(Keyset(columns: orderTerms + [id], key: key).condition)
  }
}
