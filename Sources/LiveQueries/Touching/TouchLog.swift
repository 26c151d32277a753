// What saves did to one result, as far back as memory is spent on it: changes enter as they
// happen; what became of each object since a position leaves, folded.

import FetchModel

/// The row changes of one result since a position.
struct TouchLog {
  /// What became of each object after `base`, up to `position`. In between it may have been
  /// otherwise, also where nothing is left of it.
  private struct Entry {
    let base: Int64
    let position: Int64
    let changes: [RowChange]
  }

  /// The position after which it tells everything.
  private(set) var start: Int64
  private var entries: [Entry] = []
  private var count = 0

  init(start: Int64) { self.start = start }

  /// What it knows last of an object, and the position of the entry that said so.
  private struct LatestRow {
    let row: Row?
    let position: Int64
  }

  private var latest: [ObjectID: LatestRow] = [:]

  /// The newest row of an object that it tells of: nil inside where it is not in the result, nil
  /// outside where the log knows nothing.
  func latestRow(of id: ObjectID) -> Row?? { latest[id].map(\.row) }

  /// The position up to which the last entry reaches: nothing happened after it.
  var end: Int64 { entries.last?.position ?? start }

  /// The first position that is like `position`: nothing happened after it up to there. The
  /// position itself where the log does not know.
  func quietStart(of position: Int64) -> Int64 {
    guard position >= start else { return position }
    let next = entries.partitionPoint { $0.position <= position }
    if next < entries.count, entries[next].base < position { return position }
    return next == 0 ? start : entries[next - 1].position
  }

  /// Notes what happened after `base`, up to `position`, where anything was touched.
  mutating func append(_ changes: [RowChange], from base: Int64, to position: Int64) {
    guard !changes.isEmpty || position > base + 1 else { return }
    entries.append(Entry(base: base, position: position, changes: changes))
    count += max(1, changes.count)
    for change in changes { latest[change.id] = LatestRow(row: change.new, position: position) }
  }

  /// Forgets the oldest entries until at most `limit` changes are left.
  mutating func trim(to limit: Int) {
    guard count > limit else { return }
    var dropped = 0
    while count > limit, dropped < entries.count {
      let entry = entries[dropped]
      count -= max(1, entry.changes.count)
      start = entry.position
      for change in entry.changes where latest[change.id]?.position == entry.position {
        latest[change.id] = nil
      }
      dropped += 1
    }
    entries.removeFirst(dropped)
  }

  /// Whether it knows how things stood at `position`.
  func reaches(back position: Int64) -> Bool { recent(after: position) != nil }

  private func recent(after position: Int64) -> ArraySlice<Entry>? {
    guard position >= start else { return nil }
    let recent = entries[entries.partitionPoint { $0.position <= position }...]
    if let first = recent.first, first.base < position { return nil }
    return recent
  }

  /// What became of each object after `position`, first old row to last new one; nil if the log
  /// does not know how things stood at `position`.
  func changes(after position: Int64) -> [RowChange]? {
    guard let recent = recent(after: position) else { return nil }
    if recent.count == 1, let only = recent.first { return only.changes }
    var first: [ObjectID: Row?] = [:]
    for change in recent.lazy.flatMap(\.changes) where first[change.id] == nil {
      first.updateValue(change.old, forKey: change.id)
    }
    return first.map { RowChange(id: $0.key, old: $0.value, new: latest[$0.key]?.row) }
  }
}
