// Fetches that differ only in numbers, or in the values of their callers → one parameterized plan,
// resolved once, and the values that are bound to it.
//
// The text is resolved with a parameter in place of each number. Promise: a plan resolved from the
// same text with numbers equals this plan with these numbers bound to its parameters. This holds
// because each parameter is only compared with a numeric attribute or an object's id: there the
// resolver passes a number on unchanged, and the SQL depends on its position and not on its value.
// The access rules of a caller may have parameters too, for the values of their variables. Texts are
// only compared by `==` and `!=`.

/// A place in a plan for a value that each fetch provides.
public struct PlanParameter: Sendable, Hashable {
  /// Where a parameter's value comes from.
  public enum Source: Sendable, Hashable {
    /// The numbers of the fetch's text.
    case text
    /// The values of the variables in the access rules.
    case caller
  }

  /// The values of a parameter.
  public enum Kind: Sendable, Hashable { case integer, double, text }

  /// Where its value comes from.
  public let source: Source
  /// The index of its value among those of the source.
  public let index: Int
  /// What its values are.
  public let kind: Kind
  /// True if its value is the negative of the number.
  var isNegated = false
  /// True if its value is an object's id.
  var isID = false

  /// Makes the parameter of the value at `index` of its source.
  package init(_ source: Source, index: Int, _ kind: Kind) {
    self.source = source
    self.index = index
    self.kind = kind
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

  /// Returns the value that `given` gives to the parameter; nil if an id is required and the value is
  /// not one.
  func value(of given: Value) -> Value? {
    switch (given, isNegated) {
    case (.integer(let integer), false): isID ? .id(.integer(integer)) : given
    case (.integer(let integer), true) where integer == .min: isID ? nil : .double(0x1p63)
    case (.integer(let integer), true): isID ? nil : .integer(-integer)
    case (.double(let double), _) where !isID: .double(isNegated ? -double : double)
    case (.string(let text), false): isID ? .id(.text(text)) : given
    default: nil
    }
  }
}

/// The values that a fetch gives to a plan's parameters.
public struct PlanValues: Sendable {
  /// The numbers of the fetch's text.
  let numbers: [Value]
  /// The values of the variables in the caller's access rules.
  var caller: [Value] = []

  /// No values, for a plan without parameters.
  package static let none = PlanValues(numbers: [])

  /// The value of a parameter; nil if there is none, or one of another kind.
  package subscript(_ parameter: PlanParameter) -> Value? {
    let values = parameter.source == .text ? numbers : caller
    guard values.indices.contains(parameter.index) else { return nil }
    return parameter.value(of: values[parameter.index])
  }
}

/// A resolved fetch with parameters.
public final class ParameterizedPlan: Sendable {
  /// The plan with its parameters.
  public let template: FetchPlan
  /// The parameters of the text's numbers, by their index.
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

  private init(_ template: FetchPlan, _ parameters: [PlanParameter]) {
    self.template = template
    self.parameters = parameters
  }

  /// Returns this plan with access rules, whose variables may be parameters, as a part of it. Returns
  /// the same instance if no rule restricts it.
  public func restricted(by access: CallerAccess) -> ParameterizedPlan {
    let restricted = template.restricted(by: access)
    return restricted.definition.access == nil ? self : ParameterizedPlan(restricted, parameters)
  }

  /// Binds `numbers` to the parameters; nil if there are too few or of the wrong kind.
  public func bound(to numbers: [Value]) -> BoundPlan? {
    guard numbers.count == parameters.count,
      zip(parameters, numbers).allSatisfy({ $0.value(of: $1) != nil })
    else { return nil }
    return BoundPlan(parameterized: self, values: PlanValues(numbers: numbers))
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
  /// The plan that fetches with the same text and other values share.
  public let parameterized: ParameterizedPlan
  /// The values of its parameters.
  public let values: PlanValues

  /// Returns the plan of the same text under access rules.
  ///
  /// - Parameter plan: This plan's parameterized one, restricted by the rules that have parameters.
  public func restricted(_ plan: ParameterizedPlan, by rules: ParameterizedAccess) -> BoundPlan {
    var values = values
    values.caller = rules.values
    return BoundPlan(parameterized: plan, values: values)
  }

  /// The plan that the fetch's text resolves to.
  public var plan: FetchPlan {
    var plan = parameterized.template
    plan.definition = ResultDefinition(
      entity: plan.definition.entity, predicate: plan.definition.predicate.binding(values),
      section: plan.definition.section, order: plan.definition.order,
      access: plan.definition.access?.binding(values))
    return plan
  }
}

extension ResolvedPredicate {
  /// The predicate with `values` in place of the parameters that are compared with something.
  func binding(_ values: PlanValues) -> ResolvedPredicate {
    ResolvedPredicate(
      condition: condition.binding(values), paths: paths, isNondeterministic: isNondeterministic)
  }
}

extension Condition {
  /// The parameters that are compared with a numeric attribute or with an object, inside nothing
  /// but AND, OR and the conditions of quantifiers.
  fileprivate func comparedParameters(in model: Model) -> [PlanParameter] {
    switch self {
    case .and(let conditions), .or(let conditions):
      conditions.flatMap { $0.comparedParameters(in: model) }
    case .exists(_, let condition, _): condition.comparedParameters(in: model)
    case .comparison(let comparison): comparison.parameter(in: model).map { [$0] } ?? []
    default: []
    }
  }

  fileprivate func binding(_ values: PlanValues) -> Condition {
    switch self {
    case .and(let conditions): return .and(conditions.map { $0.binding(values) })
    case .or(let conditions): return .or(conditions.map { $0.binding(values) })
    case .exists(let collection, let condition, let isNegated):
      return .exists(collection, where: condition.binding(values), isNegated: isNegated)
    case .comparison(var comparison):
      if let parameter = comparison.parameter, let value = values[parameter] {
        comparison.right = .constant(value)
      }
      return .comparison(comparison)
    default: return self
    }
  }
}

extension Comparison {
  /// The parameter that a stored value is compared with, where the SQL does not depend on its value.
  fileprivate var parameter: PlanParameter? {
    guard case .path = left, case .parameter(let parameter) = right, options.isEmpty,
      parameter.kind == .text ? relation == .equal : relation.isOrder
    else { return nil }
    return parameter
  }

  /// The parameter that a numeric attribute or an object is compared with.
  fileprivate func parameter(in model: Model) -> PlanParameter? {
    guard let parameter, case .path(let scoped) = left else { return nil }
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
