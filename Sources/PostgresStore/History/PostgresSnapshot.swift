// The value of pg_current_snapshot() → a position in the history, in the order of inclusion.
//
// A snapshot is the set of the transactions whose changes it shows: those with ids below `end`,
// except the ones in progress. Snapshots that one primary issues are totally ordered by inclusion:
// transactions finish one after the other.

/// A state of a PostgreSQL database.
struct PostgresSnapshot: Hashable, Sendable {
  /// The first transaction id that the snapshot does not show, and none after it. The transaction
  /// before it is shown, so that equal sets have equal values.
  let end: UInt64
  /// The transactions below `end` that the snapshot does not show, ascending.
  let inProgress: [UInt64]

  /// The maximum number of transactions in progress. The text of a snapshot is part of URLs.
  static let maxInProgress = 1_000

  /// - Parameter inProgress: ascending, without duplicates, each below `end`.
  init(end: UInt64, inProgress: [UInt64]) {
    var (end, inProgress) = (end, inProgress)
    while let last = inProgress.last, last + 1 == end {
      inProgress.removeLast()
      end -= 1
    }
    self.end = end
    self.inProgress = inProgress
  }

  /// A snapshot that shows every transaction but one.
  static func before(_ transaction: UInt64) -> PostgresSnapshot {
    PostgresSnapshot(end: UInt64(Int64.max), inProgress: [transaction])
  }

  /// True if the snapshot shows the changes of the transaction. O(log n).
  func contains(_ transaction: UInt64) -> Bool {
    guard transaction < end else { return false }
    var range = inProgress.startIndex..<inProgress.endIndex
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      if inProgress[middle] == transaction { return false }
      range =
        inProgress[middle] < transaction
        ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return true
  }

  /// True if `other` shows everything that this snapshot shows. O(n).
  func isSubset(of other: PostgresSnapshot) -> Bool {
    guard end <= other.end else { return false }
    var iterator = inProgress.makeIterator()
    var next = iterator.next()
    for transaction in other.inProgress where transaction < end {
      while let candidate = next, candidate < transaction { next = iterator.next() }
      guard next == transaction else { return false }
    }
    return true
  }
}

extension PostgresSnapshot: Comparable {
  /// The order of inclusion for snapshots of one primary. Other snapshots may be unordered by
  /// inclusion; they have an arbitrary order here.
  static func < (left: PostgresSnapshot, right: PostgresSnapshot) -> Bool {
    if left.end != right.end { return left.end < right.end }
    if left.inProgress.count != right.inProgress.count {
      return left.inProgress.count > right.inProgress.count
    }
    return left.inProgress.lexicographicallyPrecedes(right.inProgress)
  }
}

// MARK: - PostgreSQL's text

extension PostgresSnapshot {
  /// Parses `xmin:xmax:xid,xid,…`; nil if it is not well-formed or too long.
  init?(postgresText text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, let start = UInt64(parts[0]), let end = UInt64(parts[1]),
      start > 0, start <= end
    else { return nil }
    var inProgress: [UInt64] = []
    for part in parts[2].split(separator: ",", omittingEmptySubsequences: true) {
      guard let transaction = UInt64(part), transaction < end, transaction >= start,
        transaction > inProgress.last ?? 0, inProgress.count < Self.maxInProgress
      else { return nil }
      inProgress.append(transaction)
    }
    self.init(end: end, inProgress: inProgress)
  }

  /// The text of a `pg_snapshot`.
  var postgresText: String {
    let list = inProgress.map { String($0) }.joined(separator: ",")
    return "\(inProgress.first ?? end):\(end):\(list)"
  }
}
