// Changed objects → the ids of a plan's objects whose row may differ because of them.
//
// The current links are enough. A link is stored in a row; if a link changed, that row is itself
// among the changed objects, and the change set names the objects that lost or gained it. So every
// path from a changed object back to a root object either still exists or begins at another changed
// object. The exception is a link to columns other than the key's: it may have referred to a
// deleted row or to an old value. The history's old values find these links.

import FetchModel
import SQLComposer

extension ResultTransaction {
  package func affectedIDs(
    of plan: FetchPlan, by changeSet: ChangeSet
  ) throws(StoreError) -> Set<ObjectID> {
    var roots = changeSet.objects[plan.definition.entity] ?? []
    for prefix in prefixes(of: plan) {
      let ids = changed(at: prefix, by: changeSet)
      guard !ids.isEmpty else { continue }
      if prefix.isEmpty {
        roots.formUnion(ids)
      } else {
        let entity = plan.definition.entity
        try collectRoots(
          composer.roots(of: entity, reaching: ids, over: prefix.steps), into: &roots)
        if let start = changeSet.start,
          let former = composer.roots(
            of: entity, previouslyReaching: prefix.steps, after: start)
        {
          try collectRoots(former, into: &roots)
        }
      }
    }
    return roots
  }

  /// Returns every prefix of the plan's key paths, without duplicates.
  private func prefixes(of plan: FetchPlan) -> [PathPrefix] {
    var prefixes: [[Int]: PathPrefix] = [:]
    for path in plan.paths(in: composer.model) {
      var entity = plan.definition.entity
      for length in 0...path.steps.count {
        let steps = Array(path.steps[..<length])
        if prefixes[steps] == nil { prefixes[steps] = PathPrefix(steps: steps, entity: entity) }
        guard length < path.steps.count else { continue }
        let step = path.steps[length]
        let relationship = composer.model.entities[entity].relationships[step]
        if relationship.isToMany { prefixes[steps]?.members.insert(step) }
        entity = relationship.destination
      }
    }
    return Array(prefixes.values)
  }

  private func changed(at prefix: PathPrefix, by changeSet: ChangeSet) -> Set<ObjectID> {
    var ids = prefix.isEmpty ? [] : changeSet.objects[prefix.entity] ?? []
    for step in prefix.members {
      let place = EntityRelationship(entity: prefix.entity, relationship: step)
      ids.formUnion(changeSet.members[place] ?? [])
    }
    return ids
  }

  private func collectRoots(
    _ statement: SQLFragment, into roots: inout Set<ObjectID>
  ) throws(StoreError) {
    try run(FetchStatement(statement)) { row in
      if let id = row.id(at: 0) { roots.insert(id) }
      return true
    }
  }
}

/// A path from the root entity, and the to-many steps that plans take from its end.
private struct PathPrefix {
  let steps: [Int]
  let entity: Int
  var members: Set<Int> = []
  var isEmpty: Bool { steps.isEmpty }
}
