// The rules that a save can check only after its last change: the sizes of to-many relationships,
// and required to-one relationships that a delete rule cleared.
//
// The save's own transaction wrote history rows, which name the changed objects. So it does not
// matter which end of a relationship, or which delete rule, changed them.

import FetchModel
import SQLComposer

/// The rules of a model that are checked at the end of a save.
struct DeferredConstraints: Sendable {
  /// A relationship with a rule.
  struct Rule: Sendable {
    let entity: Int
    let relationship: Int
    let name: String
    let minimum: Int
    let maximum: Int
    /// True if zero objects are allowed although `minimum` is greater.
    let mayBeEmpty: Bool
    let isToMany: Bool
    /// Selects the objects with too few or too many related ones; nil if they are counted one by one.
    let violation: ResolvedPredicate?
  }

  let rules: [Rule]

  /// Returns nil if the model has no such rules.
  init?(model: Model) {
    let rules = model.entities.enumerated().flatMap { index, entity in
      entity.relationships.enumerated().compactMap { place, relationship -> Rule? in
        // The ancestor checks an inherited rule.
        let parent = entity.inheritance.parent.map { model.entities[$0] }
        guard parent?.property(named: relationship.name) == nil else { return nil }
        return Rule(relationship, at: place, of: index, in: model)
      }
    }
    guard !rules.isEmpty else { return nil }
    self.rules = rules
  }
}

extension DeferredConstraints.Rule {
  fileprivate init?(
    _ relationship: Relationship, at place: Int, of entity: Int, in model: Model
  ) {
    guard let declaration = relationship.declaration else { return nil }
    let isMandatory = !declaration.isOptional
    let least = max(declaration.minimumCount ?? 0, isMandatory ? 1 : 0)
    // As in Core Data, a maximum of 0 means no maximum.
    let most = declaration.maximumCount.map { $0 == 0 ? Int.max : $0 } ?? Int.max
    guard least > 0 || most < Int.max else { return nil }
    // Each bound reads members, so only those that the rule has. Fewer than 1 reads one member.
    let bounds =
      (least > 0 ? ["%K.@count < \(least)"] : []) + (most < Int.max ? ["%K.@count > \(most)"] : [])
    let counts =
      relationship.isToMany
      ? try? Predicate(parsing: bounds.joined(separator: " OR ")).resolved(
        in: model, entity: entity, arguments: bounds.map { _ in .text(relationship.name) }) : nil
    self.init(
      entity: entity, relationship: place, name: relationship.name, minimum: least, maximum: most,
      mayBeEmpty: !isMandatory, isToMany: relationship.isToMany, violation: counts)
  }

  /// Returns the violation by an object with `count` related objects; nil without one.
  ///
  /// - Parameter isRestricted: True if the caller may not read some of them: the number is left out.
  fileprivate func problem(
    _ count: Int, isRestricted: Bool
  ) -> (code: ChangeProblem.Code, detail: String)? {
    let found = isRestricted ? "" : ", not \(count)"
    if count > maximum {
      return (.tooMany, "`\(name)` holds at most \(maximum) objects\(found)")
    }
    guard count < minimum, !(count == 0 && mayBeEmpty) else { return nil }
    return isToMany
      ? (.tooFew, "`\(name)` needs at least \(minimum) objects\(found)")
      : (.notOptional, "`\(name)` may not be nil")
  }
}

extension SaveRun {
  /// Reports every changed object that violates a rule.
  mutating func run(_ checks: DeferredConstraints, after start: Int64?) throws(StoreError) {
    guard let start else { return }
    let changeSet = try connection.changes(after: start)
    for rule in checks.rules where !failedChangesMaySatisfy(rule) {
      let place = EntityRelationship(entity: rule.entity, relationship: rule.relationship)
      let ids = (changeSet.objects[rule.entity] ?? []).union(changeSet.members[place] ?? [])
      // The related objects themselves are read only of those that violate the rule.
      let found =
        try rule.violation.map { violation throws(StoreError) in
          try idsFulfilling(violation, among: ids, of: rule.entity)
        } ?? ids
      guard !found.isEmpty else { continue }
      let changes = changesByOwner(rule.entity)
      for (id, count) in try counts(rule, found).sorted(by: { $0.id < $1.id }) {
        guard let problem = rule.problem(count, isRestricted: permissions != nil) else { continue }
        let object = mayRead(id, of: rule.entity) ? " (object \(id))" : ""
        report(
          problem.code, rule.name, problem.detail + object,
          at: changes[id] ?? max(0, request.changes.count - 1))
      }
    }
  }

  /// True if a change that failed could have satisfied the rule.
  private func failedChangesMaySatisfy(_ rule: DeferredConstraints.Rule) -> Bool {
    request.changes.indices.contains { index in
      guard progress[index] == .failed else { return false }
      let change = request.changes[index]
      switch change.operation {
      case .delete, .deleteAll, .nothing: return true
      case .insert, .update, .replace, .updateAll: return sets(change, rule)
      }
    }
  }

  /// True if a change affects one of the relationship's two ends.
  private func sets(_ change: Change, _ rule: DeferredConstraints.Rule) -> Bool {
    let model = executor.model
    let declared = model.entities[rule.entity].relationships[rule.relationship]
    let inverse = declared.inverse.map {
      model.entities[declared.destination].relationships[$0].name
    }
    let entity = model.entities[change.entity]
    let properties = (change.faults ?? []).union(change.values.map(\.property))
    return properties.contains { property in
      guard case .relationship(let place) = property else { return false }
      let name = entity.relationships[place].name
      return name == rule.name || name == inverse
    }
  }

  /// Returns the number of related objects of each object in `ids` that exists.
  private func counts(
    _ rule: DeferredConstraints.Rule, _ ids: Set<ObjectID>
  ) throws(StoreError) -> [(id: ObjectID, count: Int)] {
    let path = PropertyPath(root: rule.entity, steps: [rule.relationship], target: .object)
    let plan = FetchPlan(
      definition: ResultDefinition(
        entity: rule.entity, predicate: executor.model.membership(of: rule.entity)),
      selection: [
        SelectedValue(key: rule.name, source: rule.isToMany ? .ids(path) : .path(path))
      ])
    let statement = FetchComposer(model: executor.model, schema: executor.schema)
      .rows(of: plan, ids: ids, at: .now)
    return try connection.rows(of: statement).map { ($0.id, Self.count($0.row)) }
  }

  private static func count(_ row: Row) -> Int {
    guard let range = row.values.first, let value = try? JSON(parsing: Array(row.json[range]))
    else {
      return 0
    }
    if case .array(let elements) = value { return elements.count }
    return value == .null ? 0 : 1
  }

  /// The index of the first change of each object of an entity's tree.
  private func changesByOwner(_ entity: Int) -> [ObjectID: Int] {
    let root = root(of: entity)
    var found: [ObjectID: Int] = [:]
    for (index, change) in request.changes.enumerated()
    where self.root(of: change.entity) == root {
      if let id = owner(of: index), found[id] == nil { found[id] = index }
    }
    return found
  }
}
