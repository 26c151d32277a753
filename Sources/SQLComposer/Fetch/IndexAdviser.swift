// A plan and the reads of tables in the database's query plan for it → indexes that would help. Advice
// only: the user decides whether an index is worth its space and the additional time of each save.
//
//     read of a table                          columns of the suggested index
//     every row of t0                          those of equalities, then of the order or a range
//     rows of t0 that are sorted afterwards,   the same
//     with a limit
//     t1 through a temporary index             those that SQLite indexes again for each query
//     every row of t1 for one object           the foreign key by which t1 is joined
//
// The alias t0 names the table of the fetched entity, t1 and so on the joined ones.

import FetchModel

/// A step of a query plan that reads a table.
package struct TableRead {
  /// How the step finds its rows.
  package enum Method {
    case everyRow
    /// The rows that an index finds.
    case foundRows
    /// The rows that an index finds which is made for this query, with its columns.
    case temporaryIndex([String])
  }

  package let alias: String
  let method: Method
  /// True if the rows are sorted afterwards.
  let isSorted: Bool

  package init(alias: String, method: Method, isSorted: Bool) {
    self.alias = alias
    self.method = method
    self.isSorted = isSorted
  }
}

/// Suggests indexes for the statement `sql` of `plan`.
package struct IndexAdviser {
  private let plan: FetchPlan
  private let model: Model
  private let schema: Schema
  private let sql: String

  package init(plan: FetchPlan, composer: FetchComposer, sql: String) {
    self.plan = plan
    self.model = composer.model
    self.schema = composer.schema
    self.sql = sql
  }

  /// Returns index suggestions.
  ///
  /// - Parameters:
  ///   - reads: The reads of tables in the statement's query plan.
  ///   - isServed: Returns true if an existing index serves as well.
  package func hints(
    for reads: [TableRead], isServed: (IndexSuggestion) throws(StoreError) -> Bool
  ) throws(StoreError) -> [Explanation.Hint] {
    var hints: [Explanation.Hint] = []
    for read in reads {
      let (suggestions, reason) = suggestions(for: read)
      for suggestion in suggestions where !suggestion.terms.isEmpty {
        if try isServed(suggestion) { continue }
        let hint = Explanation.Hint(index: suggestion.statement, reason: reason)
        if !hints.contains(hint) { hints.append(hint) }
        break
      }
    }
    return hints
  }

  /// Returns the indexes of which one may help, and the reason.
  private func suggestions(for read: TableRead) -> ([IndexSuggestion], reason: String) {
    guard let table = table(withAlias: read.alias) else { return ([], "") }
    let root = schema.entities[plan.definition.entity]
    switch read.method {
    case .temporaryIndex(let columns):
      let terms = columns.map { IndexSuggestion.Term(column: $0) }
      return (
        [IndexSuggestion(table: table, terms: terms)],
        "SQLite indexes `\(table)` again for every such query"
      )
    case .everyRow where read.alias == "t0":
      let reason = "every row of `\(table)` is read" + (read.isSorted ? " and sorted" : "")
      return ([IndexSuggestion(table: table, terms: leadingTerms(of: root))], reason)
    case .everyRow:
      return (
        joinIndexes(on: table), "every row of `\(table)` is read to find those of one object"
      )
    case .foundRows:
      guard read.alias == "t0", read.isSorted, plan.window.limit != nil else { return ([], "") }
      return (
        [IndexSuggestion(table: table, terms: leadingTerms(of: root))],
        "the rows found are sorted"
      )
    }
  }

  /// Returns the table with this alias in the statement.
  private func table(withAlias alias: String) -> String? {
    guard let end = sql.firstRange(of: "\" AS \"\(alias)\"") else { return nil }
    // The text before the alias ends with the table's quoted name. A name that contains a quotation mark
    // may end with another name; the longest is meant.
    let text = sql[..<end.lowerBound]
    let names = (schema.entities.map(\.name) + schema.joinTables.map(\.name))
    return names.filter { text.hasSuffix(quoted($0).dropLast()) }.max { $0.count < $1.count }
  }

  /// Returns an index for each foreign key by which a path of the plan reaches `table`.
  private func joinIndexes(on table: String) -> [IndexSuggestion] {
    var indexes: [IndexSuggestion] = []
    for path in plan.paths {
      var entity = path.root
      for step in path.steps {
        switch schema.entities[entity].relationships[step] {
        case .inverse(let key)
        where schema.entities[destination(of: entity, step: step)].name == table:
          indexes.append(IndexSuggestion(table: table, terms: key.indexTerms))
        case .joinTable(let index, let source, let other)
        where schema.joinTables[index].name == table:
          let terms = source.indexTerms
          indexes.append(
            IndexSuggestion(
              table: table,
              terms: terms.isEmpty ? [] : terms + other.columns.map { .init(column: $0) }))
        default: break
        }
        entity = destination(of: entity, step: step)
      }
    }
    return indexes
  }

  private func destination(of entity: Int, step: Int) -> Int {
    model.entities[entity].relationships[step].destination
  }
}

extension ForeignKey {
  /// The first columns of an index that finds the rows that refer to one object; empty if no index
  /// can.
  fileprivate var indexTerms: [IndexSuggestion.Term] {
    guard comparisons.allSatisfy({ $0.conversion == .none }) else { return [] }
    // Where the column's own collation is coarser than the comparison's, an index with it serves as well.
    return zip(columns, comparisons).map { column, comparison in
      IndexSuggestion.Term(
        column: column,
        collation: comparison.hasCoarserCollation ? nil : comparison.collation.map { quoted($0) })
    }
  }
}

