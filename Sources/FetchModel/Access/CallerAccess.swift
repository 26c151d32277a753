// The access rules of one caller, with `$user` replaced by values, and the restriction of fetches to
// readable objects.

import Bytes

/// The permissions of one caller. Equal for callers with equal values of the rules' variables.
public final class CallerAccess: Sendable, Hashable {
  /// The model as the caller sees it: hidden attributes have no names. Its indexes are the model's.
  public let model: Model
  /// The hidden attributes of each entity.
  public let hidden: [Set<Int>]
  /// The attributes of each entity that the caller may not write.
  public let readOnly: [Set<Int>]
  /// Differs for callers with different rules, but for collisions of a 64-bit hash.
  public let tag: String
  /// The tag of the tokens that the caller receives: the first half of ``tag``. A token with another
  /// tag was given under other rules, so that its client may hold other rows.
  public let tokenTag: UInt32
  /// True if the caller sees every attribute.
  public let hidesNothing: Bool
  /// The maximum number of relationships that a `read` rule goes over.
  let ruleRelationships: Int
  /// True if there are attributes that the caller does not see or may not write.
  public var protectsAttributes: Bool { !hidesNothing || readOnly.contains { !$0.isEmpty } }
  private let rules: [AccessAction: [ResolvedPredicate]]
  private let values: [PredicateArgument?]
  private let sharedRules: ParameterizedAccess?

  /// - Parameters:
  ///   - hash: That of the rules' declaration.
  ///   - shared: The same rules with parameters, if they were found to be equal.
  init(
    model: Model, hash: FNV1a64, values: [PredicateArgument?],
    rules: [AccessAction: [ResolvedPredicate]], hidden: [Set<Int>], readOnly: [Set<Int>],
    shared: ParameterizedAccess? = nil
  ) {
    sharedRules = shared
    self.model = model.hiding(hidden)
    self.values = values
    let hash = Self.hash(of: values, after: hash)
    tag = hash.text
    tokenTag = UInt32(hash.value >> 32)
    hidesNothing = hidden.allSatisfy(\.isEmpty)
    ruleRelationships = rules[.read]?.map(\.paths.relationshipCount).max() ?? 0
    self.rules = rules
    self.hidden = hidden
    self.readOnly = readOnly
  }

  /// Returns the rule for an action on objects of an entity.
  public func rule(_ action: AccessAction, _ entity: Int) -> ResolvedPredicate {
    rules[action]?[entity] ?? ResolvedPredicate(condition: .constant(false))
  }

  /// The rules with parameters in place of this caller's texts and integers, which plans are made with;
  /// nil if callers cannot share them: a rule has another use for a value than comparing it by `==` or
  /// `!=` (an integer also by order), or the value is a fraction, has the character U+0000, or is compared
  /// both as a text and as an integer.
  package var parameterized: ParameterizedAccess? {
    if let sharedRules { return sharedRules }
    // Without texts and numbers, the rules themselves are those of many callers.
    let isShared = !values.contains { $0?.isTextOrNumber ?? false }
    return isShared ? ParameterizedAccess(template: self, values: []) : nil
  }

  private static func hash(of values: [PredicateArgument?], after hash: FNV1a64) -> FNV1a64 {
    var hash = hash
    for value in values {
      for byte in String(describing: value).utf8 { hash.combine(byte) }
      hash.combine(0xFF)
    }
    return hash
  }

  public static func == (left: CallerAccess, right: CallerAccess) -> Bool {
    left === right || left.tag == right.tag && left.values == right.values
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}

/// Access rules with parameters, and the values of one caller.
public struct ParameterizedAccess: Sendable {
  /// The rules with parameters. Callers whose rules differ only in these values have the same ones.
  package let template: CallerAccess
  /// The values of the rules' variables, by their index; null for one that is no parameter.
  let values: [Value]

  /// The values for a plan without parameters of its own.
  package var planValues: PlanValues { PlanValues(numbers: [], caller: values) }
}

/// The part of a caller's rules that a fetch depends on.
public struct ReadRules: Sendable, Hashable {
  /// The `read` rules of the root entities of tables, for the entities that the fetch reaches. Rules
  /// that always hold are left out.
  public let conditions: [Int: ResolvedPredicate]
  /// The hidden attributes of the entities that the fetch reaches, and of those that share their
  /// tables.
  public let hidden: [Int: Set<Int>]
  /// The key paths of the rules, from the fetch's entity.
  public let paths: [PropertyPath]
  /// The caller's rules with parameters; nil if callers cannot share them.
  package let parameterized: ParameterizedAccess?

