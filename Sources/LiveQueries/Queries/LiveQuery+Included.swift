// The related objects that a diff contains: those that are new to the snapshot's `included`, or
// that changed.
//
// Only objects that were changed, or that entered the window, can reach something new. The diff
// contains what they reach now, without what the window reached before and is unchanged.

import FetchModel

extension LiveQuery {
  /// In a window of more items, related objects that the client may already have are sent again.
  private static let maxRootsAsked = 1_000

  /// Returns the related objects to send; nil if the view has none.
  func included(
    for view: LiveView, _ changes: [RowChange], _ comparison: WindowComparison,
    from base: HistoryPosition,
    _ context: CatchUpContext
  ) throws(StoreError) -> Included? {
    guard view.key.shape == .objects, !key.expansion.isEmpty else { return nil }
    let roots = ExpansionRoots(changes, comparison)
    var objects = try self.objects(reachedFrom: roots.new, .now, context)
    if objects.isEmpty { return [:] }
    let before = try self.objects(reachedFrom: roots.old, .past(base), context)
    objects = objects.filter { before[$0.key] != $0.value }
    // An unchanged object reaches what it reached before, and that was sent with it.
    let others = roots.staying(in: comparison)
    if !objects.isEmpty, others.count <= Self.maxRootsAsked {
      for object in try self.objects(reachedFrom: others, .now, context).keys {
        objects[object] = nil
      }
    }
    return Included(objects, model, integersAsStrings: key.integersAsStrings)
  }

  private func objects(
    reachedFrom roots: Set<ObjectID>, _ position: ReadPosition, _ context: CatchUpContext
  ) throws(StoreError) -> [IncludedObject: [UInt8]] {
    guard !roots.isEmpty else { return [:] }
    let objects = try context.transaction.expandedObjects(of: plan, roots: roots, at: position)
    return Dictionary(
      objects.map { (IncludedObject(entity: $0.entity, id: $0.id), $0.json) }
    ) { $1 }
  }
}

struct IncludedObject: Hashable {
  let entity: Int
  let id: ObjectID
}

/// The window's objects that may reach something new, and those that may have reached what is no
/// longer reached.
private struct ExpansionRoots {
  var new: Set<ObjectID> = []
  var old: Set<ObjectID> = []

  init(_ changes: [RowChange], _ comparison: WindowComparison) {
    for (index, change) in changes.enumerated() {
      let keys = comparison.keys(ofChange: index)
      if keys.new != nil { new.insert(change.id) }
      if keys.old != nil { old.insert(change.id) }
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
    _ objects: [IncludedObject: [UInt8]], _ model: Model, integersAsStrings: Bool
  ) {
    self = [:]
    for (object, json) in objects {
      let id = object.id.shown(integersAsStrings: integersAsStrings)
      self[model.entities[object.entity].name, default: [:]][id] = json
    }
  }
}
