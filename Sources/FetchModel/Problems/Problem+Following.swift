// Fetches that cannot be followed.

extension Problem {
  /// Why `plan` cannot be followed with `since`; nil where it can.
  package init?(following plan: FetchPlan, in model: Model, isReadOnly: Bool) {
    for index in plan.dependencies(in: model) {
      let entity = model.entities[index]
      guard entity.isObservable, !isReadOnly else {
        self = .notObservable(entity.name)
        return
      }
    }
    guard plan.isVolatile else { return nil }
    self = .volatilePredicate
  }
}
