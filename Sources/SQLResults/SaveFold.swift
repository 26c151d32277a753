// The objects that a save inserted, updated and deleted, table by table → its record.

import FetchModel

/// The effect of one save, collected table by table.
package struct SaveFold {
  private var inserted: [Int: [ObjectID]] = [:]
  private(set) var deleted: [Int: [ObjectID]] = [:]
  private var updatedOrder: [Int: [ObjectID]] = [:]
  private var updated: [Int: [ObjectID: [String]]] = [:]
  /// The objects whose links changed, by the entity that declares the relationship.
  private(set) var owners: [Int: Set<ObjectID>] = [:]

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

  /// Adds an update of a to-many relationship. The object may be one of a subentity of `entity`.
  mutating func update(owner id: ObjectID, of entity: Int, relationship: String) {
    update(id, of: entity, properties: [relationship])
    owners[entity, default: []].insert(id)
  }

  /// - Parameter entities: The entities of the objects of ``owners``, by root entity. It may lack those
  ///   that have no subentities.
  func record(
    of save: SaveRange, in model: Model, _ entities: [Int: [ObjectID: Int]]
  ) -> SaveRecord {
    var others: [Int: Set<ObjectID>] = [:]
    for (entity, ids) in Array(inserted) + Array(deleted) {
      others[model.root(of: entity), default: []].formUnion(ids)
    }
    var merged = SaveFold()
    // Subentities first: the properties of an object's own row are before its inherited relationships.
    for (entity, ids) in updatedOrder.sorted(by: { $0.key > $1.key }) {
      let root = model.root(of: entity)
      for id in ids where others[root]?.contains(id) != true {
        merged.update(
          id, of: entities[root]?[id] ?? entity, properties: updated[entity]?[id] ?? [])
      }
    }
    var updates: [Int: [(id: ObjectID, properties: [String])]] = [:]
    for (entity, ids) in merged.updatedOrder {
      updates[entity] = ids.map { ($0, merged.updated[entity]?[$0] ?? []) }
    }
    return SaveRecord(
      token: save.token, at: Instant(secondsSince1970: save.at) ?? Instant(seconds: 0),
      inserted: inserted, updated: updates, deleted: deleted)
  }
}

extension Model {
  func root(of entity: Int) -> Int { entities[entity].inheritance.root ?? entity }
}
