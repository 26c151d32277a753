// Touched objects → those that a live query has to look at: a save of a hundred thousand objects
// beside a window of fifty is to cost what the window does.

import FetchModel

extension LiveQuery {
  /// From how many objects on it is seen whether they show.
  private static let fewestLeftOut = 100

  /// `ids` without those of which nothing differs that decides on what is in the result and in
  /// which order, and that no window reaches: they change nothing for anyone.
  func showing(
    _ ids: Set<ObjectID>, after start: Int64, _ context: CatchUpContext
  ) throws(StoreError) -> Set<ObjectID> {
    guard ids.count >= Self.fewestLeftOut, !ranges.isEmpty, key.only == nil else { return ids }
    let count = ranges.values.reduce(0) { $0 + $1.keys.count }
    guard count < ids.count / 2 else { return ids }
    let changed = try context.changes(after: start, in: model)
    let deciding = ReadSet(of: FetchPlan(definition: key.definition), in: model)
    guard !deciding.isAffectedBehindSteps(by: changed) else { return ids }
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
