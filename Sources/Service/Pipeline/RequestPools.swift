// The thread pools of a service. This is the only place that decides which thread runs a stage:
//
//     authenticate … cached response   the HTTP worker
//     parse, plan                      the worker; `parsing` for bodies over 16 KiB, and for callers
//                                      whose requests take long
//     query                            the worker for a few milliseconds, unless the caller's requests
//                                      take long; then the pools of `attempts`, each with more time
//                                      than the one before; the first one is another one, in the
//                                      background, for some time after a query of more than 50 ms
//     query of many fetches, history   `longReads`
//     respond                          the query's thread; after a save: the writer's thread where
//                                      no other save is in flight, otherwise `saveResponses`
//     diffs                            the engine's thread; to more than 16 clients: `deliveries`
//
// `parsing`, the attempts and the long reads are queues that are fair between callers, and between the
// connections of one caller. Where work has no limit but that of the request, one caller leaves a
// thread to others. The time that a query waits counts towards its time limit.

import FetchModel
import LiveFetchHTTPServer
import LiveFetchThreads

/// The threads that run what takes too long for an HTTP worker.
final class RequestPools: Sendable {
  /// Why a query is not run.
  enum Refusal: Sendable {
    case overloaded(Problem)
    case closed
  }

  /// One attempt at each query.
  private struct Attempt: Sendable {
    let pool: ThreadPool
    /// See ``QueryAttempt/limit``.
    let limit: Duration?
  }

  /// The longest body in bytes that is parsed on an HTTP worker.
  private static let maxBytesOnWorker = 16 << 10
  /// How many connections are left to later attempts, long reads and the engine.
  private static let laterThreads = 6
  /// The maximum number of clients that receive a diff on the engine's thread.
  private static let maxClientsOnEngine = 16

  let slowCallers = SlowCallers()
  private let parsing = ThreadPool(
    name: "livefetch-parse", threads: 3, leftToOthers: 1, queue: 1_024, isInBackground: true)
  /// In the order in which a query goes through them.
  private let attempts: [Attempt]
  /// The first attempt at queries of callers whose last queries needed more attempts; nil where a database
  /// server runs the queries, which then need few processors here.
  private let attemptOfSlowCallers: Attempt?
  /// The callers for which it is used.
  private let callersOfLongQueries = SlowCallers()
  private let longReads = ThreadPool(
    name: "livefetch-many", threads: 3, leftToOthers: 1, queue: 1_024, isInBackground: true)
  private let saveResponses = ThreadPool(threads: 2, queue: .max)
  private let deliveries = ThreadPool(threads: 1, queue: .max)
  /// Observers of the history look at it here, one after the other.
  let history = ThreadPool(threads: 1, queue: .max)
  /// Reads the store's API keys.
  let credentials = ThreadPool(name: "livefetch-keys", threads: 1, queue: 1)
  let timeLimit: Duration
  private let deadlines: Deadlines

  /// - Parameter connections: those of the store to a database server. Threads that wait for a server
  ///   need no processor, so that most connections are used by first attempts.
  init(_ configuration: ServiceConfiguration, connections: Int, _ deadlines: Deadlines) {
    let queue = configuration.slowQueryQueue
    let first = max(2, connections - Self.laterThreads)
    let slow = configuration.slowQueries
    // The limit is that of the query. A large answer may take longer to write and to compress; that needs
    // no connection.
    func firstAttempt(isInBackground: Bool) -> Attempt {
      Attempt(
        pool: ThreadPool(
          name: "livefetch-50ms", threads: first + 1, leftToOthers: 1, queue: queue,
          isInBackground: isInBackground),
        limit: .milliseconds(50))
    }
    attempts = [
      firstAttempt(isInBackground: false),
      Attempt(
        pool: ThreadPool(
          name: "livefetch-500ms", threads: 2, queue: queue, isInBackground: true),
        limit: .milliseconds(500)),
      Attempt(
        pool: ThreadPool(
          name: "livefetch-slow", threads: slow, leftToOthers: 1, queue: queue,
          isInBackground: true),
        limit: nil),
    ]
    attemptOfSlowCallers = connections == 0 ? firstAttempt(isInBackground: true) : nil
    timeLimit = .seconds(configuration.queryTimeout)
    self.deadlines = deadlines
  }

  /// The number of queries that wait for a thread.
  var waiting: Int { queryPools.reduce(0) { $0 + $1.waiting } }

  /// The number of queries that run.
  var running: Int { queryPools.reduce(0) { $0 + $1.running } }

  private var queryPools: [ThreadPool] {
    (attempts + [attemptOfSlowCallers].compactMap { $0 }).map(\.pool) + [longReads]
  }
}

// MARK: - Stages

extension RequestPools {
  /// Parses and plans a request, and runs `query` with the operation: at once, or on a thread of
  /// `parsing` if its body is long or the caller's requests take long. Requests without a scope, as
  /// those for the server's health, always run at once.
  func parse<Operation: Sendable>(
    _ context: RequestContext, _ plan: @escaping @Sendable () throws(Problem) -> Operation,
    then query: @escaping @Sendable (Operation) throws(Problem) -> Void
  ) throws(Problem) {
    let caller = context.callerID
    let isBrief = context.request.body.count <= Self.maxBytesOnWorker
    if context.route.scope == nil || (isBrief && !slowCallers.isPaused(caller.name)) {
      return try query(slowCallers.measure(caller.name, plan))
    }
    context.begin(.wait)
    let deadline = context.deadline ?? .now + timeLimit
    enter(parsing, caller, until: deadline, context.refuse) {
      context.perform { () throws(Problem) in try query(plan()) }
    }
  }

