// The related objects that a diff sends along: those that are new to the snapshot's `included` or
// changed in it.
//
// Only objects that came into the window or were touched can reach something new. What they reach
// now is sent, less what the window reached before and what is the same.

import FetchModel

extension LiveQuery {
  /// Up to how many items the whole window is asked for what it holds already.
  private static let maxRootsAsked = 1_000

  /// The related objects to send; nil where the view sends none.
  func included(
    for view: LiveView, _ changes: [RowChange], _ comparison: WindowComparison, from base: Int64,
    _ context: CatchUpContext
  ) throws(StoreError) -> Included? {
    guard view.key.shape == .objects, !key.expansion.isEmpty else { return nil }
    let roots = ExpansionRoots(changes, comparison)
    var objects = try self.objects(reachedFrom: roots.new, .now, context)
    if objects.isEmpty { return [:] }
    let before = try self.objects(reachedFrom: roots.old, .past(base), context)
    objects = objects.filter { before[$0.key] != $0.value }
    // Whatever an object that was not touched reaches is as it was, and was sent with it.
    let others = roots.staying(in: comparison)
    if !objects.isEmpty, others.count <= Self.maxRootsAsked {
      for place in try self.objects(reachedFrom: others, .now, context).keys {
        objects[place] = nil
      }
    }
    return Included(objects, model, integersAsStrings: key.integersAsStrings)
  }

  private func objects(
    reachedFrom roots: Set<ObjectID>, _ position: ReadPosition, _ context: CatchUpContext
  ) throws(StoreError) -> [ExpandedPlace: [UInt8]] {
    guard !roots.isEmpty else { return [:] }
    let objects = try context.transaction.expandedObjects(of: plan, roots: roots, at: position)
    return Dictionary(
      objects.map { (ExpandedPlace(entity: $0.entity, id: $0.id), $0.json) }
    ) { $1 }
  }
}

struct ExpandedPlace: Hashable {
  let entity: Int
  let id: ObjectID
}

/// The objects of the window that may reach something new, and may have reached what is gone.
private struct ExpansionRoots {
  var new: Set<ObjectID> = []
  var old: Set<ObjectID> = []

  init(_ changes: [RowChange], _ comparison: WindowComparison) {
    for (index, change) in changes.enumerated() {
      let places = comparison.places(ofChange: index)
      if places.new != nil { new.insert(change.id) }
      if places.old != nil { old.insert(change.id) }
    }
    for key in comparison.arriving { new.insert(key.id) }
    for key in comparison.leaving { old.insert(key.id) }
  }

  func staying(in comparison: WindowComparison) -> Set<ObjectID> {
    var ids: Set<ObjectID> = []
    comparison.shift.keys.keys.forEach(in: comparison.newVisible) { ids.insert($0.id) }
    return ids.subtracting(new)
  }
}

extension Included {
  fileprivate init(
    _ objects: [ExpandedPlace: [UInt8]], _ model: Model, integersAsStrings: Bool
  ) {
    self = [:]
    for (place, json) in objects {
      let id = place.id.shown(integersAsStrings: integersAsStrings)
      self[model.entities[place.entity].name, default: [:]][id] = json
    }
  }
}
