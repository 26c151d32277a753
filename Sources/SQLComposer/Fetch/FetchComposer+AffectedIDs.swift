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
  /// - Parameters:
  ///   - limit: If there are more, only some of them are returned, which are more than the limit.
  ///   - read: Returns the ids in the first column of a statement's rows.
  package func affectedIDs(
    of plan: FetchPlan, by changeSet: ChangeSet, limit: Int? = nil,
    read: (FetchStatement) throws(StoreError) -> Set<ObjectID>
  ) throws(StoreError) -> Set<ObjectID> {
    var roots = changeSet.objects[plan.definition.entity] ?? []
    let mostRows = limit.map { " LIMIT \($0 + 1)" } ?? ""
    func statement(_ roots: SQLFragment) -> FetchStatement {
      var fragment = SQLFragment("SELECT * FROM (")
      fragment.append(roots)
      fragment.append(") AS roots\(mostRows)")
      return FetchStatement(limit == nil ? roots : fragment, layout: RowLayout())
    }
    for prefix in prefixes(of: plan) {
      if let limit, roots.count > limit { break }
      let ids = changed(at: prefix, by: changeSet)
      guard !ids.isEmpty else { continue }
      if prefix.isEmpty {
        roots.formUnion(ids)
      } else {
        let entity = plan.definition.entity
        let reached = self.roots(of: entity, reaching: ids, over: prefix.steps)
        roots.formUnion(try read(statement(reached)))
        if let start = changeSet.start,
          let former = self.roots(
            of: entity, previouslyReaching: prefix.steps, after: start)
        {
          roots.formUnion(try read(statement(former)))
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
