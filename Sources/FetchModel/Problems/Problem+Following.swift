// A fetch plan that cannot be followed with `since` → the problem with the reason.

extension Problem {
  /// The reason why `plan` cannot be followed with `since`; nil if it can.
  package init?(following plan: FetchPlan, in model: Model, isReadOnly: Bool) {
    let own = model.entities[plan.definition.entity]
    let entities = plan.dependencies(in: model).sorted().map { model.entities[$0] }
    if entities.contains(where: \.isLocked) {
      self = .locked
      return
    }
    if isReadOnly || !own.isObservable {
      self = .notObservable(own.name)
      return
    }
    if let table = plan.unrecordedTable(in: model) {
      self = .notObservable(table)
      return
    }
    guard plan.isNondeterministic else { return nil }
    self = .volatilePredicate
  }
}
