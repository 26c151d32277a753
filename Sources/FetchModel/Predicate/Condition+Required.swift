// What cannot be nil where a condition holds. A store joins what is behind such a relationship as
// tightly as it likes, and may begin there; and nil has no place in an order of such values.

extension ResolvedPredicate {
  /// The key paths from the object itself, over to-one steps, whose value is not nil wherever the
  /// predicate holds. Some of them: those that stand in a comparison that every object meets.
  public var requiredPaths: Set<PropertyPath> {
    var paths: Set<PropertyPath> = []
    condition.addRequiredPaths(to: &paths)
    return paths
  }
}

extension Set<PropertyPath> {
  /// The steps to the objects that there have to be for these paths to have values. A foreign key
  /// alone may be there without the object.
  public var ways: Set<[Int]> {
    var ways: Set<[Int]> = []
    for path in self {
      let last = path.target == .object ? path.steps.count - 1 : path.steps.count
      for length in stride(from: 1, through: last, by: 1) {
        ways.insert([Int](path.steps[..<length]))
      }
    }
    return ways
  }
}

extension Condition {
  fileprivate func addRequiredPaths(to paths: inout Set<PropertyPath>) {
    switch self {
    case .and(let conditions):
      for condition in conditions { condition.addRequiredPaths(to: &paths) }
    case .comparison(let comparison):
      guard let constant = comparison.right.constant else { return }
      let isNotNil = constant == .null && comparison.relation == .equal && comparison.isNegated
      guard isNotNil || constant != .null && !comparison.isNegated else { return }
      comparison.left.addPath(to: &paths)
    case .between(let interval):
      if !interval.isNegated { interval.value.addPath(to: &paths) }
    case .membership(let membership):
      if !membership.isNegated, !membership.includesNil { membership.value.addPath(to: &paths) }
    case .constant, .or, .exists: return
    }
  }
}

extension ResolvedExpression {
  fileprivate func addPath(to paths: inout Set<PropertyPath>) {
    if case .path(let path) = self, path.scope == 0 { paths.insert(path.path) }
  }
}
