// Waiting saves → groups, in an order that is fair between callers.
//
// A group is either many brief saves or one batch. The two kinds alternate: a brief save waits for
// at most one batch, and a batch for at most one group of brief saves.

import FetchModel
import LiveFetchThreads

/// The saves that wait for the writer's thread. Protected by its owner's lock.
struct WriterQueue {
  /// The caller and size of a save, which determine its place in the queue.
  struct SaveCost: Sendable {
    var key = QueueKey()
    var isBatch = false
    /// The number of changes that it makes.
    var size = 1

    init() {}

    init(_ request: SaveRequest) {
      key = QueueKey(caller: request.caller.name, connection: request.caller.connection)
      isBatch = request.isBatch
      size = request.changes.count
    }
  }

  /// A group takes no further save once it has this many changes. Saves that arrive meanwhile wait for
  /// the whole group.
  private static let groupSize = SaveRequest.maxSharedChanges

  private var singleSaves: FairQueue<Writer.Job>
  private var batches: FairQueue<Writer.Job>
  private var isBatchNext = false

  /// - Parameter capacity: the most waiting saves of each kind.
  init(capacity: Int) {
    singleSaves = FairQueue(capacity: capacity)
    batches = FairQueue(capacity: capacity)
  }

  var isEmpty: Bool { singleSaves.isEmpty && batches.isEmpty }
  var count: Int { singleSaves.count + batches.count }

  mutating func append(_ job: Writer.Job) -> FairQueue<Writer.Job>.Admission {
    job.cost.isBatch
      ? batches.append(job, for: job.cost.key) : singleSaves.append(job, for: job.cost.key)
  }

  /// Removes and returns the saves of the next group; empty if none wait.
  mutating func popGroup() -> [Writer.Job] {
    if isBatchNext || singleSaves.isEmpty, let batch = batches.popFirst() {
      isBatchNext = false
      return [batch]
    }
    isBatchNext = true
    var group: [Writer.Job] = []
    var size = 0
    while size < Self.groupSize, let job = singleSaves.popFirst() {
      group.append(job)
      size += max(1, job.cost.size)
    }
    return group
  }

  /// Removes and returns the saves that have waited for too long at `now`, a time of the monotonic
  /// clock in nanoseconds.
  ///
  /// - Parameter limit: the nanoseconds that a batch may take, including its wait. Brief saves may
  ///   wait for one and a half times as long, because a running batch may take all of `limit`.
  mutating func removeExpired(at now: UInt64, limit: UInt64) -> [Writer.Job] {
    let longer = limit.addingReportingOverflow(limit / 2)
    let briefLimit = longer.overflow ? .max : longer.partialValue
    return singleSaves.removeFirst { now &- $0.arrival > briefLimit }
      + batches.removeFirst { now &- $0.arrival > limit }
  }

  mutating func removeAll() -> [Writer.Job] { singleSaves.removeAll() + batches.removeAll() }
}
