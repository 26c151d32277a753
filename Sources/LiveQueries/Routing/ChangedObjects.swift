// Groups a change set by entity, with a mask of changed properties per object. An object whose
// related objects were added or removed counts as changed in that relationship.

import FetchModel

/// The objects that changed between two positions, by entity.
struct ChangedObjects {
  struct Objects {
    /// The changed properties of each object.
    var masks: [ObjectID: PropertyMask] = [:]
    /// The properties that changed in any object.
    var union: PropertyMask = []

    mutating func add(_ id: ObjectID, _ mask: PropertyMask) {
      masks[id, default: []].formUnion(mask)
      union.formUnion(mask)
    }

    /// The objects of which a property in `mask` changed.
    func ids(changedIn mask: PropertyMask) -> Set<ObjectID> {
      Set(masks.lazy.filter { !$0.value.isDisjoint(with: mask) }.map(\.key))
    }
  }

  /// The change set as the store reported it.
  let changeSet: ChangeSet
  private(set) var entities: [Int: Objects] = [:]

  init(_ changeSet: ChangeSet, in model: Model) {
    self.changeSet = changeSet
    for (entity, ids) in changeSet.objects {
      let changes = changeSet.changes[entity] ?? [:]
      var objects = Objects()
      objects.masks.reserveCapacity(ids.count)
      for id in ids { objects.add(id, changes[id] ?? .all) }
      entities[entity] = objects
    }
    for (relationship, ids) in changeSet.members {
      let mask = model.entities[relationship.entity].mask(
        of: .relationship(relationship.relationship))
      for id in ids { entities[relationship.entity, default: Objects()].add(id, mask) }
    }
  }

  /// The part of the change set that concerns one entity and relationships to it.
  func changeSet(of entity: Int) -> ChangeSet {
    ChangeSet(
      objects: changeSet.objects.filter { $0.key == entity },
      members: changeSet.members.filter { $0.key.entity == entity }, start: changeSet.start)
  }
}
