// Declared access rules and a model → the parsed rules, or every problem found.

extension AccessRules {
  /// Checks the rules of all entities and collects the problems.
  struct Compiler {
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

    /// Refuses rules that restrict `read` of a table of which that is not possible.
    mutating func refuseUnrestrictableTables(allowsByDefault: Bool) {
      for (index, entity) in model.entities.enumerated()
      where !entity.isRestrictable && entity.inheritance.parent == nil {
        switch entities[index].rules[.read] ?? .constant(allowsByDefault) {
        case .constant(true): break
        case .constant(false), .predicate:
          report(
            "entities/\(entity.name)/access/read",
            "cannot restrict the table, because SQLite does not read its column called `true` or "
              + "`false` in a subquery; rename the column, or let everyone read")
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
