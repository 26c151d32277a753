// Counts operations in conditions and expressions, up to a limit.

extension ResolvedExpression {
  /// The number of operations, comparisons and calls including itself, at most `limit`. O(limit).
  func size(upTo limit: Int) -> Int {
    var size = Size(limit: limit)
    size.count(self)
    return size.count
  }
}

private struct Size {
  let limit: Int
  var count = 0

  mutating func count(_ value: ResolvedExpression) {
    count += 1
    guard count < limit else { return }
    switch value {
    case .constant, .parameter, .path: break
    case .arithmetic(_, let left, let right):
      count(left)
      count(right)
    case .function(_, let values), .listAggregate(_, let values):
      for value in values { count(value) }
    case .conditional(let condition, let yes, let no):
      count(condition)
      count(yes)
      count(no)
    case .aggregate(let aggregation): count(aggregation.condition)
    case .element(let element): count(element.condition)
    }
  }

  mutating func count(_ condition: Condition) {
    count += 1
    guard count < limit else { return }
    switch condition {
    case .constant: break
    case .and(let conditions), .or(let conditions):
      for condition in conditions { count(condition) }
    case .comparison(let comparison):
      count(comparison.left)
      count(comparison.right)
    case .between(let interval): count(interval.value)
    case .membership(let membership): count(membership.value)
    case .exists(_, let condition, _): count(condition)
    }
  }
}
