// A plan and SQLite's query plan for it → indexes that would help. Advice only: the user decides
// whether an index is worth its space and the additional time of each save.
//
//     line of the query plan                      columns of the suggested index
//     SCAN t0                                     those of equalities, then of the order or a range
//     SEARCH t1 USING AUTOMATIC … (country=?)     those that SQLite indexes again for each query
//     SCAN t1                                     the foreign key by which t1 is joined
//
// The alias t0 names the table of the fetched entity, t1 and so on the joined ones.

import FetchModel
import SQLComposer

/// Suggests indexes for the statement `sql` of `plan`.
struct IndexAdviser {
  let plan: FetchPlan
  let model: Model
  let schema: Schema
  let sql: String

  /// Returns index suggestions.
  ///
  /// - Parameters:
  ///   - details: The lines of EXPLAIN QUERY PLAN.
  ///   - indexes: Returns the columns of each index of a table.
  func hints(
    for details: [String], indexes: (String) throws(StoreError) -> [[String?]]
  ) throws(StoreError) -> [Explanation.Hint] {
    let sorts = details.contains { $0.hasPrefix("USE TEMP B-TREE FOR ORDER BY") }
    var hints: [Explanation.Hint] = []
    for detail in details {
      guard let (suggestion, reason) = suggestion(for: detail, sorts: sorts),
        !suggestion.terms.isEmpty
      else {
        continue
      }
      let known = try indexes(suggestion.table)
      guard !known.contains(where: suggestion.isServed(by:)) else { continue }
      let hint = Explanation.Hint(index: suggestion.statement, reason: reason)
      if !hints.contains(hint) { hints.append(hint) }
    }
    return hints
  }

  private func suggestion(for detail: String, sorts: Bool) -> (IndexSuggestion, reason: String)? {
    let words = detail.split(separator: " ")
    guard words.count > 1, let table = table(withAlias: String(words[1])) else { return nil }
    let root = schema.entities[plan.definition.entity]
    let isRoot = words[1] == "t0"
    if detail.contains("USING AUTOMATIC") {
      let suggestion = IndexSuggestion(table: table, terms: Self.columns(inParentheses: detail))
      return (suggestion, "SQLite indexes `\(table)` again for every such query")
    }
    switch words[0] {
    case "SCAN" where isRoot:
      let reason =
        sorts
        ? "every row of `\(table)` is read and sorted" : "every row of `\(table)` is read"
      return (IndexSuggestion(table: table, terms: leadingTerms(of: root)), reason)
    case "SCAN":
      return joinIndex(on: table).map {
        ($0, "every row of `\(table)` is read to find those of one object")
      }
    case "SEARCH" where isRoot && sorts && plan.window.limit != nil:
      return (
        IndexSuggestion(table: table, terms: leadingTerms(of: root)), "the rows found are sorted"
      )
    default: return nil
    }
  }

  /// Returns the table with this alias in the statement.
  private func table(withAlias alias: String) -> String? {
    guard let end = sql.firstRange(of: "\" AS \"\(alias)\"") ?? sql.firstRange(of: "\" AS \(alias)")
    else {
      return nil
    }
    // The text before the alias ends with the table's name. Of names that end alike, the longest is meant.
    let text = sql[..<end.lowerBound]
    let names = (schema.entities.map(\.name) + schema.joinTables.map(\.name))
    return names.filter { text.hasSuffix(quoted($0).dropLast()) }.max { $0.count < $1.count }
  }

  /// `… INDEX (country=? AND name=?)` → `country`, `name`.
  private static func columns(inParentheses detail: String) -> [IndexSuggestion.Term] {
    guard let open = detail.lastIndex(of: "("), let close = detail.lastIndex(of: ")"), open < close
    else { return [] }
    return detail[detail.index(after: open)..<close].split(separator: " ")
      .compactMap {
        $0.hasSuffix("=?") ? IndexSuggestion.Term(column: String($0.dropLast(2))) : nil
      }
  }

  /// Returns an index over the foreign key by which rows of `table` refer to another object.
  private func joinIndex(on table: String) -> IndexSuggestion? {
    for path in plan.paths {
      var entity = path.root
      for step in path.steps {
        switch schema.entities[entity].relationships[step] {
        case .inverse(let key)
        where schema.entities[destination(of: entity, step: step)].name == table:
          return IndexSuggestion(table: table, terms: key.indexTerms)
        case .joinTable(let index, let source, let other)
        where schema.joinTables[index].name == table:
          let terms = source.indexTerms
          return IndexSuggestion(
            table: table,
            terms: terms.isEmpty ? [] : terms + other.columns.map { .init(column: $0) })
        default: break
        }
        entity = destination(of: entity, step: step)
      }
    }
    return nil
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
        column: column, collation: comparison.hasCoarserCollation ? nil : comparison.collation)
    }
  }
}

