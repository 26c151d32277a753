// Statements that read one object by its id.

import FetchModel

extension FetchComposer {
  /// Returns a statement that reads one object of the plan's entity with the values of its selection,
  /// followed by its hash. It serves every id, which is bound as the key's columns.
  package func objectStatement(_ id: ObjectID, of plan: FetchPlan) -> FetchStatement {
    var whole = plan
    whole.selection.append(SelectedValue(key: "@etag", source: .etag))
    whole.definition = ResultDefinition(
      entity: plan.definition.entity, predicate: model.membership(of: plan.definition.entity),
      access: plan.definition.access)
    return rows(of: whole, ids: [id], at: .now)
  }

  /// Returns a statement that reads the whole rows of objects by their integer ids, which are bound as
  /// one JSON array.
  package func rowStatement(of plan: FetchPlan) -> FetchStatement {
    var whole = plan
    whole.definition = ResultDefinition(
      entity: plan.definition.entity, predicate: .everything)
    // Two ids select the form with a JSON array; the caller binds the real ones. No access rules: the
    // statement that found the ids applied them.
    return rows(of: whole, ids: [.integer(0), .integer(1)], at: .now)
  }
}

extension FetchStatement {
  /// Returns the same statement with other bindings.
  package func binding(_ bindings: [SQLValue]) -> FetchStatement {
    FetchStatement(sql: sql, bindings: bindings, layout: layout, overlays: overlays)
  }
}
