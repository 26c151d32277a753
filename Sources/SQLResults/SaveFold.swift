// The objects that a save inserted, updated and deleted, table by table → its record.

import FetchModel

/// The effect of one save, collected table by table.
package struct SaveFold {
  private var inserted: [Int: [ObjectID]] = [:]
  private var deleted: [Int: [ObjectID]] = [:]
  private var updatedOrder: [Int: [ObjectID]] = [:]
  private var updated: [Int: [ObjectID: [String]]] = [:]

  package init() {}

  package mutating func insert(_ id: ObjectID, of entity: Int) {
    inserted[entity, default: []].append(id)
  }
  package mutating func delete(_ id: ObjectID, of entity: Int) {
    deleted[entity, default: []].append(id)
  }

  package mutating func update(_ id: ObjectID, of entity: Int, properties: [String]) {
    if updated[entity]?[id] == nil { updatedOrder[entity, default: []].append(id) }
    let known = updated[entity]?[id] ?? []
    updated[entity, default: [:]][id] = known + properties.filter { !known.contains($0) }
  }

  package func record(of save: SaveRange) -> SaveRecord {
    var updates: [Int: [(id: ObjectID, properties: [String])]] = [:]
    for (entity, ids) in updatedOrder {
      let others = Set((inserted[entity] ?? []) + (deleted[entity] ?? []))
      let kept = ids.filter { !others.contains($0) }
      if !kept.isEmpty { updates[entity] = kept.map { ($0, updated[entity]?[$0] ?? []) } }
    }
    return SaveRecord(
      token: save.token, at: Instant(secondsSince1970: save.at) ?? Instant(seconds: 0),
      inserted: inserted, updated: updates, deleted: deleted)
  }
}
