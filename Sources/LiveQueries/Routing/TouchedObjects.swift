// Touches → what was touched of each entity, with what differs of each object. Objects whose related
// objects came or went count as changed in that relationship.

import FetchModel

/// What was touched between two moments, by entity.
struct TouchedObjects {
  struct Objects {
    /// By object: what differs of it.
    var masks: [ObjectID: PropertyMask] = [:]
    /// What differs of any of them.
    var union: PropertyMask = []

    mutating func add(_ id: ObjectID, _ mask: PropertyMask) {
      masks[id, default: []].formUnion(mask)
      union.formUnion(mask)
    }

    /// Those of which something differs that `mask` names.
    func ids(changedIn mask: PropertyMask) -> Set<ObjectID> {
      Set(masks.lazy.filter { !$0.value.isDisjoint(with: mask) }.map(\.key))
    }
  }

  /// Everything as the store told it.
  let touches: Touches
  private(set) var entities: [Int: Objects] = [:]

  init(_ touches: Touches, in model: Model) {
    self.touches = touches
    for (entity, ids) in touches.objects {
      let changes = touches.changes[entity] ?? [:]
      var objects = Objects()
      objects.masks.reserveCapacity(ids.count)
      for id in ids { objects.add(id, changes[id] ?? .all) }
      entities[entity] = objects
    }
    for (place, ids) in touches.members {
      let mask = model.entities[place.entity].mask(of: .relationship(place.relationship))
      for id in ids { entities[place.entity, default: Objects()].add(id, mask) }
    }
  }

  /// What leads to the objects of one entity, for asking the store which objects reach them.
  func touches(of entity: Int) -> Touches {
    Touches(
      objects: touches.objects.filter { $0.key == entity },
      members: touches.members.filter { $0.key.entity == entity }, start: touches.start)
  }
}
