// Catch-ups that are too slow for the engine's thread: a fetch and a token enter, a query that is up
// to date and has its diff leaves.
//
// The engine's thread starts a job when its own attempt exceeds the time limit, or is known to. The
// prepared query belongs to the engine's thread from then on, which brings it up to its own snapshot
// and installs it.

import FetchModel
import LiveFetchThreads
import Synchronization

/// Identifies one attempt, and cancels it.
final class CatchUpTicket: Sendable {
  private let cancelled = Atomic(false)

  var isCancelled: Bool { cancelled.load(ordering: .relaxed) }
  func cancel() { cancelled.store(true, ordering: .relaxed) }
}

/// The clients that wait for a background catch-up.
struct PendingCatchUp {
  /// A client and its token. Its result is the same at that token and at the key's.
  struct Waiting {
    let request: FollowRequest
    let from: Token

    func isOf(_ waiters: Set<ObjectIdentifier>) -> Bool {
      waiters.contains(ObjectIdentifier(request.waiter))
    }
  }

  let ticket = CatchUpTicket()
  /// Requests from before the job was started.
  private(set) var begun: [Waiting] = []
  var later: [Waiting] = []

  var all: [Waiting] { begun + later }
  var callers: Set<String> { Set(all.map(\.request.caller)) }
  var isEmpty: Bool { begun.isEmpty && later.isEmpty }

  mutating func begin() { (begun, later) = (all, []) }

  /// Removes the fetches of groups and returns them.
  mutating func removeGroups() -> [GroupMember] {
    defer {
      begun.removeAll { $0.request.needsConsistentSnapshot }
      later.removeAll { $0.request.needsConsistentSnapshot }
    }
    return all.compactMap(\.request.waiter.groupMember)
  }

  func isAwaited(byAnyOf waiters: Set<ObjectIdentifier>) -> Bool {
    begun.contains { $0.isOf(waiters) } || later.contains { $0.isOf(waiters) }
  }

  mutating func remove(_ waiters: Set<ObjectIdentifier>) {
    begun.removeAll { $0.isOf(waiters) }
    later.removeAll { $0.isOf(waiters) }
    if isEmpty { ticket.cancel() }
  }
}

/// The tickets of the jobs that a thread executes; it stops when all of them are cancelled.
private final class AwaitedCatchUps: Sendable {
  // Protects the tickets; read repeatedly while the store executes a query.
  private let tickets = Mutex<[CatchUpTicket]>([])

  func begin(_ jobs: ArraySlice<CatchUpJob>) {
    let begun = jobs.map(\.ticket)
    tickets.withLock { $0 = begun }
  }

  var areCancelled: Bool { tickets.withLock { $0.allSatisfy(\.isCancelled) } }
}

/// The outcome of a background catch-up.
enum CatchUpOutcome: Sendable {
  case ready(PreparedQuery)
  /// The token cannot be continued from, or not within the store's time limit: another attempt would
  /// fail as well, a new fetch would not.
  case expired
  case failed(StoreError)
}

/// A query that one thread passes to another; the first must not use it afterwards.
final class PreparedQuery: @unchecked Sendable {
  let query: LiveQuery
  /// The snapshot that it is up to date with.
  let token: Token

  init(_ query: LiveQuery, at token: Token) {
    self.query = query
    self.token = token
  }
}

/// One background catch-up.
struct CatchUpJob: Sendable {
  let key: CatchUpKey
  let model: Model
  let columns: (any ColumnTraits)?
  let maxKeyBytes: Int
  /// The caller of the request that started it.
  let caller: String
  /// The time from which it is not started any more; nil for a stream's.
  let latestStart: ContinuousClock.Instant?
  let ticket: CatchUpTicket
  /// True if it begins again because it needed a newer state than its transaction had.
  var isRepeated = false

  /// The time for which outcomes are collected and reported together: a report has a fixed cost, and the
  /// clients of a quick job do not wait for a slow one.
  private static let reportPause = Duration.milliseconds(50)
  /// After this time the remaining jobs use a newer snapshot, because an old one keeps the WAL long,
  /// and wait for their caller's next turn.
  private static let transactionTime = Duration.seconds(5)
  /// The time limit of the search for all jobs together, as far as conditions are tested.
  private static let testTime = Duration.seconds(1)
  /// The pause before a transaction whose state was too old is repeated, in seconds.
  private static let repetitionPause = 0.005

