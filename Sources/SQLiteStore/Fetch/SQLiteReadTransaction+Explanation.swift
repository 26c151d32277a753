// A plan → the statements of its fetch, SQLite's query plan for each as a tree, and indexes that
// would help.

import FetchModel
import SQLComposer

extension SQLiteReadTransaction {
  func explanation(of plan: FetchPlan) throws(StoreError) -> Explanation {
    var statements: [Explanation.Statement] = []
    for (purpose, sql) in self.statements(of: plan) {
      let steps = try steps(of: sql)
      let adviser = IndexAdviser(
        plan: plan, model: composer.model, schema: composer.schema, sql: sql.text)
      let hints = try adviser.hints(for: steps.map(\.detail)) { table throws(StoreError) in
        try indexes(of: table)
      }
      statements.append(
        Explanation.Statement(
          purpose: purpose, sql: sql.text, types: sql.bindings.map(\.typeName),
          plan: Self.tree(steps, below: 0), hints: hints))
    }
    return Explanation(
      entity: composer.model.entities[plan.definition.entity].name, statements: statements)
  }

  /// Returns the statements of a snapshot of `plan`, in order.
  private func statements(of plan: FetchPlan) -> [(purpose: String, sql: SQLFragment)] {
    var statements: [(String, SQLFragment)] = []
    if let tabulation = plan.tabulation {
      var window = GroupedQueryComposer(composer, plan, tabulation, at: .now)
      statements.append(("dictionaries", window.window().sql))
      if plan.withTotal {
        var total = GroupedQueryComposer(composer, plan, tabulation, at: .now)
        statements.append(("total", total.total()))
      }
      return statements
    }
    if plan.shape != .count {
      let isCached = plan.cachedKind(composer.schema) != nil && token != .untracked
      let extra = plan.isCapped ? 1 : 0
      let window = composer.window(of: plan, extra: extra, items: isCached ? .apart : .inRows)
      statements.append(("items", window.fragment))
      if isCached { statements.append(("item", composer.row(of: plan).fragment)) }
    }
    if plan.withTotal || plan.shape == .count {
      statements.append(("total", composer.total(of: plan.definition).fragment))
    }
    let isText = composer.schema.entities[plan.definition.entity].key.idType == .string
    for path in plan.expansion {
      let anyone: ObjectID = isText ? .text("") : .integer(0)
      statements.append(
        (
          "included",
          composer.reached(
            from: [anyone], over: path, at: .now, access: plan.definition.access)
        ))
    }
    return statements
  }

  // MARK: SQLite's plan

  /// A line of EXPLAIN QUERY PLAN.
  private struct PlanLine {
    let id: Int64
    let parent: Int64
    let detail: String
  }

  private func steps(of sql: SQLFragment) throws(StoreError) -> [PlanLine] {
    try connection.allOnce("EXPLAIN QUERY PLAN " + sql.text, sql.bindings) {
      PlanLine(id: $0.integer(0), parent: $0.integer(1), detail: $0.text(3))
    }
  }

  private static func tree(_ lines: [PlanLine], below parent: Int64) -> [Explanation.Step] {
    lines.filter { $0.parent == parent }
      .map { Explanation.Step(detail: $0.detail, children: tree(lines, below: $0.id)) }
  }

  /// Returns the columns of each index of `table`, in index order; nil for an expression.
  private func indexes(of table: String) throws(StoreError) -> [[String?]] {
    let names = try connection.all(
      "SELECT name FROM pragma_index_list(?) WHERE NOT partial", [.text(table)]
    ) { $0.text(0) }
    var indexes: [[String?]] = []
    for name in names {
      indexes.append(
        try connection.all("SELECT name FROM pragma_index_info(?)", [.text(name)]) {
          $0.isNull(0) ? nil : $0.text(0)
        })
    }
    return indexes
  }
}

extension FetchStatement {
  fileprivate var fragment: SQLFragment { SQLFragment(sql, bindings: bindings) }
}

extension SQLValue {
  fileprivate var typeName: String {
    switch self {
    case .null: "null"
    case .integer: "integer"
    case .double: "real"
    case .text: "text"
    case .blob: "blob"
    }
  }
}
