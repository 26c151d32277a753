// A plan → the statements that read its snapshot, the database's query plan for each, and indexes that
// would help.

import FetchModel
import SQLComposer

/// A statement as the database explains it.
package struct ExplainedStatement {
  let sql: String
  let types: [String]
  let steps: [Explanation.Step]
  let reads: [TableRead]

  /// - Parameters:
  ///   - sql: the text of the statement.
  ///   - types: the types of its bound values.
  ///   - steps: its query plan.
  ///   - reads: the reads of tables in the query plan.
  package init(
    sql: String, types: [String], steps: [Explanation.Step], reads: [TableRead]
  ) {
    (self.sql, self.types, self.steps, self.reads) = (sql, types, steps, reads)
  }
}

extension ResultTransaction {
  /// Returns the statements of a snapshot of `plan`, explained.
  ///
  /// - Parameters:
  ///   - cachesItems: as for ``statements(of:cachingItems:)``.
  ///   - isServed: returns whether an index exists that does what the suggested one would.
  ///   - explain: asks the database for the query plan of a statement with this purpose.
  package func explanation(
    of plan: FetchPlan, cachingItems cachesItems: Bool,
    isServed: (IndexSuggestion) throws(StoreError) -> Bool,
    _ explain: (_ purpose: String, SQLFragment) throws(StoreError) -> ExplainedStatement
  ) throws(StoreError) -> Explanation {
    var statements: [Explanation.Statement] = []
    for (purpose, sql) in self.statements(of: plan, cachingItems: cachesItems) {
      let explained = try explain(purpose, sql)
      let adviser = IndexAdviser(plan: plan, composer: composer, sql: sql.text)
      let hints = try adviser.hints(for: explained.reads, isServed: isServed)
      statements.append(
        Explanation.Statement(
          purpose: purpose, sql: explained.sql, types: explained.types, plan: explained.steps,
          hints: hints))
    }
    return Explanation(
      entity: composer.model.entities[plan.definition.entity].name, statements: statements)
  }

  /// Returns the statements of a snapshot of `plan` in the order of their execution, each with its purpose:
  /// `items`, `item`, `dictionaries`, `total` or `included`.
  ///
  /// - Parameter cachesItems: True if the first statement reads only ids, and a second one the items that
  ///   are not cached.
  package func statements(
    of plan: FetchPlan, cachingItems cachesItems: Bool
  ) -> [(purpose: String, sql: SQLFragment)] {
    var statements: [(String, SQLFragment)] = []
    if let groupedQuery = plan.groupedQuery {
      var window = GroupedQueryComposer(composer, plan, groupedQuery, at: .now)
      statements.append(("dictionaries", window.window().sql))
      if plan.withTotal {
        var total = GroupedQueryComposer(composer, plan, groupedQuery, at: .now)
        statements.append(("total", total.total()))
      }
      return statements
    }
    if plan.shape != .count {
      let extra = plan.isCapped ? 1 : 0
      let window = composer.window(of: plan, extra: extra, items: cachesItems ? .separate : .inRows)
      statements.append(("items", window.fragment))
      if cachesItems { statements.append(("item", composer.rowStatement(of: plan).fragment)) }
    }
    if plan.withTotal || plan.shape == .count {
      statements.append(("total", composer.total(of: plan.definition).fragment))
    }
    let hasTextIDs = composer.schema.entities[plan.definition.entity].key.idType == .string
    let anyID: ObjectID = hasTextIDs ? .text("") : .integer(0)
    for path in plan.expansion {
      statements.append(
        (
          "included",
          composer.reached(
            from: [anyID], over: path, at: .now, access: plan.definition.access)
        ))
    }
    return statements
  }
}

extension FetchStatement {
  fileprivate var fragment: SQLFragment { SQLFragment(sql, bindings: bindings) }
}

extension SQLValue {
  /// The name of a bound value's type, for `explain`.
  package var typeName: String {
    switch self {
    case .null: "null"
    case .integer: "integer"
    case .double: "real"
    case .text: "text"
    case .blob: "blob"
    }
  }
}
