// Drops changed objects that no view shows. The cost of a save of a hundred thousand objects then
// depends on the windows' sizes.

import FetchModel

extension LiveQuery {
  /// With fewer changed objects, all of them are read.
  private static let minimumFiltered = 100

  /// Returns `ids` without objects that no window contains and whose changed properties affect
  /// neither membership nor order. These change no view.
  func withoutInvisible(
    _ ids: Set<ObjectID>, after start: HistoryPosition, _ context: CatchUpContext
  ) throws(StoreError) -> Set<ObjectID> {
    guard ids.count >= Self.minimumFiltered, !ranges.isEmpty, key.only == nil else { return ids }
    let count = ranges.values.reduce(0) { $0 + $1.keys.count }
    guard count < ids.count / 2 else { return ids }
    let changed = try context.changes(after: start, in: model)
    let deciding = ReadSet(of: FetchPlan(definition: key.definition), in: model)
    guard !deciding.isAffectedAfterSteps(by: changed) else { return ids }
    let (kept, mask) = (keptIDs, deciding.mask(at: []))
    let masks = changed.entities[key.definition.entity]?.masks ?? [:]
    return ids.filter { kept.contains($0) || !(masks[$0] ?? []).isDisjoint(with: mask) }
  }

  private var keptIDs: Set<ObjectID> {
    var ids: Set<ObjectID> = []
    for range in ranges.values {
      range.keys.keys.forEach(in: 0..<range.keys.count) { ids.insert($0.id) }
    }
    return ids
  }
}
