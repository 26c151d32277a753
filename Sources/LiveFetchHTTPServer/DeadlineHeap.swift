// Deadlines, ordered by time and then by insertion.
//
// A cancelled deadline stays until it reaches the top or until the heap has doubled since the last
// sweep. So cancelling needs no search, and the heap holds at most about twice as many deadlines as
// are pending, except at its smallest sizes.

import HeapModule

/// The deadlines that have not passed. Insertion and removal are O(log n).
struct DeadlineHeap {
  private struct Entry: Comparable {
    /// Nanoseconds of the monotonic clock.
    let time: UInt64
    let order: UInt64
    let deadline: Deadline

    static func < (entry: Entry, other: Entry) -> Bool {
      (entry.time, entry.order) < (other.time, other.order)
    }

    static func == (entry: Entry, other: Entry) -> Bool { entry.order == other.order }
  }

  private var entries: Heap<Entry> = []
  private var nextOrder: UInt64 = 0
  private var sweepAt = 1024

  var count: Int { entries.count }

  /// The earliest time.
  var first: UInt64? { entries.min?.time }

  /// Inserts a deadline; true if it is now the first.
  mutating func insert(_ deadline: Deadline, at time: UInt64) -> Bool {
    if entries.count >= sweepAt { sweep() }
    entries.insert(Entry(time: time, order: nextOrder, deadline: deadline))
    nextOrder &+= 1
    return entries.min?.deadline === deadline
  }

  /// Removes and returns all that are due, in order.
  mutating func removeDue(_ now: UInt64) -> [Deadline] {
    var due: [Deadline] = []
    while let first = entries.min, first.time <= now {
      entries.removeMin()
      due.append(first.deadline)
    }
    return due
  }

  private mutating func sweep() {
    entries = Heap(entries.unordered.filter { !$0.deadline.isSpent })
    sweepAt = max(1024, entries.count * 2)
  }
}
