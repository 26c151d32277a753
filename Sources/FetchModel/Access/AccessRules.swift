// Access rules and a model → the rules of one caller.
//
// Promises: a rule that cannot be evaluated for a caller denies; with no rules at all there is no
// `AccessRules`. Subentities have the rules of their root entity.

import Bytes

/// The caller, as rules see it in `$user`.
public struct AccessCaller: Sendable, Hashable {
  /// `$user.id`, and `$user` itself; nil for the anonymous caller.
  public var id: String?
  /// `$user.name`.
  public var name: String?
  /// `$user.roles`.
  public var roles: [String]
  /// `$user.claims`: an object, or null.
  public var claims: JSON

  /// Makes an access caller.
  public init(
    id: String? = nil, name: String? = nil, roles: [String] = [], claims: JSON = .null
  ) {
    self.id = id
    self.name = name
    self.roles = roles
    self.claims = claims
  }
}

/// The access rules of a model, checked. Any thread may use them.
public final class AccessRules: Sendable {
  /// A rule with a predicate that is parsed.
  enum Rule: Sendable {
    case constant(Bool)
    case predicate(Predicate, variables: Set<String>)
  }

  struct EntityRules: Sendable {
    var rules: [AccessAction: Rule] = [:]
    var hidden: [Int: Rule] = [:]
    var readOnly: [Int: Rule] = [:]
  }

  private let model: Model
  /// Parallel to the model's entities.
  private let entities: [EntityRules]
  private let allowsByDefault: Bool
  /// The names of all variables in the rules: `user.id`.
  private let variables: [String]
  /// The hash of the declaration.
  private let hash: FNV1a64
  /// The tables and columns that each key path of the rules goes over, by its text:
  /// `Note.team.members`. Empty if a model file defines the names.
  package let meanings: [String: String]
  /// The rules with parameters in place of some values.
  private let templates = BoundedCache<[PredicateArgument?], CallerAccess>()

  /// Checks rules against a model.
  ///
  /// - Throws: Every problem found, with its location.
  public init(_ declaration: AccessDeclaration, model: Model) throws(ModelFileError) {
    self.model = model
    var compiler = Compiler(model: model)
    for (name, declared) in declaration.entities.sorted(by: { $0.key < $1.key }) {
      compiler.add(declared, entity: name)
    }
    let hasRules = declaration.entities.values.contains { !$0.rules.isEmpty }
    allowsByDefault = declaration.allowsByDefault ?? !hasRules
    compiler.refuseUnrestrictableTables(allowsByDefault: allowsByDefault)
    guard compiler.problems.isEmpty else { throw ModelFileError(compiler.problems) }
    entities = compiler.entities
    variables = compiler.variables.sorted()
    hash = declaration.hash
    meanings = model.file == nil ? model.meanings(of: compiler.paths) : [:]
  }

  /// Returns the values of the rules' variables for a caller, in the order of their names; nil for
  /// a claim that is no value. Callers with equal values have the same rules.
  public func values(for caller: AccessCaller) -> [PredicateArgument?] {
    variables.map { Self.value(of: $0, caller) }
  }

  /// Returns the rules as they are for a caller. O(rules).
  public func access(of caller: AccessCaller) -> CallerAccess {
    access(values: values(for: caller))
  }
}

// MARK: - Variables

extension AccessRules {
  /// Replaces `$user.id` by the variable `user.id`.
  static func replacingUser(
    in predicate: Predicate, _ found: inout Set<String>
  ) throws(PredicateError) -> Predicate {
    var names: Set<String> = []
    let rewritten = try predicate.rewriting { expression throws(PredicateError) in
      guard let name = expression.userVariable else { return nil }
      names.insert(name)
      return Expression(.variable(name), range: expression.range)
    }
    found = names
    return rewritten
  }

  /// Returns a variable's value; nil if it is no value.
  static func value(of variable: String, _ caller: AccessCaller) -> PredicateArgument? {
    let names = variable.split(separator: ".").map(String.init)
    switch names.dropFirst().first {
    case nil, "id": return caller.id.map(id) ?? .json(.null)
    case "name": return .json(caller.name.map { .string($0) } ?? .null)
    case "roles": return .json(.array(caller.roles.map { .string($0) }))
    default:
      let claim = names.dropFirst(2).reduce(Optional(caller.claims)) { $0?[$1] }
      return PredicateArgument(claim ?? .null)
    }
  }
}

