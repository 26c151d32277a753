// The terms of an order → ORDER BY, the components of the order key, and the condition of a cursor.

import FetchModel

extension FetchQuery {
  private var dialect: Dialect { context.schema.dialect }

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
      let folded = dialect.derivedText(
        DerivedValueSQL.folded(column.comparable, ignoring: term.options))
      add(folded, term, column, .string, isBinaryCollated: true)
      guard isSection else { return }
    }
    let sql = DerivedValueSQL.derived(
      term.derivation, from: column.sql, dateFormat: column.dateFormat)
    let isValue = term.derivation == .value
    if isValue, isSection, let double = column.sectioned {
      return add(double, term, column, .double, isBinaryCollated: true)
    }
    add(
      isValue ? column.ordered ?? column.comparable : dialect.derivedText(sql), term, column,
      isValue ? column.type : .string,
      isBinaryCollated: !isText)
  }

  private mutating func add(
    _ sql: String, _ term: OrderTerm, _ column: SQLColumn, _ type: AttributeType,
    isBinaryCollated: Bool
  ) {
    layout.components.append(
      RowLayout.Component(
        column: columns.index(of: sql), direction: term.direction, nils: term.nils))
    orderTerms.append(
      OrderColumn(
        sql: sql, direction: term.direction, nils: term.nils, isBinaryCollated: isBinaryCollated,
        type: type,
        // An infinite date has no day, month or year.
        mayBeNull: [.day, .month, .year].contains(term.derivation)
          || column.mayBeNull && !(term.derivation == .value && required.contains(term.path))))
  }

  func orderClause(_ order: RowOrder) -> String {
    if order == .none { return "" }
    let key = context.schema.entities[definition.entity].key
    let id = OrderColumn(
      sql: scope.idExpression, direction: .ascending, nils: .first,
      isBinaryCollated: key.isBinaryCollated, type: key.idType, mayBeNull: false)
    return " ORDER BY "
      + (order == .terms ? orderTerms : orderTerms + [id]).map { term in
        var sql = term.sql
        if !term.isBinaryCollated { sql += dialect.collation(term.type) }
        if term.direction == .descending { sql += " DESC" }
        return sql + dialect.nullsClause(term.nils, term.direction, mayBeNull: term.mayBeNull)
      }.joined(separator: ", ")
  }

  /// Excludes every row up to and including the position `key`.
  mutating func restrict(after key: OrderKey?) {
    guard let key else { return }
    let id = OrderColumn(
      sql: scope.idExpression, direction: .ascending, nils: .first, isBinaryCollated: false,
      type: context.schema.entities[definition.entity].key.idType, mayBeNull: false)
    let keyset = Keyset(columns: orderTerms + [id], key: key, dialect: dialect)
    let condition = keyset.condition
    add(condition.isCalculation ? condition.whereReadable(in: scope) : condition)
  }
}
