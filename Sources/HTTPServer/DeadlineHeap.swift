// A binary heap of deadlines by moment, then by the order of their coming.
//
// Cancelled ones stay until they come to the top, or until the heap has doubled since they were
// last swept out: so cancelling needs no search, and the heap holds at most about twice what
// still waits, but for its smallest sizes.

/// The deadlines that have not come.
struct DeadlineHeap {
  private struct Entry {
    let moment: UInt64
    let order: UInt64
    let deadline: Deadline

    func comesBefore(_ other: Entry) -> Bool {
      (moment, order) < (other.moment, other.order)
    }
  }

  private var entries: [Entry] = []
  private var nextOrder: UInt64 = 0
  private var sweepAt = 1024

  var count: Int { entries.count }

  /// The earliest moment.
  var first: UInt64? { entries.first?.moment }

  /// Whether it is now the first.
  mutating func insert(_ deadline: Deadline, at moment: UInt64) -> Bool {
    if entries.count >= sweepAt { sweep() }
    entries.append(Entry(moment: moment, order: nextOrder, deadline: deadline))
    nextOrder &+= 1
    rise(entries.count - 1)
    return entries[0].deadline === deadline
  }

  /// Takes out all that are due, in order.
  mutating func removeDue(_ now: UInt64) -> [Deadline] {
    var due: [Deadline] = []
    while let first = entries.first, first.moment <= now {
      due.append(first.deadline)
      removeFirst()
    }
    return due
  }

  private mutating func sweep() {
    entries.removeAll { $0.deadline.isSpent }
    sweepAt = max(1024, entries.count * 2)
    // A sorted array is a heap.
    entries.sort { $0.comesBefore($1) }
  }

  private mutating func removeFirst() {
    let last = entries.removeLast()
    guard !entries.isEmpty else { return }
    entries[0] = last
    sink(0)
  }

  private mutating func rise(_ start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].comesBefore(entries[parent]) else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  private mutating func sink(_ start: Int) {
    var parent = start
    while true {
      var least = parent
      for child in [parent * 2 + 1, parent * 2 + 2] where child < entries.count {
        if entries[child].comesBefore(entries[least]) { least = child }
      }
      guard least != parent else { return }
      entries.swapAt(parent, least)
      parent = least
    }
  }
}