  /// Executes jobs that start from the same token, in one read transaction as far as its time
  /// limit allows. The changes since the token are examined once for all. Returns the remaining jobs, also
  /// one that needed a newer state than the transaction had: it begins again until its latest start.
  ///
  /// - Parameters:
  ///   - isEnding: true once the engine is about to end.
  ///   - report: receives each outcome once, perhaps several at a time.
  static func run(
    _ jobs: ArraySlice<CatchUpJob>, _ store: any LiveStore,
    cancelledWhen isEnding: @escaping @Sendable () -> Bool,
    report: ([FinishedCatchUp]) -> Void
  ) -> ArraySlice<CatchUpJob> {
    let late = jobs.filter(\.isLate)
    if !late.isEmpty { report(late.map { $0.failed($0.lateError) }) }
    var rest = ArraySlice(jobs.filter { !$0.isLate })
    guard !rest.isEmpty else { return [] }
    let awaited = AwaitedCatchUps()
    awaited.begin(rest)
    do throws(StoreError) {
      let isCancelled = { @Sendable in isEnding() || awaited.areCancelled }
      try store.read(cancelledWhen: isCancelled) { transaction in
        let end = ContinuousClock.now + transactionTime
        let context = CatchUpContext(transaction)
        search(for: rest, context)
        var finished: [FinishedCatchUp] = []
        var nextReport = ContinuousClock.now
        repeat {
          var job = rest.removeFirst()
          awaited.begin([job])
          let outcome = job.outcome(context, isEnding)
          if case .failed(.busy) = outcome, !job.ticket.isCancelled, !isEnding() {
            job.isRepeated = true
            rest.append(job)
            break
          }
          finished.append(FinishedCatchUp(job: job, outcome: outcome))
          guard ContinuousClock.now >= nextReport else { continue }
          report(finished)
          finished = []
          nextReport = .now + reportPause
        } while !rest.isEmpty && ContinuousClock.now < end
        if !finished.isEmpty { report(finished) }
      }
      if rest.last?.isRepeated == true { pause() }
      return rest
    } catch {
      report(rest.map { $0.failed(isEnding() ? .busy : error) })
      return []
    }
  }

  /// Waits before a transaction is repeated that needed a newer state than it had.
  static func pause() { _ = MonotonicSemaphore().wait(seconds: repetitionPause) }

  var isLate: Bool { latestStart.map { $0 < .now } ?? false }
  private var lateError: StoreError { isRepeated ? .busy : .overloaded }

  func failed(_ error: StoreError) -> FinishedCatchUp {
    FinishedCatchUp(job: self, outcome: .failed(error))
  }

  /// Searches once for all jobs. If that fails, each job fails or succeeds by itself.
  private static func search(for jobs: ArraySlice<CatchUpJob>, _ context: CatchUpContext) {
    guard let first = jobs.first else { return }
    let keys = Dictionary(
      jobs.filter { $0.key.query.only == nil }.map { ($0.key.query, Set([$0.caller])) }
    ) { $0.union($1) }
    _ = try? context.transaction.withTimeLimit(nil) { () throws(StoreError) in
      try context.search(
        for: keys, after: first.key.from, in: first.model, first.columns, testing: testTime)
    }
  }

  private func outcome(_ context: CatchUpContext, _ isEnding: () -> Bool) -> CatchUpOutcome {
    do throws(StoreError) {
      guard !isEnding(), !ticket.isCancelled else { return .failed(.busy) }
      if isLate { return .failed(lateError) }
      let outcome = try prepare(context)
      // A cancelled read looks like a timeout.
      return isEnding() ? .failed(.busy) : outcome
    } catch {
      return .failed(isEnding() ? .busy : context.transaction.mapError(error))
    }
  }

  private func prepare(_ context: CatchUpContext) throws(StoreError) -> CatchUpOutcome {
    guard try context.canContinue(from: key.from) else { return .expired }
    let query = LiveQuery(
      key: key.query, model: model, columns: columns, position: context.token.position,
      maxKeyBytes: maxKeyBytes)
    // If this times out, the client's next fetch would as well.
    _ = try context.transaction.withTimeLimit(nil) { () throws(StoreError) in
      try query.view(key.view, context, now: .now)
    }
    do throws(StoreError) {
      _ = try query.catchUp(key.view, from: key.from, context, limit: .eachStep, now: .now)
    } catch .queryTimeout {
      return .expired
    }
    return .ready(PreparedQuery(query, at: context.token))
  }
}