  /// Returns nil if no rule restricts the fetch.
  init?(_ access: CallerAccess, plan: FetchPlan) {
    let model = access.model
    let root = plan.definition.entity
    var conditions: [Int: ResolvedPredicate] = [:]
    var hidden: [Int: Set<Int>] = [:]
    var paths: [PropertyPath] = []
    var seen: Set<PropertyPath> = []
    func add(_ entity: Int, after steps: [Int]) {
      let table = model.entities[entity].inheritance.root ?? entity
      for sharing in [table] + model.entities[table].inheritance.subentities
      where !access.hidden[sharing].isEmpty {
        hidden[sharing] = access.hidden[sharing]
      }
      let rule = access.rule(.read, entity)
      guard rule.condition != .constant(true) else { return }
      conditions[table] = access.rule(.read, table)
      for path in rule.paths {
        let whole = PropertyPath(root: root, steps: steps + path.steps, target: path.target)
        if seen.insert(whole).inserted { paths.append(whole) }
      }
    }
    add(root, after: [])
    for path in plan.paths {
      for (index, relationship) in model.walk(path).relationships.enumerated() {
        add(relationship.destination, after: Array(path.steps[...index]))
      }
    }
    for path in plan.expansion {
      // A whole object shows the ids of its to-one relationships.
      for (index, relationship) in model.entities[model.walk(path).end].relationships.enumerated()
      where !relationship.isToMany {
        add(relationship.destination, after: path.steps + [index])
      }
    }
    guard !conditions.isEmpty || !hidden.isEmpty else { return nil }
    self.conditions = conditions
    self.hidden = hidden
    self.paths = paths
    parameterized = access.parameterized
  }

  private init(_ rules: ReadRules, conditions: [Int: ResolvedPredicate]) {
    self.conditions = conditions
    hidden = rules.hidden
    paths = rules.paths
    parameterized = nil
  }

  /// The rules with `values` in place of their parameters.
  func binding(_ values: PlanValues) -> ReadRules {
    ReadRules(self, conditions: conditions.mapValues { $0.binding(values) })
  }

  public static func == (left: ReadRules, right: ReadRules) -> Bool {
    left.conditions == right.conditions && left.hidden == right.hidden && left.paths == right.paths
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(conditions)
    hasher.combine(hidden)
  }

  /// True if a caller does not see a value of an object of `entity`.
  public func hides(_ value: SelectedValue, of entity: Int) -> Bool {
    guard case .path(let path) = value.source, path.steps.isEmpty,
      case .attribute(let index) = path.target
    else { return false }
    return hidden[entity]?.contains(index) ?? false
  }
}

extension FetchPlan {
  /// Returns the plan with the caller's rules as a part of it.
  public func restricted(by access: CallerAccess?) -> FetchPlan {
    guard let access else { return self }
    var plan = self
    plan.definition.access = ReadRules(access, plan: self)
    return plan
  }

  /// Returns the plan of one object with its default values, as a caller reads it.
  public static func object(
    of entity: Int, in model: Model, for access: CallerAccess?, integersAsStrings: Bool
  ) -> FetchPlan {
    let resolver =
      access.map { FetchResolver(access: $0, maxItems: 1) }
      ?? FetchResolver(model: model, maxItems: 1)
    return FetchPlan(
      definition: ResultDefinition(entity: entity, predicate: .everything),
      selection: resolver.defaultSelection(of: entity),
      integersAsStrings: integersAsStrings
    ).restricted(by: access)
  }

  /// The plan without any caller's rules.
  public var unrestricted: FetchPlan {
    var plan = self
    plan.definition.access = nil
    return plan
  }
}

extension Model {
  /// Returns the model with hidden attributes that no name leads to.
  func hiding(_ hidden: [Set<Int>]) -> Model {
    guard hidden.contains(where: { !$0.isEmpty }) else { return self }
    return Model(
      replacing: zip(entities, hidden).map { $1.isEmpty ? $0 : $0.hiding($1) }, in: self)
  }

  /// The fetch templates that the caller may know: those that use no name of a hidden attribute.
  public var visibleTemplates: [ModelFile.FetchTemplate] {
    let names = concealedNames
    return (file?.fetchTemplates ?? []).filter { template in
      !([template.predicate ?? ""] + template.sort).contains { $0.mentions(names) }
    }
  }

  /// The names of the attributes that the caller does not see.
  public var concealedNames: Set<String> {
    Set(entities.flatMap { entity in entity.hiddenAttributes.map { entity.attributes[$0].name } })
  }
}

extension String {
  /// True if one of the words of this text is among `names`, or if it contains one that is no word.
  public func mentions(_ names: Set<String>) -> Bool {
    !names.isEmpty
      && (utf8.split { !PredicateLexer.isNamePart($0) }.contains {
        names.contains(String($0) ?? "")
      }
        || names.contains { !PredicateLexer.isName($0) && contains($0) })
  }
}
