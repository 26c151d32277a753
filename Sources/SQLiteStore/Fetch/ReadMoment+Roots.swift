// Touched objects → the roots of a plan whose row may differ because of them.
//
// Current links suffice. A link is stored in a row; where a link changed, that row was touched and
// is a start of its own, and the touches name the objects that lost or gained it. So from every
// touched object each way back to a root either still stands or begins at another touched object.
// Only a link to other columns than the key's may have led to what is gone or has another value
// there now: these are looked up by what history says was there.

import FetchModel

extension ReadMoment {
  func roots(
    of plan: FetchPlan, touchedBy touches: Touches
  ) throws(StoreError) -> Set<ObjectID> {
    var roots = touches.objects[plan.definition.entity] ?? []
    for prefix in prefixes(of: plan) {
      let ids = touched(at: prefix, by: touches)
      guard !ids.isEmpty else { continue }
      if prefix.isEmpty {
        roots.formUnion(ids)
      } else {
        let entity = plan.definition.entity
        try collectRoots(
          composer.roots(of: entity, reaching: ids, over: prefix.steps), into: &roots)
        if let start = touches.start,
          let former = composer.roots(of: entity, reachingFormerly: prefix.steps, after: start)
        {
          try collectRoots(former, into: &roots)
        }
      }
    }
    return roots
  }

  /// A way from the root, and the to-many steps that plans take from its end.
  private struct Prefix {
    let steps: [Int]
    let entity: Int
    var members: Set<Int> = []
    var isEmpty: Bool { steps.isEmpty }
  }

  /// Every beginning of the plan's key paths, each once.
  private func prefixes(of plan: FetchPlan) -> [Prefix] {
    var prefixes: [[Int]: Prefix] = [:]
    for path in plan.paths {
      var entity = plan.definition.entity
      for length in 0...path.steps.count {
        let steps = Array(path.steps[..<length])
        if prefixes[steps] == nil { prefixes[steps] = Prefix(steps: steps, entity: entity) }
        guard length < path.steps.count else { continue }
        let step = path.steps[length]
        let relationship = composer.model.entities[entity].relationships[step]
        if relationship.isToMany { prefixes[steps]?.members.insert(step) }
        entity = relationship.destination
      }
    }
    return Array(prefixes.values)
  }

  private func touched(at prefix: Prefix, by touches: Touches) -> Set<ObjectID> {
    var ids = prefix.isEmpty ? [] : touches.objects[prefix.entity] ?? []
    for step in prefix.members {
      let place = RelationshipPlace(entity: prefix.entity, relationship: step)
      ids.formUnion(touches.members[place] ?? [])
    }
    return ids
  }

  private func collectRoots(
    _ statement: SQLFragment, into roots: inout Set<ObjectID>
  ) throws(StoreError) {
    try connection.withStatement(statement.text) { prepared throws(StoreError) in
      prepared.bind(statement.bindings)
      while try prepared.step() {
        if let id = prepared.id(0) { roots.insert(id) }
      }
    }
  }
}
