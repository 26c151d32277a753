// Lists the statements that read the snapshot of a plan, for `explain`.

import FetchModel
import SQLComposer

extension ResultTransaction {
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
      if cachesItems { statements.append(("item", composer.rows(of: plan).fragment)) }
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
