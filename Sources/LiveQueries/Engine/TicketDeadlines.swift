// Tickets by deadline, earliest first. Answered tickets are returned as well; the caller ignores
// those that it no longer knows.

import HeapModule

/// The deadlines of the tickets that wait. Inserting and removing one is O(log n).
struct TicketDeadlines {
  private struct Entry: Comparable {
    let deadline: ContinuousClock.Instant
    let ticket: UInt64

    static func < (entry: Entry, other: Entry) -> Bool { entry.deadline < other.deadline }
  }

  private var entries: Heap<Entry> = []

  var count: Int { entries.count }

  /// The earliest deadline.
  var next: ContinuousClock.Instant? { entries.min?.deadline }

  mutating func insert(_ ticket: UInt64, at deadline: ContinuousClock.Instant) {
    entries.insert(Entry(deadline: deadline, ticket: ticket))
  }

  /// Removes and returns every ticket due at `now`.
  mutating func removeDue(_ now: ContinuousClock.Instant) -> [UInt64] {
    var due: [UInt64] = []
    while let first = entries.min, first.deadline <= now {
      entries.removeMin()
      due.append(first.ticket)
    }
    return due
  }

  /// Removes the tickets for which `isWaiting` is false. O(n).
  mutating func sweep(_ isWaiting: (UInt64) -> Bool) {
    entries = Heap(entries.unordered.filter { isWaiting($0.ticket) })
  }
}
