// A position in a store's history, and its text within a token.

/// A position in a store's history. A state at this position contains every change up to it.
///
/// The positions of reads are totally ordered. In PostgreSQL those of idempotent saves and of `/v1/changes`
/// may contain a transaction that an otherwise later one lacks; see ``includes(_:)``.
/// - SQLite commits in order, so a position is a number.
/// - In PostgreSQL a position is a snapshot: the transactions below `number` except those that were in
///   progress.
public struct HistoryPosition: Sendable, Hashable, Comparable {
  /// SQLite: the number of the last change. PostgreSQL: the snapshot's `xmax`.
  public let number: Int64
  /// PostgreSQL: the snapshot's `xip_list`, the transactions below ``number`` that were in progress,
  /// ascending. SQLite: none.
  public let inProgress: [Int64]

  /// Creates a position of SQLite, or of PostgreSQL without transactions in progress.
  public init(_ number: Int64) { self.init(number, inProgress: []) }

  /// - Parameter inProgress: ascending, each below `number`.
  public init(_ number: Int64, inProgress: [Int64]) {
    self.number = number
    self.inProgress = inProgress
  }

  /// Of two snapshots with the same next transaction, the later has fewer transactions in progress.
  public static func < (left: Self, right: Self) -> Bool {
    left.number == right.number
      ? left.inProgress.count > right.inProgress.count : left.number < right.number
  }

  /// True if the state at this position contains every change that the state at `other` contains. For
  /// positions of SQLite the same as `>=`. O(transactions in progress).
  package func includes(_ other: Self) -> Bool {
    let isMissing = { (transaction: Int64) in
      transaction < other.number && !other.inProgress.contains(transaction)
    }
    guard !inProgress.contains(where: isMissing) else { return false }
    guard other.number > number else { return true }
    // Every transaction from here on has to be in progress at `other`.
    return Int64(other.inProgress.count { $0 >= number }) == other.number - number
  }

  /// True if no position of another read is between this one and `next`.
  package func isDirectly(before next: Self) -> Bool {
    inProgress.isEmpty && next.inProgress.isEmpty && number &+ 1 == next.number
  }
}

extension HistoryPosition: CustomStringConvertible {
  /// The number, then how far below it each transaction in progress is: `1042` or `1042.7.3`.
  public var description: String {
    inProgress.reduce(into: String(number)) { $0 += ".\(number - $1)" }
  }

  /// Parses ``description``; nil if it is not well-formed.
  init?(_ text: Substring) {
    var parts = text.split(separator: ".", omittingEmptySubsequences: false).makeIterator()
    guard let number = parts.next().flatMap(Self.number) else { return nil }
    var inProgress: [Int64] = []
    while let part = parts.next() {
      guard let distance = Self.number(part), distance > 0, distance <= number,
        number - distance > inProgress.last ?? -1
      else { return nil }
      inProgress.append(number - distance)
    }
    self.init(number, inProgress: inProgress)
  }

  private static func number(_ digits: Substring) -> Int64? {
    digits.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } ? Int64(digits) : nil
  }
}
