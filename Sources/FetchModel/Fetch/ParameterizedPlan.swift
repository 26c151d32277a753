// Fetches that differ only in numbers → one parameterized plan, resolved once, and the numbers that
// are bound to it.
//
// The plan contains markers: numbers that no client writes, one for each parameter. Promise: a plan
// resolved from the same text with other numbers equals this plan with those numbers in place of
// the markers. This holds because each number is only compared with a numeric attribute or an
// object's id: there the resolver passes it on unchanged, and the SQL depends on its position and
// not on its value.

/// A resolved fetch with open places for numbers.
public final class ParameterizedPlan: Sendable {
  /// The conversion of a number to the value of a parameter.
  enum Use: Sendable { case number, negatedNumber, id }

  /// The plan with a marker in each open place.
  public let plan: FetchPlan
  /// The markers, in the order of the numbers in the text. No other value of the plan is one.
  public let markers: [Value]
  private let uses: [Use]

  /// Makes the form of a plan.
  ///
  /// - Parameter numbers: the numbers with which `plan` was resolved; all are different.
  /// - Returns: nil if one of them has a use other than being compared.
  public init?(_ plan: FetchPlan, resolvedWith numbers: [Value], in model: Model) {
    let compared = plan.definition.predicate.condition.comparedNumbers(in: model)
    var markers: [Value] = []
    var uses: [Use] = []
    for number in numbers {
      let found = compared.compactMap { value in
        Use.allCases.first { $0.value(of: number) == value }
      }
      guard found.count == 1, let use = found.first, let marker = use.value(of: number) else {
        return nil
      }
      markers.append(marker)
      uses.append(use)
    }
    self.plan = plan
    self.markers = markers
    self.uses = uses
  }

  /// The plan with `numbers` as its parameters; nil if there are too few or of the wrong kind.
  public func filled(with numbers: [Value]) -> BoundPlan? {
    guard numbers.count == uses.count else { return nil }
    var values: [Value] = []
    values.reserveCapacity(uses.count)
    for (use, number) in zip(uses, numbers) {
      guard let value = use.value(of: number) else { return nil }
      values.append(value)
    }
    return BoundPlan(form: self, values: values)
  }
}

/// A form with the values of one fetch.
public struct BoundPlan: Sendable {
  /// The parameterized plan that fetches of this form share.
  public let form: ParameterizedPlan
  /// Parallel to the form's markers.
  public let values: [Value]

  /// The plan that the fetch's text resolves to.
  public var plan: FetchPlan {
    let template = form.plan.definition
    let condition = template.predicate.condition.replacingNumbers { value in
      form.markers.firstIndex(of: value).map { values[$0] }
    }
    var plan = form.plan
    plan.definition = ResultDefinition(
      entity: template.entity,
      predicate: ResolvedPredicate(
        condition: condition, paths: template.predicate.paths,
        isNondeterministic: template.predicate.isNondeterministic),
      section: template.section, order: template.order)
    return plan
  }
}

extension ParameterizedPlan.Use: CaseIterable {
  /// nil if an id is required and the number is not one.
  fileprivate func value(of number: Value) -> Value? {
    switch (self, number) {
    case (.number, _): number
    case (.negatedNumber, .integer(let integer)): .integer(-integer)
    case (.negatedNumber, .double(let double)): .double(-double)
    case (.id, .integer(let integer)): .id(.integer(integer))
    default: nil
    }
  }
}

extension Condition {
  /// The constants that are compared with a numeric attribute or with an object, inside nothing but
  /// AND and OR.
  fileprivate func comparedNumbers(in model: Model) -> [Value] {
    switch self {
    case .and(let conditions), .or(let conditions):
      conditions.flatMap { $0.comparedNumbers(in: model) }
    case .comparison(let comparison) where comparison.relation.isOrder:
      comparison.comparedNumber(in: model).map { [$0] } ?? []
    default: []
    }
  }

  fileprivate func replacingNumbers(_ replacement: (Value) -> Value?) -> Condition {
    switch self {
    case .and(let conditions): return .and(conditions.map { $0.replacingNumbers(replacement) })
    case .or(let conditions): return .or(conditions.map { $0.replacingNumbers(replacement) })
    case .comparison(var comparison):
      if let value = comparison.right.constant.flatMap(replacement) {
        comparison.right = .constant(value)
      }
      return .comparison(comparison)
    default: return self
    }
  }
}

extension Comparison {
  fileprivate func comparedNumber(in model: Model) -> Value? {
    guard case .path(let scoped) = left, let value = right.constant else { return nil }
    switch (scoped.path.target, value) {
    case (.object, .id): return value
    case (.attribute, .integer), (.attribute, .double):
      let type = model.type(of: scoped.path)
      // A boolean takes 0 and 1 otherwise than other numbers.
      return type.isNumeric && type != .boolean ? value : nil
    default: return nil
    }
  }
}

extension Comparison.Relation {
  fileprivate var isOrder: Bool {
    switch self {
    case .equal, .less, .lessOrEqual, .greater, .greaterOrEqual: true
    case .beginsWith, .endsWith, .contains, .like, .matches: false
    }
  }
}
