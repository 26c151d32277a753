// Reads the values of changed objects, before and after a change, at the ends of key paths.

import FetchModel

/// Old and new values of objects. A value's index is its path's number in a ``PathTable``.
struct Images {
  struct Image {
    let old: [StoredValue?]?
    let new: [StoredValue?]?
  }

  private let old: [ObjectID: [StoredValue?]]
  private let new: [ObjectID: [StoredValue?]]
  /// The paths' numbers, in the order in which the values were read.
  private let numbers: [Int]
  private let width: Int

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
    width = table.paths.count
  }

  subscript(id: ObjectID) -> Image { Image(old: spread(old[id]), new: spread(new[id])) }

  private func spread(_ values: [StoredValue?]?) -> [StoredValue?]? {
    guard let values else { return nil }
    var row = [StoredValue?](repeating: nil, count: width)
    for (number, value) in zip(numbers, values) { row[number] = value }
    return row
  }
}