// MARK: - The leading columns of an index for the root

extension IndexAdviser {
  /// Returns the columns of equalities, then those of the order; instead of the order the column of a
  /// range, if it is not the order's first column.
  private func leadingTerms(of root: EntityTable) -> [IndexSuggestion.Term] {
    var equal: [IndexSuggestion.Term] = []
    var ranges: [IndexSuggestion.Term] = []
    for condition in conjuncts {
      guard let (column, isEquality) = indexableTerm(of: condition, root) else { continue }
      if isEquality { equal.append(column) } else { ranges.append(column) }
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

  /// Returns the column by which an index finds the rows of `condition`; nil if none can.
  private func indexableTerm(
    of condition: Condition, _ root: EntityTable
  ) -> (IndexSuggestion.Term, isEquality: Bool)? {
    switch condition {
    case .comparison(let comparison)
    where !comparison.isNegated && comparison.options.isEmpty && comparison.right.constant != nil:
      guard let term = term(comparison.left, root) else { return nil }
      switch comparison.relation {
      case .equal: return (term, true)
      case .less, .lessOrEqual, .greater, .greaterOrEqual, .beginsWith: return (term, false)
      default: return nil
      }
    case .between(let interval) where !interval.isNegated:
      return term(interval.value, root).map { ($0, false) }
    case .membership(let membership) where !membership.isNegated && membership.options.isEmpty:
      return term(membership.value, root).map { ($0, true) }
    default: return nil
    }
  }

  private func term(_ value: ResolvedExpression, _ root: EntityTable) -> IndexSuggestion.Term? {
    guard case .path(let path) = value, path.scope == 0 else { return nil }
    return term(path.path, root)
  }

  /// Returns the column of the root's own row that a path reads; nil for the key and for other
  /// tables.
  private func term(
    _ path: PropertyPath, _ root: EntityTable, isDescending: Bool = false
  ) -> IndexSuggestion.Term? {
    switch (path.steps.count, path.target) {
    case (0, .attribute(let index)):
      guard root.attributeColumns.indices.contains(index) else { return nil }
      let column = root.column(ofAttribute: index)
      return IndexSuggestion.Term(
        column: column.name, isBinaryCollated: column.isBinaryCollated || column.type.isNumeric,
        isDescending: isDescending)
    case (1, .object):
      guard case .foreignKey(let key) = root.relationships[path.steps[0]], key.referencesKey,
        key.columns.count == 1
      else { return nil }
      return IndexSuggestion.Term(column: key.columns[0], isDescending: isDescending)
    default: return nil
    }
  }

  /// Returns the first terms of the order, or of the groups, that an index can contain.
  private func orderTerms(of root: EntityTable) -> [IndexSuggestion.Term] {
    var terms: [IndexSuggestion.Term] = []
    for term in (plan.definition.section.map { [$0] } ?? []) + plan.definition.order {
      guard term.derivation == .value, term.options.isEmpty,
        let column = self.term(term.path, root, isDescending: term.direction == .descending)
      else { return terms }
      terms.append(column)
    }
    for value in plan.groupedQuery?.groups ?? [] {
      guard let column = term(value, root) else { return terms }
      terms.append(column)
    }
    guard let groupedQuery = plan.groupedQuery, !groupedQuery.isAggregated else { return terms }
    for term in groupedQuery.order {
      guard term.options.isEmpty, case .path(let path) = term.value, path.scope == 0,
        let column = self.term(path.path, root, isDescending: term.direction == .descending)
      else { return terms }
      terms.append(column)
    }
    return terms
  }
}

/// A suggested index.
struct IndexSuggestion {
  struct Term: Hashable {
    let column: String
    var isBinaryCollated = true
    var isDescending = false
    /// The collation of the comparison, if it is neither the column's own nor BINARY.
    var collation: String?
  }

  let table: String
  let terms: [Term]

  /// `CREATE INDEX "City_country_population" ON "City"("country", "population" DESC)`
  var statement: String {
    let name = ([table] + terms.map(\.column)).joined(separator: "_")
    let columns = terms.map { term in
      quoted(term.column) + (term.isBinaryCollated ? "" : " COLLATE BINARY")
        + (term.collation.map { " COLLATE \(quoted($0))" } ?? "")
        + (term.isDescending ? " DESC" : "")
    }
    return
      "CREATE INDEX \(quoted(name)) ON \(quoted(table))(\(columns.joined(separator: ", ")))"
  }

  /// True if an index with these columns begins with the suggested ones. Collations and directions are
  /// not compared, because `pragma_index_info` does not return them.
  func isServed(by columns: [String?]) -> Bool {
    columns.count >= terms.count
      && zip(columns, terms).allSatisfy { $0.map(folded) == folded($1.column) }
  }
}
