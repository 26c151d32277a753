// Fetches that cannot be followed.

extension Problem {
  /// Why `plan` cannot be followed with `since`; nil where it can.
  package init?(following plan: FetchPlan, in model: Model, isReadOnly: Bool) {
    let own = model.entities[plan.definition.entity]
    if isReadOnly || !own.isObservable {
      self = .notObservable(own.name)
      return
    }
    let others = plan.dependencies(in: model).sorted()
    if let other = others.first(where: { !model.entities[$0].isObservable }) {
      self = .notObservable(model.entities[other].name)
      return
    }
    guard plan.isNondeterministic else { return nil }
    self = .volatilePredicate
  }
}