  /// Runs a query that took too long for a worker: in each pool of `attempts` until one completes it.
  ///
  /// - Parameters:
  ///   - refused: called instead, or after an attempt, if there is no time for the query; perhaps
  ///     on this thread.
  ///   - attempt: returns true once it has responded, false if the query needs more time.
  func query(
    for caller: CallerID, until deadline: ContinuousClock.Instant,
    refused: @escaping @Sendable (Refusal) -> Void,
    _ attempt: @escaping @Sendable (QueryAttempt) -> Bool
  ) {
    let query = Query(caller: caller, deadline: deadline, refused: refused, attempt: attempt)
    let first = callersOfLongQueries.isPaused(caller.name) ? attemptOfSlowCallers : nil
    run(query, in: first ?? attempts[0], then: attempts.dropFirst(), waited: .zero)
  }

  /// Runs work that reads for as long as it takes.
  ///
  /// - Parameters:
  ///   - deadline: when it is refused if its turn has not come; nil for the time limit of a query from
  ///     now on.
  ///   - refused: called instead if its turn does not come in time.
  func readLong(
    for caller: CallerID, until deadline: ContinuousClock.Instant? = nil,
    refused: @escaping @Sendable (Refusal) -> Void, _ work: @escaping @Sendable () -> Void
  ) {
    enter(longReads, caller, until: deadline ?? .now + timeLimit, refused, work)
  }

  /// Responds to a save.
  ///
  /// - Parameter isBrief: true if the writer's thread may do it.
  func respondToSave(isBrief: Bool, _ work: @escaping @Sendable () -> Void) {
    if isBrief || !saveResponses.run(work) { work() }
  }

  /// Delivers something to clients that wait for a diff.
  ///
  /// - Parameter count: how many clients or parts there are.
  func deliver(count: Int, _ work: @escaping @Sendable () -> Void) {
    if count <= Self.maxClientsOnEngine || !deliveries.run(work) { work() }
  }

  /// Releases the clients of a delivery later: that takes as long as their responses, and should not
  /// happen while these are sent.
  func release(_ waiters: [any Sendable]) {
    guard waiters.count > Self.maxClientsOnEngine else { return }
    deadlines.schedule(after: 0.2) { [deliveries] in
      _ = deliveries.run { withExtendedLifetime(waiters) {} }
    }
  }
}

// MARK: - Closing

extension RequestPools {
  /// Refuses queries and large requests, those that wait included. Those that run are completed.
  func closeQueries() {
    for pool in queryPools { pool.close(refusesWaiting: true) }
    parsing.close()
  }

  /// Returns when every diff has been delivered.
  func closeResponses() {
    history.finish()
    saveResponses.close()
    credentials.close()
    deliveries.finish()
  }
}

// MARK: - Attempts

extension RequestPools {
  private struct Query: Sendable {
    let caller: CallerID
    let deadline: ContinuousClock.Instant
    let refused: @Sendable (Refusal) -> Void
    let attempt: @Sendable (QueryAttempt) -> Bool
  }

  /// - Parameter waited: how long the query has waited for earlier attempts.
  private func run(
    _ query: Query, in attempt: Attempt, then later: ArraySlice<Attempt>, waited: Duration
  ) {
    let arrival = ContinuousClock.now
    enter(attempt.pool, query.caller, until: query.deadline, query.refused) { [self] in
      let waited = waited + (ContinuousClock.now - arrival)
      let isLate = waited > timeLimit / 2
      let current = QueryAttempt(deadline: query.deadline, limit: attempt.limit, isLate: isLate)
      let start = QueryAttempt.processorTime
      guard !query.attempt(current), let next = later.first else { return }
      callersOfLongQueries.record(
        query.caller.name, .nanoseconds(Int64(QueryAttempt.processorTime - start)))
      run(query, in: next, then: later.dropFirst(), waited: waited)
    }
  }

  private func enter(
    _ pool: ThreadPool, _ caller: CallerID, until end: ContinuousClock.Instant,
    _ refused: @escaping @Sendable (Refusal) -> Void, _ work: @escaping @Sendable () -> Void
  ) {
    let key = QueueKey(caller: caller.name, connection: caller.connection)
    pool.run(for: key, until: end, refused: { refused(Refusal($0)) }, work)
    guard pool.waiting > 0 else { return }
    let seconds = ContinuousClock.now.duration(to: end) / .seconds(1)
    deadlines.schedule(after: seconds) { [weak pool] in pool?.refuseExpired() }
  }
}

extension RequestPools.Refusal {
  fileprivate init(_ refusal: ThreadPool.Refusal) {
    switch refusal {
    case .full: self = .overloaded(.overloaded("Too many slow requests wait already; try again."))
    case .expired: self = .overloaded(Problem(StoreError.overloaded))
    case .closed: self = .closed
    }
  }
}
