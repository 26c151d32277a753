// Tickets by deadline, earliest first. Answered tickets are returned as well; the caller ignores
// those that it no longer knows.

/// A binary heap of tickets.
struct DeadlineHeap {
  private struct Entry {
    let deadline: ContinuousClock.Instant
    let ticket: UInt64
  }

  private var entries: [Entry] = []

  var count: Int { entries.count }

  /// The earliest deadline.
  var next: ContinuousClock.Instant? { entries.first?.deadline }

  mutating func insert(_ ticket: UInt64, at deadline: ContinuousClock.Instant) {
    entries.append(Entry(deadline: deadline, ticket: ticket))
    var child = entries.count - 1
    while child > 0, entries[child].deadline < entries[(child - 1) / 2].deadline {
      entries.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// Removes and returns every ticket due at `now`.
  mutating func removeDue(_ now: ContinuousClock.Instant) -> [UInt64] {
    var due: [UInt64] = []
    while let first = entries.first, first.deadline <= now {
      due.append(first.ticket)
      removeFirst()
    }
    return due
  }

  /// Removes the tickets for which `isWaiting` is false. O(n).
  mutating func sweep(_ isWaiting: (UInt64) -> Bool) {
    let kept = entries.filter { isWaiting($0.ticket) }
    entries = []
    for entry in kept { insert(entry.ticket, at: entry.deadline) }
  }

  private mutating func removeFirst() {
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    var parent = 0
    while true {
      var earliest = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < entries.count && entries[child].deadline < entries[earliest].deadline {
        earliest = child
      }
      if earliest == parent { return }
      entries.swapAt(parent, earliest)
      parent = earliest
    }
  }
}
