// A plan → the statements of its fetch, the server's query plan for each as a tree, and indexes that
// would help.

import FetchModel
import SQLComposer
import SQLResults

extension PostgresReadTransaction {
  func explanation(of plan: FetchPlan) throws(StoreError) -> Explanation {
    try explanation(of: plan, cachingItems: false) { suggestion throws(StoreError) in
      try indexes(of: suggestion.table).contains(where: suggestion.isServed)
    } _: { purpose, sql throws(StoreError) in
      let statement = PostgresStatement(sql)
      let nodes = try queryPlan(of: statement)
      var reads = nodes.flatMap { TableRead.reads(in: $0) }
      // The objects whose related ones are included are found by their ids.
      if purpose == "included" { reads.removeAll { $0.alias == "t0" } }
      return ExplainedStatement(
        sql: statement.sql, types: statement.parameters.map(\.explainedType),
        steps: nodes.map(Explanation.Step.init), reads: reads)
    }
  }

  /// Returns the generic plan, without the values of parameters, as `EXPLAIN (FORMAT JSON)` writes it.
  private func queryPlan(of statement: PostgresStatement) throws(StoreError) -> [JSON] {
    let name = "livefetch_explained"
    let values = statement.parameters.map { _ in "NULL" }.joined(separator: ", ")
    let call = values.isEmpty ? name : "\(name)(\(values))"
    let text = try withReadErrors { () throws(PostgresError) in
      try connection.execute(
        "SET LOCAL plan_cache_mode = force_generic_plan; PREPARE \(name) AS \(statement.sql)")
      defer {
        // A rollback keeps prepared statements.
        connection.recover()
        connection.cleanUp("DEALLOCATE \(name)")
      }
      let results = try connection.execute("EXPLAIN (FORMAT JSON, COSTS OFF) EXECUTE \(call)")
      return results.first?.text(0, 0) ?? ""
    }
    guard case .array(let plans)? = try? JSON(parsing: Array(text.utf8)) else { return [] }
    return plans.compactMap { $0["Plan"] }
  }
}

extension PostgresValue {
  /// The name of the type, as in an explanation by an SQLite store.
  fileprivate var explainedType: String {
    switch self {
    case .null: "null"
    case .integer: "integer"
    case .double: "real"
    case .bytes: "blob"
    default: "text"
    }
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