extension AccessRules {
  /// An id that is written as an integer is also compared with integers. Other texts that read as
  /// the same integer, such as `01`, are texts.
  private static func id(_ text: String) -> PredicateArgument {
    Int64(text)?.description == text ? .text(text) : .json(.string(text))
  }
}

extension PredicateArgument {
  /// True for a text or a number: each caller may have another one.
  var isTextOrNumber: Bool {
    switch self {
    case .text, .json(.string), .json(.number): true
    case .json, .parameter: false
    }
  }

  /// The kinds of parameters that may stand in place of the value, each with its value: of one number
  /// or text that a database stores. Empty for other values.
  var parameterKinds: [(kind: PlanParameter.Kind, value: Value)] {
    switch self {
    case .json(.number(let text)):
      return Value.untypedInteger(text).map { [(.integer, .integer($0))] } ?? []
    case .json(.string(let text)), .text(let text):
      guard !text.utf8.contains(0) else { return [] }
      let integer: (PlanParameter.Kind, Value)? =
        if case .text = self { Int64(text).map { (.integer, .integer($0)) } } else { nil }
      return [integer, (.text, .string(text))].compactMap(\.self)
    case .json, .parameter: return []
    }
  }
}

extension Expression {
  /// `user.id` for `$user.id`; nil for other expressions.
  fileprivate var userVariable: String? {
    switch kind {
    case .variable("user"): return "user"
    case .keyPath(let base?, let components):
      guard case .variable("user") = base.kind else { return nil }
      var names = ["user"]
      for component in components {
        guard case .name(let name) = component.kind else { return nil }
        names.append(name)
      }
      return names.joined(separator: ".")
    default: return nil
    }
  }
}

// MARK: - One caller

extension AccessRules {
  /// Returns the rules as they are for callers with these values of the variables. O(rules).
  public func access(values: [PredicateArgument?]) -> CallerAccess {
    let arguments = Dictionary(zip(variables, values), uniquingKeysWith: { first, _ in first })
    var rules: [AccessAction: [ResolvedPredicate]] = [:]
    for action in AccessAction.allCases {
      rules[action] = model.entities.indices.map { entity in
        let root = model.entities[entity].inheritance.root ?? entity
        return resolve(
          entities[root].rules[action] ?? .constant(allowsByDefault), entity, arguments)
      }
    }
    let hidden = attributes(\.hidden, arguments)
    return CallerAccess(
      model: model, hash: hash, values: values, rules: rules, hidden: hidden,
      readOnly: attributes(\.readOnly, arguments),
      shared: parameterized(values, equalTo: rules, hidden: hidden))
  }

  /// Returns rules with parameters in place of `values` if they are the rules of this caller once the
  /// values are bound to them. A text that is an integer is first taken for one.
  private func parameterized(
    _ values: [PredicateArgument?], equalTo rules: [AccessAction: [ResolvedPredicate]],
    hidden: [Set<Int>]
  ) -> ParameterizedAccess? {
    for preferred in [PlanParameter.Kind.integer, .text] {
      let bound = values.map { value in
        let kinds = value?.parameterKinds ?? []
        return kinds.first { $0.kind == preferred } ?? kinds.first
      }
      guard bound.contains(where: { $0 != nil }) else { return nil }
      let parameters = zip(values, bound).enumerated().map { index, pair in
        pair.1.map { .parameter(PlanParameter(.caller, index: index, $0.kind)) } ?? pair.0
      }
      let template = templates.value(of: parameters) { access(values: parameters) }
      let shared = ParameterizedAccess(
        template: template, values: bound.map { $0?.value ?? .null })
      let isEqual = rules.allSatisfy { action, rules in
        rules.indices.allSatisfy {
          template.rule(action, $0).binding(shared.planValues) == rules[$0]
        }
      }
      if isEqual, template.hidden == hidden { return shared }
    }
    return nil
  }

