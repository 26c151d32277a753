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

  /// An inherited relationship is an update under the entity that declares it. If the object is changed
  /// under an entity below too, that one has the update.
  package func record(of save: SaveRange, in model: Model) -> SaveRecord {
    func root(_ entity: Int) -> Int { model.entities[entity].inheritance.root ?? entity }
    var others: [Int: Set<ObjectID>] = [:]
    for (entity, ids) in Array(inserted) + Array(deleted) {
      others[root(entity), default: []].formUnion(ids)
    }
    var merged = updated
    for entity in updatedOrder.keys {
      for below in updatedOrder.keys where below != entity && root(below) == root(entity) {
        guard model.entities[entity].inheritance.subentities.contains(below) else { continue }
        for (id, properties) in merged[entity] ?? [:] {
          guard let known = merged[below]?[id] else { continue }
          merged[below]?[id] = known + properties.filter { !known.contains($0) }
          merged[entity]?[id] = nil
        }
      }
    }
    var updates: [Int: [(id: ObjectID, properties: [String])]] = [:]
    for (entity, ids) in updatedOrder {
      let kept = ids.compactMap { id -> (id: ObjectID, properties: [String])? in
        guard others[root(entity)]?.contains(id) != true else { return nil }
        return merged[entity]?[id].map { (id, $0) }
      }
      if !kept.isEmpty { updates[entity] = kept }
    }
    return SaveRecord(
      token: save.token, at: Instant(secondsSince1970: save.at) ?? Instant(seconds: 0),
      inserted: inserted, updated: updates, deleted: deleted)
  }
}
