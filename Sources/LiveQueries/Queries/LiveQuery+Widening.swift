// Objects got values that they did not have at the moment that a client has → row changes that tell
// it these values of everything that it sees.

import FetchModel

extension LiveQuery {
  /// `changes`, and where `standing` says that values came, these of each object that `view` shows.
  func widened(
    _ changes: [RowChange], _ standing: TokenStanding, _ view: LiveView, _ context: MomentContext
  ) throws(StoreError) -> [RowChange] {
    guard case .widened(let indexes) = standing else { return changes }
    let others = shownIDs(of: view).subtracting(changes.map(\.id))
    let rows = try context.moment.rows(of: plan, ids: others, at: .now)
    let same = rows.map { RowChange(id: $0.key, old: $0.value, new: $0.value) }
    return (changes + same).map { $0.withoutOldValues(indexes) }
  }

  private func shownIDs(of view: LiveView) -> Set<ObjectID> {
    if let only = key.only { return [only] }
    guard let keys = ranges[view.key.after]?.keys else { return [] }
    var ids: Set<ObjectID> = []
    keys.keys.forEach(in: view.key.window.clamped(to: 0..<keys.count)) { ids.insert($0.id) }
    return ids
  }
}

extension RowChange {
  /// The same, as if the old row had not had the values with these indexes.
  fileprivate func withoutOldValues(_ indexes: [Int]) -> RowChange {
    guard let old else { return self }
    var values = old.values
    for index in indexes where values.indices.contains(index) { values[index] = 0..<0 }
    return RowChange(id: id, old: Row(key: old.key, json: old.json, values: values), new: new)
  }
}
