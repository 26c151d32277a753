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
  private enum Rule: Sendable {
    case constant(Bool)
    case predicate(Predicate, variables: Set<String>)
  }

  private struct EntityRules: Sendable {
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
    guard compiler.problems.isEmpty else { throw ModelFileError(compiler.problems) }
    entities = compiler.entities
    let hasRules = declaration.entities.values.contains { !$0.rules.isEmpty }
    allowsByDefault = declaration.allowsByDefault ?? !hasRules
    variables = compiler.variables.sorted()
    hash = declaration.hash
    let paths = model.file == nil ? compiler.paths : []
    meanings = Dictionary(
      paths.map { path in
        ("\(model.entities[path.root].name).\(model.text(of: path))", model.meaning(of: path))
      },
      uniquingKeysWith: { first, _ in first })
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
  private static func replacingUser(
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
  private static func value(of variable: String, _ caller: AccessCaller) -> PredicateArgument? {
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

// MARK: - Checking

extension AccessRules {
  /// Checks the rules of all entities and collects the problems.
  private struct Compiler {
    let model: Model
    var entities: [EntityRules]
    var variables: Set<String> = []
    /// The key paths of all rules.
    var paths: Set<PropertyPath> = []
    var problems: [ModelFileProblem] = []

    init(model: Model) {
      self.model = model
      entities = Array(repeating: EntityRules(), count: model.entities.count)
    }

    mutating func add(_ declared: AccessDeclaration.Entity, entity name: String) {
      let place = "entities/\(name)"
      guard let index = model.entityIndex(named: name) else {
        let hint = nearestName(to: name, among: model.entities.map(\.name))
        return report(place, "is no entity" + (hint.map { "; did you mean `\($0)`?" } ?? ""))
      }
      let entity = model.entities[index]
      if !declared.rules.isEmpty, entity.inheritance.parent != nil {
        report("\(place)/access", "belongs to the root entity, whose subentities have its rules")
      }
      for (action, rule) in declared.rules {
        entities[index].rules[action] = compile(rule, index, "\(place)/access/\(action.rawValue)")
      }
      for (attribute, rule) in declared.hidden {
        let place = "\(place)/attributes/\(attribute)"
        if isInherited(attribute, entity) {
          report("\(place)/hidden", Self.belongsToParent)
          continue
        }
        // Whoever knows the rest of a row could find out the value from the hash.
        guard !entity.isIdentifiedByHash else {
          report(
            "\(place)/hidden",
            "cannot be hidden, because the ids of `\(name)` are hashes of whole rows; give the view a "
              + "column `id`, or leave the column out of it")
          continue
        }
        let numbers = numbers(of: attribute, entity, place)
        guard !numbers.contains(where: { entity.keyProperties.contains(.attribute($0)) }) else {
          report(
            "\(place)/hidden",
            "cannot be hidden, because it is part of the key: the ids of `\(name)` contain it")
          continue
        }
        for number in numbers {
          entities[index].hidden[number] = compileConstant(rule, index, "\(place)/hidden")
        }
      }
      for (attribute, rule) in declared.readOnly {
        let place = "\(place)/attributes/\(attribute)"
        if isInherited(attribute, entity) {
          report("\(place)/readOnly", Self.belongsToParent)
          continue
        }
        for number in numbers(of: attribute, entity, place) {
          entities[index].readOnly[number] = compileConstant(rule, index, "\(place)/readOnly")
        }
      }
    }

    /// True if the attribute belongs to a parent. A rule at a subentity would not hold for a fetch of the
    /// parent, which returns the same object.
    private func isInherited(_ attribute: String, _ entity: Entity) -> Bool {
      guard let parent = entity.inheritance.parent else { return false }
      if case .attribute? = model.entities[parent].property(named: attribute) { return true }
      return false
    }

    private static let belongsToParent =
      "belongs to the entity that declares the attribute, whose subentities have its rule"

    private mutating func report(_ place: String, _ reason: String) {
      problems.append(ModelFileProblem(place, reason))
    }

    /// Returns the indexes of an attribute and of its fields.
    private mutating func numbers(of name: String, _ entity: Entity, _ place: String) -> [Int] {
      if case .relationship? = entity.property(named: name) {
        report(place, "is a relationship; restrict its entity instead")
        return []
      }
      guard case .attribute? = entity.property(named: name) else {
        let hint = nearestName(to: name, among: entity.attributes.map(\.name))
        report(place, "is no attribute" + (hint.map { "; did you mean `\($0)`?" } ?? ""))
        return []
      }
      return entity.attributes.indices.filter {
        entity.attributes[$0].name == name || entity.attributes[$0].name.hasPrefix("\(name).")
      }
    }

    private mutating func compile(_ rule: AccessRule, _ entity: Int, _ place: String) -> Rule {
      guard case .predicate(let text) = rule else {
        if case .constant(let allows) = rule { return .constant(allows) }
        return .constant(false)
      }
      do throws(PredicateError) {
        var names: Set<String> = []
        let predicate = try AccessRules.replacingUser(in: Predicate(parsing: text), &names)
        try check(names, predicate, entity, place)
        variables.formUnion(names)
        return .predicate(predicate, variables: names)
      } catch {
        report(place, Self.reason(error.located(in: text), text))
        return .constant(false)
      }
    }

    /// Why a predicate is no rule.
    private static func reason(_ error: PredicateError, _ text: String) -> String {
      let word = text.filter { !$0.isWhitespace }.lowercased()
      if ["true", "false"].contains(word) { return "is a text; write \(word) without quotes" }
      guard error.code == .missingVariable else { return error.description }
      return "at \(error.offset): found \(error.found); in a rule only $user, $user.id, "
        + "$user.roles, $user.name and $user.claims.X exist"
    }

    /// Resolves a rule for the anonymous caller. A claim may be a list, for which nil cannot always
    /// stand.
    private func resolve(
      _ predicate: Predicate, _ entity: Int, _ names: Set<String>
    ) throws(PredicateError) -> ResolvedPredicate {
      let values = names.map { ($0, AccessRules.value(of: $0, AccessCaller()) ?? .json(.null)) }
      let variables = Dictionary(values, uniquingKeysWith: { first, _ in first })
      let claims = names.filter { $0.hasPrefix("user.claims.") }.sorted()
      do throws(PredicateError) {
        return try predicate.resolved(in: model, entity: entity, variables: variables)
      } catch {
        guard error.code == .typeMismatch else { throw error }
        // Every choice of the first claims as lists.
        for choice in 0..<(1 << min(claims.count, 6)) {
          var lists = variables
          for (index, name) in claims.enumerated() where choice & (1 << index) != 0 {
            lists[name] = .json(.array([]))
          }
          if let found = try? predicate.resolved(in: model, entity: entity, variables: lists) {
            return found
          }
        }
        throw error
      }
    }

    /// Resolves a rule for the anonymous caller, which shows unknown names.
    private mutating func check(
      _ names: Set<String>, _ predicate: Predicate, _ entity: Int, _ place: String
    ) throws(PredicateError) {
      for name in names where !Self.isKnown(name) {
        report(
          place,
          "`$\(name)` is none of $user, $user.id, $user.name, $user.roles and "
            + "$user.claims.NAME")
      }
      let resolved = try resolve(predicate, entity, names)
      paths.formUnion(resolved.paths)
      let count = resolved.paths.relationshipCount
      if count > Self.maxRelationships {
        report(
          place,
          "goes over \(count) relationships, and \(Self.maxRelationships) are the most of a rule")
      }
      if resolved.isNondeterministic {
        report(place, "uses `now`, and what changes without a save cannot be followed")
      }
    }

    /// The maximum number of relationships that a rule may go over; they are joined in addition to a fetch's own.
    private static let maxRelationships = 20

    private static func isKnown(_ variable: String) -> Bool {
      let names = variable.split(separator: ".")
      switch names.count {
      case 1: return true
      case 2: return ["id", "name", "roles"].contains(names[1])
      default: return names[1] == "claims"
      }
    }

    /// Compiles a rule for all objects of an entity, which may only depend on the caller.
    private mutating func compileConstant(
      _ rule: AccessRule, _ entity: Int, _ place: String
    ) -> Rule {
      let compiled = compile(rule, entity, place)
      if case .predicate(let predicate, let names) = compiled {
        let resolved = try? resolve(predicate, entity, names)
        if resolved.map({ !$0.paths.isEmpty }) ?? false {
          report(place, "is the same for all objects: it may use $user and no property")
        }
      }
      return compiled
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

// MARK: - Meanings

extension Model {
  /// Returns the tables and columns that a key path goes over.
  fileprivate func meaning(of path: PropertyPath) -> String {
    var entity = path.root
    var places: [String] = []
    for step in path.steps {
      places.append(place(of: step, in: entities[entity]))
      entity = entities[entity].relationships[step].destination
    }
    if case .attribute(let index) = path.target {
      places.append(entities[entity].attributes[index].name)
    }
    return places.joined(separator: ", ")
  }

  /// Returns the table that a relationship leads to, and the columns that it is stored in.
  private func place(of step: Int, in entity: Entity) -> String {
    let relationship = entity.relationships[step]
    let destination = entities[relationship.destination]
    if let columns = relationship.joinColumns { return "\(columns) to \(destination.name)" }
    if relationship.isToMany, let inverse = relationship.inverse {
      return "\(destination.name).\(destination.column(of: inverse)) of \(entity.name)"
    }
    return "\(entity.name).\(entity.column(of: step)) to \(destination.name)"
  }
}

extension Entity {
  /// Returns the name of the column of a to-one relationship.
  fileprivate func column(of relationship: Int) -> String {
    let names = aliases.filter { $0.value == .relationship(relationship) }.keys
    return names.min() ?? relationships[relationship].name
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
