// Waiting saves → groups, in an order that is fair between callers.
//
// A group is either many brief saves or one batch. The two kinds alternate: a brief save waits for
// at most one batch, and a batch for at most one group of brief saves.

import FetchModel
import LiveFetchThreads

/// The saves that wait for the writer's thread. Protected by its owner's lock.
struct WriterQueue {
  /// The caller and size of a save, which determine its place in the queue.
  struct Turn: Sendable {
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
  private static let groupSize = 1_000

  private var brief: FairQueue<Writer.Job>
  private var batches: FairQueue<Writer.Job>
  private var isBatchNext = false

  /// - Parameter capacity: the most waiting saves of each kind.
  init(capacity: Int) {
    brief = FairQueue(capacity: capacity)
    batches = FairQueue(capacity: capacity)
  }

  var isEmpty: Bool { brief.isEmpty && batches.isEmpty }
  var count: Int { brief.count + batches.count }

  mutating func append(_ job: Writer.Job) -> FairQueue<Writer.Job>.Admission {
    job.turn.isBatch
      ? batches.append(job, for: job.turn.key) : brief.append(job, for: job.turn.key)
  }

  /// Removes and returns the saves of the next group; empty if none wait.
  mutating func takeGroup() -> [Writer.Job] {
    if isBatchNext || brief.isEmpty, let batch = batches.popFirst() {
      isBatchNext = false
      return [batch]
    }
    isBatchNext = true
    var group: [Writer.Job] = []
    var size = 0
    while size < Self.groupSize, let job = brief.popFirst() {
      group.append(job)
      size += max(1, job.turn.size)
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
    return brief.removeFirst { now &- $0.arrival > briefLimit }
      + batches.removeFirst { now &- $0.arrival > limit }
  }

  mutating func removeAll() -> [Writer.Job] { brief.removeAll() + batches.removeAll() }
}
