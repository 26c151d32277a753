// Extracts the indexable conjuncts of a condition.
//
//     country.code == 'DE' AND population >= 1000   [country.code in {DE}] or [population in 1000…]
//     name == 'a' OR name == 'b'                    [name in {a}, name in {b}]: one of them holds
//     ANY tags.word == 'x'                          none
//
// A row that satisfies the condition satisfies at least one conjunct of every alternative. The
// converse does not hold.

import FetchModel

struct IndexableConjunctFinder {
  /// Lists with more values are not indexed.
  private static let maxValues = 1_000

  let model: Model
  let columns: (any ColumnTraits)?

  /// The alternatives; each is sufficient for a lookup. Empty if the condition has no indexable
  /// conjunct. An alternative without conjuncts matches no row.
  func alternatives(_ condition: Condition) -> [[IndexableConjunct]] {
    switch condition {
    case .constant(let isTrue): isTrue ? [] : [[]]
    case .and(let conditions): intersected(conditions.flatMap { alternatives($0) })
    case .or(let conditions): united(conditions)
    case .comparison(let comparison): [conjuncts(comparison)].compactMap { $0 }
    case .between(let interval): [conjuncts(interval)].compactMap { $0 }
    case .membership(let membership): [conjuncts(membership)].compactMap { $0 }
    case .exists: []
    }
  }

  /// The most selective alternative, judged without reading rows.
  static func best(_ alternatives: [[IndexableConjunct]]) -> [IndexableConjunct]? {
    alternatives.min { rank($0) < rank($1) }
  }

  static func rank(_ conjuncts: [IndexableConjunct]) -> (Int, Int) {
    (conjuncts.map(\.rank).max() ?? -1, conjuncts.count)
  }

  /// OR is indexable only if every operand is.
  private func united(_ conditions: [Condition]) -> [[IndexableConjunct]] {
    var conjuncts: [IndexableConjunct] = []
    for condition in conditions {
      guard let best = Self.best(alternatives(condition)) else { return [] }
      conjuncts += best
    }
    return conjuncts.count <= Self.maxValues ? [conjuncts] : []
  }

  /// Intersects ranges of the same path: `x >= 10 AND x < 20`.
  private func intersected(_ alternatives: [[IndexableConjunct]]) -> [[IndexableConjunct]] {
    var ranges: [ConjunctPath: ValueRange] = [:]
    var others: [[IndexableConjunct]] = []
    for conjuncts in alternatives {
      if conjuncts.count == 1, case .range(let range) = conjuncts[0].requirement {
        let path = conjuncts[0].path
        ranges[path] = ranges[path]?.intersected(with: range) ?? range
      } else {
        others.append(conjuncts)
      }
    }
    return others + ranges.map { [IndexableConjunct(path: $0.key, requirement: .range($0.value))] }
  }

  // MARK: Comparisons

  private func conjuncts(_ comparison: Comparison) -> [IndexableConjunct]? {
    guard let constant = comparison.right.constant,
      let (path, domain) = path(comparison.left, comparison.options)
    else { return nil }
    if comparison.relation == .beginsWith {
      return comparison.isNegated ? nil : prefix(constant, path, domain)
    }
    guard let value = domain.constant(constant) else { return nil }
    if comparison.relation == .equal {
      return comparison.isNegated
        ? nil : [IndexableConjunct(path: path, requirement: .values([value]))]
    }
    guard isOrdered(path, domain), value != .null,
      let range = range(comparison.relation, value, isNegated: comparison.isNegated)
    else { return nil }
    let conjunct = IndexableConjunct(path: path, requirement: .range(range))
    // NOT (x > 1) is `x <= 1` or nil.
    return comparison.isNegated
      ? [conjunct, IndexableConjunct(path: path, requirement: .values([.null]))] : [conjunct]
  }

  private func range(
    _ relation: Comparison.Relation, _ value: StoredValue, isNegated: Bool
  ) -> ValueRange? {
    switch relation {
    case .less, .lessOrEqual:
      isNegated ? ValueRange(lower: value) : ValueRange(upper: value)
    case .greater, .greaterOrEqual:
      isNegated ? ValueRange(upper: value) : ValueRange(lower: value)
    default: nil
    }
  }

  /// Texts with a common prefix are adjacent in code point order.
  private func prefix(
    _ constant: Value, _ path: ConjunctPath, _ domain: RoutingDomain
  ) -> [IndexableConjunct]? {
    guard domain.isText, isOrdered(path, domain),
      case .text(let prefix)? = domain.constant(constant)
    else { return nil }
    let successor = TextPrefix.successor(of: prefix).map { StoredValue.text($0) }
    let range = ValueRange(lower: .text(prefix), upper: successor)
    return [IndexableConjunct(path: path, requirement: .range(range))]
  }

  /// True if the store orders these values as the domain does. False for text that the store
  /// compares as a number.
  private func isOrdered(_ path: ConjunctPath, _ domain: RoutingDomain) -> Bool {
    guard domain.isOrdered,
      let comparisonRule = columns?.comparisonRule(of: path.propertyPath, in: model)
    else {
      return false
    }
    if case .column(let affinity, nil) = comparisonRule {
      return !domain.isText || !affinity.isNumeric
    }
    return true
  }

  private func conjuncts(_ interval: Interval) -> [IndexableConjunct]? {
    guard !interval.isNegated, let (path, domain) = path(interval.value, []),
      isOrdered(path, domain),
      let lower = domain.constant(interval.lower), let upper = domain.constant(interval.upper)
    else { return nil }
    return [
      IndexableConjunct(path: path, requirement: .range(ValueRange(lower: lower, upper: upper)))
    ]
  }

  private func conjuncts(_ membership: Membership) -> [IndexableConjunct]? {
    guard !membership.isNegated, membership.values.count <= Self.maxValues,
      let (path, domain) = path(membership.value, membership.options)
    else { return nil }
    var values: [StoredValue] = membership.includesNil ? [.null] : []
    for value in membership.values {
      guard let constant = domain.constant(value) else { return nil }
      values.append(constant)
    }
    return [IndexableConjunct(path: path, requirement: .values(values))]
  }

  /// The path and domain by which the value of `expression` is looked up.
  private func path(
    _ expression: ResolvedExpression, _ options: StringOptions
  ) -> (ConjunctPath, RoutingDomain)? {
    guard case .path(let scoped) = expression, scoped.scope == 0 else { return nil }
    let path = ConjunctPath(propertyPath: scoped.path, options: options)
    return (path, RoutingDomain(path, in: model))
  }
}
