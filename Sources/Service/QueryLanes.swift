// Queries that take longer than a worker's thread may wait → threads of their own, in turns that
// are fair between callers and between their connections.
//
// A query is tried for a short time first, and for a longer one after that, on threads of their own
// each: so one that takes some milliseconds does not wait for those that take seconds. The time
// that a query waits for its turn counts towards its time limit.

import FetchModel
import HTTPServer
import Threads

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The threads of queries that may take long.
final class QueryLanes: Sendable {
  /// Why a query is not run.
  enum Refusal: Sendable {
    case overloaded(Problem)
    case closed
  }

  /// Threads for one attempt at each query.
  private struct Stage: Sendable {
    let lane: ThreadPool
    /// How much processor time the attempt has; nil for as much as it takes.
    let limit: Duration?
  }

  /// In the order in which a query goes through them.
  private let stages: [Stage]
  /// Where many fetches are read for one answer, or the history of saves.
  private let gathering = ThreadPool(name: "livefetch-many", threads: 2, queue: 1_024)
  private let timeLimit: Duration
  private let deadlines: Deadlines

  init(_ configuration: ServiceConfiguration, _ deadlines: Deadlines) {
    let queue = configuration.slowQueryQueue
    stages = [
      Stage(
        lane: ThreadPool(name: "livefetch-50ms", threads: 2, queue: queue), limit: .milliseconds(50)
      ),
      Stage(
        lane: ThreadPool(name: "livefetch-500ms", threads: 2, queue: queue),
        limit: .milliseconds(500)),
      Stage(
        lane: ThreadPool(name: "livefetch-slow", threads: configuration.slowQueries, queue: queue),
        limit: nil),
    ]
    timeLimit = .seconds(configuration.queryTimeout)
    self.deadlines = deadlines
  }

  /// How many queries wait for a thread.
  var waiting: Int { lanes.reduce(0) { $0 + $1.waiting } }

  /// How many run.
  var running: Int { lanes.reduce(0) { $0 + $1.running } }

  private var lanes: [ThreadPool] { stages.map(\.lane) + [gathering] }

  /// Runs a query: for a short time at first, and as long as it needs more, again with more.
  ///
  /// - Parameters:
  ///   - refused: called instead, or after the first attempt, where there is no time for the query;
  ///     perhaps on this thread.
  ///   - attempt: true once it has answered; false where it needs more time.
  func run(
    for caller: CallerID, refused: @escaping @Sendable (Refusal) -> Void,
    _ attempt: @escaping @Sendable (QueryTurn) -> Bool
  ) {
    let query = Query(caller: caller, end: .now + timeLimit, refused: refused, attempt: attempt)
    run(query, in: stages[...], waited: .zero)
  }

  private struct Query: Sendable {
    let caller: CallerID
    let end: ContinuousClock.Instant
    let refused: @Sendable (Refusal) -> Void
    let attempt: @Sendable (QueryTurn) -> Bool
  }

  /// - Parameter waited: how long the query has waited for its earlier turns.
  private func run(_ query: Query, in stages: ArraySlice<Stage>, waited: Duration) {
    guard let stage = stages.first else { return }
    let arrival = ContinuousClock.now
    enter(stage.lane, query.caller, until: query.end, query.refused) { [self] in
      let waited = waited + (ContinuousClock.now - arrival)
      let turn = QueryTurn(
        deadline: query.end, limit: stage.limit, isLate: waited > timeLimit / 2)
      if !query.attempt(turn) { run(query, in: stages.dropFirst(), waited: waited) }
    }
  }

  /// Runs what reads for as long as it takes.
  ///
  /// - Parameter refused: called instead where it does not get its turn in time.
  func gather(
    for caller: CallerID, refused: @escaping @Sendable (Refusal) -> Void,
    _ work: @escaping @Sendable () -> Void
  ) {
    enter(gathering, caller, until: .now + timeLimit, refused, work)
  }

  /// Refuses what waits and whatever comes; what runs is finished.
  func close() {
    for lane in lanes { lane.close(refusesWaiting: true) }
  }

  private func enter(
    _ lane: ThreadPool, _ caller: CallerID, until end: ContinuousClock.Instant,
    _ refused: @escaping @Sendable (Refusal) -> Void, _ work: @escaping @Sendable () -> Void
  ) {
    let key = QueueKey(caller: caller.name, connection: caller.connection)
    lane.run(for: key, until: end, refused: { refused(Refusal($0)) }, work)
    guard lane.waiting > 0 else { return }
    let seconds = ContinuousClock.now.duration(to: end) / .seconds(1)
    deadlines.schedule(after: seconds) { [weak lane] in lane?.refuseExpired() }
  }
}

extension QueryLanes.Refusal {
  fileprivate init(_ refusal: ThreadPool.Refusal) {
    switch refusal {
    case .full: self = .overloaded(.overloaded("Too many slow queries wait already; try again."))
    case .expired: self = .overloaded(Problem(StoreError.overloaded))
    case .closed: self = .closed
    }
  }
}

/// One attempt at a query.
struct QueryTurn: Sendable {
  /// When the query's time is over.
  let deadline: ContinuousClock.Instant
  /// How much processor time the attempt has before the next one; nil for the last attempt.
  let limit: Duration?
  /// Whether the query waited for more than half of its time.
  let isLate: Bool

  /// Asks the store within the attempt's time.
  ///
  /// - Throws: ``StoreError/tooSlow`` where the query needs a further attempt.
  func read<Answer>(
    _ store: any Store, unless isOver: @escaping @Sendable () -> Bool,
    _ ask: () throws(StoreError) -> Answer
  ) throws(StoreError) -> Answer {
    // Not the time on a clock: a busy machine would have brief queries tried again and again.
    let end = limit.map { Self.processorTime + UInt64($0 / .nanoseconds(1)) }
    let hasToEnd = { @Sendable in isOver() || end.map { Self.processorTime > $0 } ?? false }
    do throws(StoreError) {
      return try store.unless(hasToEnd, until: deadline, ask)
    } catch {
      guard error == .queryTimeout, !isOver() else { throw error }
      if limit != nil, ContinuousClock.now < deadline { throw .tooSlow }
      throw isLate ? .overloaded : .queryTimeout
    }
  }

  /// Nanoseconds that this thread has run.
  private static var processorTime: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

extension Call {
  /// Identifies the caller in fair queues.
  var callerID: CallerID {
    CallerID(
      name: caller?.credential ?? request.remoteAddress, connection: request.connectionNumber)
  }
}