  /// - Parameter arguments: nil for a variable without a value.
  private func resolve(
    _ rule: Rule, _ entity: Int, _ arguments: [String: PredicateArgument?]
  ) -> ResolvedPredicate {
    resolved(rule, entity, arguments) ?? ResolvedPredicate(condition: .constant(false))
  }

  /// Returns nil if a value cannot be converted to the type that it is compared with.
  private func resolved(
    _ rule: Rule, _ entity: Int, _ arguments: [String: PredicateArgument?]
  ) -> ResolvedPredicate? {
    let predicate: Predicate
    let names: Set<String>
    switch rule {
    case .constant(let allows):
      return allows ? .everything : ResolvedPredicate(condition: .constant(false))
    case .predicate(let parsed, let variables): (predicate, names) = (parsed, variables)
    }
    var variables: [String: PredicateArgument] = [:]
    for name in names {
      guard let value = arguments[name] ?? nil else { return nil }
      variables[name] = value
    }
    guard let resolved = resolved(predicate, entity, variables) else { return nil }
    let condition = resolved.condition.evaluatingConstants(in: model)
    guard condition != .constant(true) else { return .everything }
    return ResolvedPredicate(
      condition: condition, paths: condition == .constant(false) ? [] : resolved.paths)
  }

  private func resolved(
    _ predicate: Predicate, _ entity: Int, _ variables: [String: PredicateArgument]
  ) -> ResolvedPredicate? {
    if let found = try? predicate.resolved(in: model, entity: entity, variables: variables) {
      return found
    }
    // An id that is compared with nothing of a type, as in `$user != nil`, is a string.
    let strings = variables.mapValues { value in
      if case .text(let text) = value { PredicateArgument.json(.string(text)) } else { value }
    }
    return try? predicate.resolved(in: model, entity: entity, variables: strings)
  }

  /// Returns, for each entity, the attributes for which a rule holds or cannot be evaluated. An
  /// attribute of a root entity is one of its subentities too.
  private func attributes(
    _ rules: KeyPath<EntityRules, [Int: Rule]>, _ arguments: [String: PredicateArgument?]
  ) -> [Set<Int>] {
    var found = [Set<Int>](repeating: [], count: model.entities.count)
    for (entity, declared) in entities.enumerated() {
      for (attribute, rule) in declared[keyPath: rules] {
        guard resolved(rule, entity, arguments)?.condition != .constant(false) else { continue }
        let name = model.entities[entity].attributes[attribute].name
        for other in [entity] + model.entities[entity].inheritance.subentities {
          if case .attribute(let number)? = model.entities[other].property(named: name) {
            found[other].insert(number)
          }
        }
      }
    }
    return found
  }
}

// MARK: - Constants

/// A model without columns, for conditions that read none.
private struct NoColumns: ColumnTraits {
  func comparisonRule(of property: Property, in entity: Int) -> ComparisonRule? { nil }
}

private struct NoRow: EvaluatedRow {
  func value(of slot: Int) -> StoredValue? { nil }
}

extension Condition {
  /// Returns the condition with the parts that read no object replaced by their truth.
  fileprivate func evaluatingConstants(in model: Model) -> Condition {
    switch self {
    case .constant: return self
    case .and(let conditions): return .all(conditions.map { $0.evaluatingConstants(in: model) })
    case .or(let conditions): return .any(conditions.map { $0.evaluatingConstants(in: model) })
    case .comparison(let comparison) where comparison.isOfParameterAndNil:
      return .constant(comparison.isNegated)
    case .comparison, .between, .membership:
      let evaluator = PredicateEvaluator(self, model: model, columns: NoColumns())
      guard evaluator.coverage == .whole, evaluator.paths.isEmpty, evaluator.collections.isEmpty,
        let holds = evaluator.evaluate(NoRow())
      else { return self }
      return .constant(holds)
    case .exists: return self
    }
  }
}

extension Comparison {
  /// True if a parameter, whose values are never nil, is compared with nil by `==` or `!=`.
  fileprivate var isOfParameterAndNil: Bool {
    switch (left, right) {
    case (.parameter, .constant(.null)), (.constant(.null), .parameter): relation == .equal
    default: false
    }
  }
}