// MARK: - The leading columns of an index for the root

extension IndexAdviser {
  /// Returns the columns of equalities, then those of the order; instead of the order the column of a
  /// range, if it is not the order's first column. Empty if the key finds the rows.
  private func leadingTerms(of root: EntityTable) -> [IndexSuggestion.Term] {
    guard !conjuncts.contains(where: \.findsByID) else { return [] }
    var equal: [IndexSuggestion.Term] = []
    var ranges: [IndexSuggestion.Term] = []
    for condition in conjuncts {
      guard let (path, use) = indexable(condition), let term = term(path, root, use)
      else { continue }
      if use == .equality { equal.append(term) } else { ranges.append(term) }
    }
    let order = orderTerms(of: root).filter { term in !equal.contains { $0.column == term.column } }
    let areServedByOrder = ranges.allSatisfy { range in order.first?.column == range.column }
    let rest = areServedByOrder ? order : Array(ranges.prefix(1))
    var terms: [IndexSuggestion.Term] = []
    for term in equal + rest where !terms.contains(where: { $0.column == term.column }) {
      terms.append(term)
    }
    return terms
  }

  private var conjuncts: [Condition] {
    if case .and(let conditions) = plan.definition.predicate.condition { return conditions }
    return [plan.definition.predicate.condition]
  }

  /// Returns the path whose column an index finds the rows of `condition` by; nil if none can.
  private func indexable(_ condition: Condition) -> (PropertyPath, IndexUse)? {
    switch condition {
    case .comparison(let comparison)
    where !comparison.isNegated && comparison.options.isEmpty && comparison.right.constant != nil:
      guard let path = comparison.left.ownPath else { return nil }
      switch comparison.relation {
      case .equal: return (path, .equality)
      case .less, .lessOrEqual, .greater, .greaterOrEqual, .beginsWith: return (path, .range)
      default: return nil
      }
    case .between(let interval) where !interval.isNegated:
      return interval.value.ownPath.map { ($0, .range) }
    case .membership(let membership) where !membership.isNegated && membership.options.isEmpty:
      return membership.value.ownPath.map { ($0, .equality) }
    default: return nil
    }
  }

  /// Returns the column of the root's own row that a path reads; nil for the key, for other tables and
  /// for columns that no index serves.
  private func term(
    _ path: PropertyPath, _ root: EntityTable, _ use: IndexUse
  ) -> IndexSuggestion.Term? {
    column(path, root).flatMap { schema.dialect.indexTerm($0, use) }
  }

  private func column(_ path: PropertyPath, _ root: EntityTable) -> Column? {
    switch (path.steps.count, path.target) {
    case (0, .attribute(let index)):
      guard root.attributeColumns.indices.contains(index) else { return nil }
      return root.column(ofAttribute: index)
    case (1, .object):
      guard case .foreignKey(let key) = root.relationships[path.steps[0]], key.referencesKey,
        key.columns.count == 1
      else { return nil }
      return root.columns.first { $0.name == key.columns[0] }
    default: return nil
    }
  }

  /// Returns the first terms of the order, or of the groups, that an index can contain.
  private func orderTerms(of root: EntityTable) -> [IndexSuggestion.Term] {
    let required = plan.definition.predicate.requiredPaths
    if let section = plan.definition.section, let column = column(section.path, root),
      schema.dialect.double("", column) != nil
    {
      return []
    }
    var terms: [IndexSuggestion.Term] = []
    for term in (plan.definition.section.map { [$0] } ?? []) + plan.definition.order {
      guard term.derivation == .value, term.options.isEmpty,
        let column = orderTerm(
          term.path, root, term.direction, term.nils, isRequired: required.contains(term.path))
      else { return terms }
      terms.append(column)
    }
    for value in plan.groupedQuery?.groups ?? [] {
      guard let path = value.ownPath, let column = orderTerm(path, root, .ascending, .first)
      else { return terms }
      terms.append(column)
    }
    guard let groupedQuery = plan.groupedQuery, !groupedQuery.isAggregated else { return terms }
    for term in groupedQuery.order {
      guard term.options.isEmpty, let path = term.value.ownPath,
        let column = orderTerm(path, root, term.direction, term.nils)
      else { return terms }
      terms.append(column)
    }
    return terms
  }

  /// - Parameter isRequired: True if no row of the statement has NULL at the path.
  private func orderTerm(
    _ path: PropertyPath, _ root: EntityTable, _ direction: Direction, _ nils: NilPlace,
    isRequired: Bool = false
  ) -> IndexSuggestion.Term? {
    guard let column = column(path, root) else { return nil }
    let mayBeNull = !isRequired && (!column.isNotNull || path.target == .object)
    let nulls = schema.dialect.nullsClause(nils, direction, mayBeNull: mayBeNull)
    return schema.dialect.indexTerm(
      column, .order(.init(isDescending: direction == .descending, nulls: nulls)))
  }
}

extension Condition {
  /// True if the key's own index finds the rows.
  fileprivate var findsByID: Bool {
    switch self {
    case .comparison(let comparison):
      comparison.relation == .equal && !comparison.isNegated && comparison.right.constant != nil
        && comparison.left.ownPath?.isID == true
    case .membership(let membership):
      !membership.isNegated && membership.value.ownPath?.isID == true
    default: false
    }
  }
}

extension ResolvedExpression {
  /// The path that it reads from an object of the query itself; nil for other expressions.
  fileprivate var ownPath: PropertyPath? {
    guard case .path(let path) = self, path.scope == 0 else { return nil }
    return path.path
  }
}

extension PropertyPath {
  fileprivate var isID: Bool { steps.isEmpty && target == .object }
}
