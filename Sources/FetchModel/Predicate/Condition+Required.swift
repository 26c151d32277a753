// Which to-one relationships cannot be nil where a condition holds. A store joins what they lead to
// as tightly as it likes, and may begin there.

extension ResolvedPredicate {
  /// The ways over to-one relationships, from the object itself, at whose end there is an object
  /// wherever the predicate holds.
  public var requiredWays: Set<[Int]> {
    var ways: Set<[Int]> = []
    condition.addRequiredWays(to: &ways)
    return ways
  }
}

extension Condition {
  fileprivate func addRequiredWays(to ways: inout Set<[Int]>) {
    switch self {
    case .and(let conditions): for condition in conditions { condition.addRequiredWays(to: &ways) }
    case .comparison(let comparison):
      guard !comparison.isNegated, let constant = comparison.right.constant, constant != .null
      else { return }
      comparison.left.addRequiredWays(to: &ways)
    case .between(let interval):
      if !interval.isNegated { interval.value.addRequiredWays(to: &ways) }
    case .membership(let membership):
      guard !membership.isNegated, !membership.includesNil else { return }
      membership.value.addRequiredWays(to: &ways)
    case .constant, .or, .exists: return
    }
  }
}

extension ResolvedExpression {
  /// A value that is not nil was read of an object.
  fileprivate func addRequiredWays(to ways: inout Set<[Int]>) {
    guard case .path(let path) = self, path.scope == 0, case .attribute = path.path.target else {
      return
    }
    for length in stride(from: 1, through: path.path.steps.count, by: 1) {
      ways.insert(Array(path.path.steps[..<length]))
    }
  }
}
