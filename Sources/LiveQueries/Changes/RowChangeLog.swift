// The recent row changes of one result. Changes are appended as they happen and read back folded
// into one change per object since a position.

import FetchModel

/// The row changes of one result since a position.
struct RowChangeLog {
  /// The folded changes after `base` up to `position`. A value that changed and changed back does
  /// not appear.
  private struct Entry {
    let base: HistoryPosition
    let position: HistoryPosition
    let changes: [RowChange]
  }

  /// The position from which the log is complete.
  private(set) var start: HistoryPosition
  private var entries: [Entry] = []
  private var count = 0
  /// The memory that the changes need, about.
  private(set) var byteCount = 0

  init(start: HistoryPosition) { self.start = start }

  /// An object's newest known row, and the position of the entry that contains it.
  private struct LatestRow {
    let row: Row?
    let position: HistoryPosition
  }

  private var latest: [ObjectID: LatestRow] = [:]

  /// The newest known row of an object. The inner nil means that it is not in the result, the outer
  /// nil that the log does not contain it.
  func latestRow(of id: ObjectID) -> Row?? { latest[id].map(\.row) }

  /// True if nothing changed after `position`, as far as the log reaches back.
  func isUnchanged(after position: HistoryPosition) -> Bool {
    recent(after: position)?.allSatisfy(\.changes.isEmpty) ?? false
  }

  /// The earliest position with the same result as `position`; `position` itself if the log does
  /// not reach that far back.
  func quietStart(of position: HistoryPosition) -> HistoryPosition {
    guard position.includes(start) else { return position }
    let next = entries.partitionPoint { position.includes($0.position) }
    if next < entries.count, !entries[next].base.includes(position) { return position }
    return next == 0 ? start : entries[next - 1].position
  }

  /// Appends the changes after `base` up to `position`. A gap between positions is recorded also
  /// without changes.
  mutating func append(
    _ changes: [RowChange], from base: HistoryPosition, to position: HistoryPosition
  ) {
    guard !changes.isEmpty || !base.isDirectly(before: position) else { return }
    entries.append(Entry(base: base, position: position, changes: changes))
    count += max(1, changes.count)
    byteCount += changes.reduce(0) { $0 + $1.byteCount }
    for change in changes { latest[change.id] = LatestRow(row: change.new, position: position) }
  }

  /// Drops the oldest entries until at most `limit` changes remain, which need at most `maxBytes`.
  mutating func trim(to limit: Int, bytes maxBytes: Int = .max) {
    guard count > limit || byteCount > maxBytes else { return }
    var dropped = 0
    while count > limit || byteCount > maxBytes, dropped < entries.count {
      let entry = entries[dropped]
      count -= max(1, entry.changes.count)
      byteCount -= entry.changes.reduce(0) { $0 + $1.byteCount }
      start = entry.position
      for change in entry.changes where latest[change.id]?.position == entry.position {
        latest[change.id] = nil
      }
      dropped += 1
    }
    entries.removeFirst(dropped)
  }

  /// True if the log contains the state at `position`.
  func reaches(back position: HistoryPosition) -> Bool { recent(after: position) != nil }

  private func recent(after position: HistoryPosition) -> ArraySlice<Entry>? {
    guard position.includes(start) else { return nil }
    let recent = entries[entries.partitionPoint { position.includes($0.position) }...]
    if let first = recent.first, !first.base.includes(position) { return nil }
    return recent
  }

  /// One change per object after `position`, from its first old row to its last new one; nil if the
  /// log does not reach back that far.
  func changes(after position: HistoryPosition) -> [RowChange]? {
    guard let recent = recent(after: position) else { return nil }
    if recent.count == 1, let only = recent.first { return only.changes }
    var first: [ObjectID: Row?] = [:]
    for change in recent.lazy.flatMap(\.changes) where first[change.id] == nil {
      first.updateValue(change.old, forKey: change.id)
    }
    return first.map { RowChange(id: $0.key, old: $0.value, new: latest[$0.key]?.row) }
  }
}
