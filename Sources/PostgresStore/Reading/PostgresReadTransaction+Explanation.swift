// A plan → the statements of its fetch, and the server's query plan for each as a tree.

import FetchModel
import SQLComposer
import SQLResults

extension PostgresReadTransaction {
  func explanation(of plan: FetchPlan) throws(StoreError) -> Explanation {
    var statements: [Explanation.Statement] = []
    for (purpose, sql) in self.statements(of: plan, cachingItems: false) {
      statements.append(
        Explanation.Statement(
          purpose: purpose, sql: PostgresStatement(sql).sql, types: sql.bindings.map(\.typeName),
          plan: try steps(of: sql), hints: []))
    }
    return Explanation(
      entity: composer.model.entities[plan.definition.entity].name, statements: statements)
  }

  private func steps(of sql: SQLFragment) throws(StoreError) -> [Explanation.Step] {
    var explain = SQLFragment("EXPLAIN (FORMAT JSON, COSTS OFF) ")
    explain.append(sql)
    var plans: [JSON] = []
    try run(FetchStatement(explain)) { row in
      if case .array(let found)? = try? JSON(parsing: Array(row.utf8(0))) { plans = found }
      return false
    }
    return plans.compactMap { $0["Plan"].map(Explanation.Step.init) }
  }
}

extension Explanation.Step {
  /// The members of a step that describe it, in the words of `EXPLAIN`.
  private static let conditions = [
    "Index Cond", "Recheck Cond", "Hash Cond", "Merge Cond", "Join Filter", "Filter", "Sort Key",
    "Group Key", "Subplan Name",
  ]

  /// - Parameter node: a step of `EXPLAIN (FORMAT JSON)`.
  fileprivate init(_ node: JSON) {
    var detail = node["Node Type"]?.string ?? ""
    if let index = node["Index Name"]?.string { detail += " using \(index)" }
    if let source = node["Relation Name"]?.string ?? node["CTE Name"]?.string {
      detail += " on \(source)"
    }
    for name in Self.conditions {
      let text: String
      switch node[name] {
      case .string(let condition)?: text = condition
      case .array(let keys)?: text = keys.compactMap(\.string).joined(separator: ", ")
      default: continue
      }
      detail += "; \(name): \(text)"
    }
    var children: [Explanation.Step] = []
    if case .array(let plans)? = node["Plans"] { children = plans.map(Self.init) }
    self.init(detail: detail, children: children)
  }
}
