// Fetches that differ only in numbers → one parameterized plan, resolved once, and the numbers that
// are bound to it.
//
// The text is resolved with a parameter in place of each number. Promise: a plan resolved from the
// same text with numbers equals this plan with these numbers bound to its parameters. This holds
// because each parameter is only compared with a numeric attribute or an object's id: there the
// resolver passes a number on unchanged, and the SQL depends on its position and not on its value.

/// A place in a plan for a number that each fetch provides.
public struct PlanParameter: Sendable, Hashable {
  /// The index of its number among those of the fetch's text.
  public let index: Int
  /// True if numbers with this parameter are integers.
  public let isInteger: Bool
  /// True if its value is the negative of the number.
  var isNegated = false
  /// True if its value is an object's id.
  var isID = false

  /// Makes the parameter of the number at `index`.
  package init(index: Int, isInteger: Bool) {
    self.index = index
    self.isInteger = isInteger
  }

  /// The negative of this parameter.
  var negated: PlanParameter {
    var parameter = self
    parameter.isNegated.toggle()
    return parameter
  }

  /// This parameter as the id of an object.
  var asID: PlanParameter {
    var parameter = self
    parameter.isID = true
    return parameter
  }

  /// Returns the value that `number` gives to the parameter; nil if an id is required and the
  /// number is not one.
  func value(of number: Value) -> Value? {
    switch (number, isNegated) {
    case (.integer(let integer), false): isID ? .id(.integer(integer)) : number
    case (.integer(let integer), true): isID ? nil : .integer(-integer)
    case (.double(let double), _) where !isID: .double(isNegated ? -double : double)
    default: nil
    }
  }
}

/// A resolved fetch with parameters.
public final class ParameterizedPlan: Sendable {
  /// The plan with its parameters.
  public let template: FetchPlan
  /// The parameters, by their index.
  private let parameters: [PlanParameter]

  /// Makes the parameterized plan of `template`.
  ///
  /// - Parameter count: The number of parameters with which the plan was resolved.
  /// - Returns: nil if one of them has a use other than being compared.
  public init?(_ template: FetchPlan, parameterCount count: Int, in model: Model) {
    let compared = template.definition.predicate.condition.comparedParameters(in: model)
      .sorted { $0.index < $1.index }
    guard compared.map(\.index) == Array(0..<count) else { return nil }
    self.template = template
    parameters = compared
  }

  /// Binds `numbers` to the parameters; nil if there are too few or of the wrong kind.
  public func bound(to numbers: [Value]) -> BoundPlan? {
    guard numbers.count == parameters.count else { return nil }
    var values: [Value] = []
    values.reserveCapacity(numbers.count)
    for (parameter, number) in zip(parameters, numbers) {
      guard let value = parameter.value(of: number) else { return nil }
      values.append(value)
    }
    return BoundPlan(parameterized: self, values: values)
  }
}

/// Two plans are equal if they are the same instance.
extension ParameterizedPlan: Hashable {
  public static func == (left: ParameterizedPlan, right: ParameterizedPlan) -> Bool {
    left === right
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A parameterized plan with the values of one fetch.
public struct BoundPlan: Sendable {
  /// The plan that fetches with the same text and other numbers share.
  public let parameterized: ParameterizedPlan
  /// The value of each parameter, by its index.
  public let values: [Value]

  /// The plan that the fetch's text resolves to.
  public var plan: FetchPlan {
    var plan = parameterized.template
    let predicate = plan.definition.predicate
    plan.definition = ResultDefinition(
      entity: plan.definition.entity,
      predicate: ResolvedPredicate(
        condition: predicate.condition.binding(values), paths: predicate.paths,
        isNondeterministic: predicate.isNondeterministic),
      section: plan.definition.section, order: plan.definition.order)
    return plan
  }
}

extension Condition {
  /// The parameters that are compared with a numeric attribute or with an object, inside nothing
  /// but AND and OR.
  fileprivate func comparedParameters(in model: Model) -> [PlanParameter] {
    switch self {
    case .and(let conditions), .or(let conditions):
      conditions.flatMap { $0.comparedParameters(in: model) }
    case .comparison(let comparison): comparison.parameter(in: model).map { [$0] } ?? []
    default: []
    }
  }

  fileprivate func binding(_ values: [Value]) -> Condition {
    switch self {
    case .and(let conditions): return .and(conditions.map { $0.binding(values) })
    case .or(let conditions): return .or(conditions.map { $0.binding(values) })
    case .comparison(var comparison):
      if case .parameter(let parameter) = comparison.right {
        comparison.right = .constant(values[parameter.index])
      }
      return .comparison(comparison)
    default: return self
    }
  }
}

extension Comparison {
  /// The parameter that a numeric attribute or an object is compared with.
  fileprivate func parameter(in model: Model) -> PlanParameter? {
    guard relation.isOrder, case .path(let scoped) = left, case .parameter(let parameter) = right
    else { return nil }
    guard case .attribute = scoped.path.target else { return parameter.isID ? parameter : nil }
    let type = model.type(of: scoped.path)
    // A boolean takes 0 and 1 otherwise than other numbers.
    return type.isNumeric && type != .boolean ? parameter : nil
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
