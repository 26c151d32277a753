// A fetch plan that cannot be followed with `since` → the problem with the reason.

extension Problem {
  /// The reason why `plan` cannot be followed with `since`; nil if it can.
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
