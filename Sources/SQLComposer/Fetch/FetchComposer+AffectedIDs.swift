// Changed objects → the ids of a plan's objects whose row may differ because of them.
//
// The current links are enough. A link is stored in a row; if a link changed, that row is itself
// among the changed objects, and the change set names the objects that lost or gained it. So every
// path from a changed object back to a root object either still exists or begins at another changed
// object. The exception is a link to columns other than the key's: it may have referred to a
// deleted row or to an old value. The history's old values find these links.

import FetchModel

extension FetchComposer {
  /// Returns the ids of the plan's objects whose row may differ because of `changeSet`.
  ///
  /// - Parameter read: Returns the ids in the first column of a statement's rows.
  package func affectedIDs(
    of plan: FetchPlan, by changeSet: ChangeSet,
    read: (FetchStatement) throws(StoreError) -> Set<ObjectID>
  ) throws(StoreError) -> Set<ObjectID> {
    var roots = changeSet.objects[plan.definition.entity] ?? []
    for prefix in prefixes(of: plan) {
      let ids = changed(at: prefix, by: changeSet)
      guard !ids.isEmpty else { continue }
      if prefix.isEmpty {
        roots.formUnion(ids)
      } else {
        let entity = plan.definition.entity
        let statement = self.roots(of: entity, reaching: ids, over: prefix.steps)
        roots.formUnion(try read(FetchStatement(statement, layout: RowLayout())))
        if let start = changeSet.start,
          let former = self.roots(
            of: entity, previouslyReaching: prefix.steps, after: start)
        {
          roots.formUnion(try read(FetchStatement(former, layout: RowLayout())))
        }
      }
    }
    return roots
  }

  /// Returns every prefix of the plan's key paths, without duplicates.
  private func prefixes(of plan: FetchPlan) -> [PathPrefix] {
    var prefixes: [[Int]: PathPrefix] = [:]
    for path in plan.paths(in: model) {
      var entity = plan.definition.entity
      for length in 0...path.steps.count {
        let steps = Array(path.steps[..<length])
        if prefixes[steps] == nil { prefixes[steps] = PathPrefix(steps: steps, entity: entity) }
        guard length < path.steps.count else { continue }
        let step = path.steps[length]
        let relationship = model.entities[entity].relationships[step]
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
}

/// A path from the root entity, and the to-many steps that plans take from its end.
private struct PathPrefix {
  let steps: [Int]
  let entity: Int
  var members: Set<Int> = []
  var isEmpty: Bool { steps.isEmpty }
}
