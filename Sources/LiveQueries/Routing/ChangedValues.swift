// Reads the values of changed objects, before and after a change, at the ends of key paths.

import FetchModel

/// The values of objects before a change and now. A value's index is its path's number in a
/// ``PathTable``.
struct ChangedValues {
  /// The values of one object; nil while it did not exist. An element is nil if its path is not in
  /// use or leads to no value.
  struct Pair {
    let old: [StoredValue?]?
    let new: [StoredValue?]?
  }

  private let old: [ObjectID: [StoredValue?]]
  private let new: [ObjectID: [StoredValue?]]
  /// The paths' numbers, in the order in which the values were read.
  private let numbers: [Int]
  /// The number of paths of the table.
  private let pathCount: Int

  /// Reads the values of `ids` at position `base` and now. Returns nil if the store cannot provide
  /// values.
  init?(
    of table: PathTable, _ ids: Set<ObjectID>, after base: HistoryPosition,
    _ transaction: any ReadTransaction
  ) throws(StoreError) {
    let used = table.used
    let paths = used.map(\.path)
    guard let old = try transaction.values(of: paths, ids: ids, at: .past(base)),
      let new = try transaction.values(of: paths, ids: ids, at: .now)
    else { return nil }
    self.old = old
    self.new = new
    numbers = used.map(\.number)
    pathCount = table.paths.count
  }

  /// The values of an object before the change and now.
  subscript(id: ObjectID) -> Pair { Pair(old: byPathNumber(old[id]), new: byPathNumber(new[id])) }

  /// Returns the values with each at the index of its path.
  private func byPathNumber(_ values: [StoredValue?]?) -> [StoredValue?]? {
    guard let values else { return nil }
    var row = [StoredValue?](repeating: nil, count: pathCount)
    for (number, value) in zip(numbers, values) { row[number] = value }
    return row
  }
}
