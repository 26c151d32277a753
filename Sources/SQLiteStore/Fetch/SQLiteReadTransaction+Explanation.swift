// A plan → the statements of its fetch, SQLite's query plan for each as a tree, and indexes that
// would help.

import FetchModel
import SQLComposer
import SQLResults

extension SQLiteReadTransaction {
  /// Returns the statements that a fetch of `plan` would execute, with SQLite's query plans.
  func explanation(of plan: FetchPlan) throws(StoreError) -> Explanation {
    // As in `writeItems(of:with:)`.
    let cachesItems = plan.cachedKind(composer.schema) != nil && token != .untracked
    return try explanation(of: plan, cachingItems: cachesItems) { suggestion throws(StoreError) in
      try indexes(of: suggestion.table).contains(where: suggestion.isServed)
    } _: { _, sql throws(StoreError) in
      let lines = try queryPlanLines(of: sql)
      let isSorted = lines.contains { $0.detail.hasPrefix("USE TEMP B-TREE FOR ORDER BY") }
      return ExplainedStatement(
        sql: sql.text, types: sql.values.map(\.typeName), steps: Self.tree(lines, below: 0),
        reads: lines.compactMap { TableRead($0.detail, isSorted: isSorted) })
    }
  }

  // MARK: SQLite's query plan

  /// A line of EXPLAIN QUERY PLAN.
  private struct PlanLine {
    let id: Int64
    let parent: Int64
    let detail: String
  }

  private func queryPlanLines(of sql: SQLFragment) throws(StoreError) -> [PlanLine] {
    try connection.allUncached("EXPLAIN QUERY PLAN " + sql.text, sql.values) {
      PlanLine(id: $0.integer(0), parent: $0.integer(1), detail: $0.text(3))
    }
  }

  private static func tree(_ lines: [PlanLine], below parent: Int64) -> [Explanation.Step] {
    lines.filter { $0.parent == parent }
      .map { Explanation.Step(detail: $0.detail, children: tree(lines, below: $0.id)) }
  }

  /// Returns the columns of each index of `table` without a WHERE clause, in index order.
  private func indexes(of table: String) throws(StoreError) -> [[IndexedColumn]] {
    let schema = composer.schema
    let columns =
      schema.entities.first { $0.name == table }?.columns
      ?? schema.joinTables.first { $0.name == table }?.columns ?? []
    let ownCollations = Dictionary(
      columns.map { (folded($0.name), folded($0.collation)) },
      uniquingKeysWith: { first, _ in first })
    let names = try connection.all(
      "SELECT name FROM pragma_index_list(?) WHERE NOT partial", [.text(table)]
    ) { $0.text(0) }
    var indexes: [[IndexedColumn]] = []
    for name in names {
      indexes.append(
        try connection.all(
          "SELECT name, coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno", [.text(name)]
        ) { row -> IndexedColumn in
          let column = row.isNull(0) ? nil : row.text(0)
          let collation = folded(row.text(1))
          return IndexedColumn(
            name: column, collation: collation,
            hasOwnCollation: column.map { ownCollations[folded($0)] == collation } ?? false)
        })
    }
    return indexes
  }
}

/// A column of an existing index.
private struct IndexedColumn {
  /// nil for an expression.
  let name: String?
  /// In lower case.
  let collation: String
  /// True if the collation is the one that the column declares.
  let hasOwnCollation: Bool
}

extension IndexSuggestion {
  /// True if the index begins with the suggested columns, with their collations.
  fileprivate func isServed(by index: [IndexedColumn]) -> Bool {
    isServed(by: index.map(\.name)) && zip(terms, index).allSatisfy { $0.isCollated(as: $1) }
  }
}

extension IndexSuggestion.Term {
  fileprivate func isCollated(as column: IndexedColumn) -> Bool {
    guard let collation else { return column.hasOwnCollation }
    return [column.collation, quoted(column.collation)].contains(folded(collation))
  }
}

extension TableRead {
  /// - Parameter detail: A line of EXPLAIN QUERY PLAN.
  fileprivate init?(_ detail: String, isSorted: Bool) {
    let words = detail.split(separator: " ")
    guard words.count > 1 else { return nil }
    let method: Method
    if detail.contains("USING AUTOMATIC") {
      method = .temporaryIndex(Self.columns(inParentheses: detail))
    } else if words[0] == "SCAN" {
      method = .everyRow
    } else if words[0] == "SEARCH" {
      method = .foundRows
    } else {
      return nil
    }
    self.init(alias: String(words[1]), method: method, isSorted: isSorted)
  }

  /// `… INDEX (country=? AND name=?)` → `country`, `name`.
  private static func columns(inParentheses detail: String) -> [String] {
    guard let open = detail.lastIndex(of: "("), let close = detail.lastIndex(of: ")"), open < close
    else { return [] }
    return detail[detail.index(after: open)..<close].split(separator: " ")
      .compactMap { $0.hasSuffix("=?") ? String($0.dropLast(2)) : nil }
  }
}
