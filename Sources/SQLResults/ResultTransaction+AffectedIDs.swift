// Changed objects → the ids of a plan's objects whose row may differ because of them.

import FetchModel
import SQLComposer

extension ResultTransaction {
  package func affectedIDs(
    of plan: FetchPlan, by changeSet: ChangeSet
  ) throws(StoreError) -> Set<ObjectID> {
    try composer.affectedIDs(of: plan, by: changeSet) { statement throws(StoreError) in
      var ids: Set<ObjectID> = []
      try run(statement) { row in
        if let id = row.id(at: 0) { ids.insert(id) }
        return true
      }
      return ids
    }
  }
}
