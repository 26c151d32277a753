// Saves that wait → groups, in an order that is fair between callers.
//
// A group is many saves that are brief each, or one batch. Both kinds take turns, so that neither
// batches hold up the others for longer than one of them takes, nor the others the batches.

import FetchModel
import Threads

/// The saves that wait for the writer's thread. Guarded by its owner.
struct WriterQueue {
  /// Where a save stands among those that wait.
  struct Turn: Sendable {
    var key = QueueKey()
    var isBatch = false
    /// How many changes it makes.
    var size = 1

    init() {}

    init(_ request: SaveRequest) {
      key = QueueKey(caller: request.caller.name, connection: request.caller.connection)
      isBatch = request.isBatch
      size = request.changes.count
    }
  }

  /// The most changes of one group: what comes meanwhile waits for them.
  private static let groupSize = 1_000

  private var brief: FairQueue<Writer.Job>
  private var batches: FairQueue<Writer.Job>
  private var isBatchNext = false

  /// - Parameter capacity: how many saves of each kind may wait.
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

  /// The saves that are made next, together; none where none wait.
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

  /// Takes out the saves that have waited for too long at `now`, on the monotonic clock in
  /// nanoseconds.
  ///
  /// - Parameter limit: nanoseconds that a batch may take, its wait among them. Other saves may
  ///   wait for half as long again: the batch that runs may take all of that.
  mutating func removeExpired(at now: UInt64, limit: UInt64) -> [Writer.Job] {
    let longer = limit.addingReportingOverflow(limit / 2)
    let briefLimit = longer.overflow ? .max : longer.partialValue
    return brief.removeFirst { now &- $0.arrival > briefLimit }
      + batches.removeFirst { now &- $0.arrival > limit }
  }

  mutating func removeAll() -> [Writer.Job] { brief.removeAll() + batches.removeAll() }
}
