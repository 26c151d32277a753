// Finds key paths that cannot be nil in a row that satisfies a condition. A store may use inner
// joins along them and begin a query there, and their order needs no place for nil.

extension ResolvedPredicate {
  /// Key paths over to-one relationships whose value is not nil in any row that satisfies the
  /// predicate. Not necessarily all of them: only those in comparisons joined by AND.
  public var requiredPaths: Set<PropertyPath> {
    var paths: Set<PropertyPath> = []
    condition.addRequiredPaths(to: &paths)
    return paths
  }
}

extension Set<PropertyPath> {
  /// The relationship paths to objects that must exist for these paths to have values. A foreign
  /// key may refer to no object.
  public var relationshipPaths: Set<[Int]> {
    var paths: Set<[Int]> = []
    for path in self {
      let last = path.target == .object ? path.steps.count - 1 : path.steps.count
      for length in stride(from: 1, through: last, by: 1) {
        paths.insert([Int](path.steps[..<length]))
      }
    }
    return paths
  }
}

extension Condition {
  fileprivate func addRequiredPaths(to paths: inout Set<PropertyPath>) {
    switch self {
    case .and(let conditions):
      for condition in conditions { condition.addRequiredPaths(to: &paths) }
    case .comparison(let comparison):
      guard comparison.right.isFixed else { return }
      let isNil = comparison.right.constant == .null
      let isNotNil = isNil && comparison.relation == .equal && comparison.isNegated
      guard isNotNil || !isNil && !comparison.isNegated else { return }
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
