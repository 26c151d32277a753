// What a client missed, found out apart from the engine's thread: a query as it was then enters,
// the query as it is at a moment of the store leaves, with a log that tells everything since.
//
// The engine tries every resume itself and gives it up where that takes longer than others can
// wait. What the job finds is good for the engine alone: it brings it up to the moment that it is
// at itself, and goes on with it as with a query of its own.

import FetchModel
import Synchronization

/// What tells one resume from another.
struct ResumeKey: Hashable, Sendable {
  let query: QueryKey
  let view: ViewKey
  let from: Token
}

/// Tells one try at a resume from the next, and whether anybody still waits for it.
final class ResumeTicket: Sendable {
  private let cancelled = Atomic(false)

  var isCancelled: Bool { cancelled.load(ordering: .relaxed) }
  func cancel() { cancelled.store(true, ordering: .relaxed) }
}

/// Who waits for a resume.
struct Resuming {
  /// A client, and the token that it has: to it nothing happened between that and the resume's.
  struct Waiting {
    let request: FollowRequest
    let from: Token
  }

  let ticket = ResumeTicket()
  /// Those who asked before it was begun.
  private(set) var begun: [Waiting] = []
  var later: [Waiting] = []

  var all: [Waiting] { begun + later }
  var isEmpty: Bool { begun.isEmpty && later.isEmpty }

  mutating func begin() { (begun, later) = (all, []) }

  mutating func remove(_ waiter: ObjectIdentifier) {
    begun.removeAll { ObjectIdentifier($0.request.waiter) == waiter }
    later.removeAll { ObjectIdentifier($0.request.waiter) == waiter }
    if isEmpty { ticket.cancel() }
  }
}

/// The resumes that a thread is finding out, which it breaks off once nobody waits for any of them.
private final class AwaitedResumes: Sendable {
  // Guards their tickets; asked again and again while the store answers.
  private let tickets = Mutex<[ResumeTicket]>([])

  func begin(_ jobs: ArraySlice<ResumeJob>) {
    let begun = jobs.map(\.ticket)
    tickets.withLock { $0 = begun }
  }

  var areCancelled: Bool { tickets.withLock { $0.allSatisfy(\.isCancelled) } }
}

/// What became of a resume.
enum ResumeOutcome: Sendable {
  case ready(PreparedQuery)
  /// The token cannot be continued from, or not within the store's time limit: who begins anew gets
  /// on, who tried again would not.
  case expired
  case failed(StoreError)
}

/// A query that one thread has made for another, which alone has it from then on.
final class PreparedQuery: @unchecked Sendable {
  let query: LiveQuery
  /// The moment that it is true of.
  let token: Token

  init(_ query: LiveQuery, at token: Token) {
    self.query = query
    self.token = token
  }
}

/// A resume to be found out.
struct ResumeJob: Sendable {
  let key: ResumeKey
  let plan: FetchPlan
  let model: Model
  let columns: (any ColumnTraits)?
  let ticket: ResumeTicket

  /// How many are told at a time.
  private static let toldTogether = 50
  /// After which time the rest is found out at a newer moment: an old one keeps the store's log
  /// long.
  private static let momentTime = Duration.seconds(5)

  /// Finds out what became of fetches that are resumed from the same token, at one moment as far as
  /// there is time: what was touched since is looked at once for all.
  ///
  /// - Parameters:
  ///   - isOver: whether the engine is about to end.
  ///   - tell: takes what is known, some at a time, each once.
  static func run(
    _ jobs: [ResumeJob], _ store: any LiveStore, unless isOver: @escaping @Sendable () -> Bool,
    tell: ([FinishedResume]) -> Void
  ) {
    var rest = jobs[...]
    let awaited = AwaitedResumes()
    let nobodyWaits = { @Sendable in isOver() || awaited.areCancelled }
    while !rest.isEmpty {
      awaited.begin(rest)
      do throws(StoreError) {
        try store.read(unless: nobodyWaits) { moment in
          let end = ContinuousClock.now + momentTime
          let context = CatchUpContext(moment)
          search(for: rest, context)
          repeat {
            let some = rest.prefix(toldTogether)
            rest = rest.dropFirst(toldTogether)
            tell(
              some.map { job in
                awaited.begin([job])
                return FinishedResume(job: job, outcome: job.outcome(context, isOver))
              })
          } while !rest.isEmpty && ContinuousClock.now < end
        }
      } catch {
        let outcome = ResumeOutcome.failed(isOver() ? .busy : error)
        return tell(rest.map { FinishedResume(job: $0, outcome: outcome) })
      }
    }
  }

  /// A failure is heard by each when it asks.
  private static func search(for jobs: ArraySlice<ResumeJob>, _ context: CatchUpContext) {
    guard let first = jobs.first else { return }
    let keys = Set(jobs.filter { $0.key.query.only == nil }.map(\.key.query))
    try? context.moment.within(nil) { () throws(StoreError) in
      try context.search(for: keys, after: first.key.from, in: first.model, first.columns)
    }
  }

  private func outcome(_ context: CatchUpContext, _ isOver: () -> Bool) -> ResumeOutcome {
    do throws(StoreError) {
      guard !isOver(), !ticket.isCancelled else { return .failed(.busy) }
      let outcome = try prepare(context)
      // What was broken off looks like what took too long.
      return isOver() ? .failed(.busy) : outcome
    } catch {
      return .failed(isOver() ? .busy : context.moment.meaning(of: error))
    }
  }

  private func prepare(_ context: CatchUpContext) throws(StoreError) -> ResumeOutcome {
    let (from, newest) = (key.from, context.token)
    guard from.epoch == newest.epoch, from.position <= newest.position else { return .expired }
    guard try context.moment.standing(of: from) == .known else { return .expired }
    let query = LiveQuery(
      key: key.query, model: model, columns: columns, position: newest.position)
    let view = try context.moment.within(nil) { () throws(StoreError) in
      try query.view(key.view, context, now: .now)
    }
    do throws(StoreError) {
      try context.moment.within(nil) { () throws(StoreError) in
        try query.resume(view, from: from, context)
      }
    } catch .queryTimeout {
      return .expired
    }
    return .ready(PreparedQuery(query, at: newest))
  }
}

extension LiveQuery {
  /// Takes into the log what happened after `from`, up to where the query stands, and makes the
  /// answer of `view`, which it keeps.
  fileprivate func resume(
    _ view: LiveView, from: Token, _ context: CatchUpContext
  ) throws(StoreError) {
    let found = try rowChanges(after: from.position, context) ?? FoundChanges(changes: [])
    // What is not whole is this view's.
    if !found.isWhole {
      view.bodies[from.position] = try body(
        for: view, found.changes, from: from.position, isStep: false, context)
      return
    }
    log = RowChangeLog(start: from.position)
    log.append(found.changes, from: from.position, to: position)
    _ = try body(for: view, from: from.position, context)
  }
}
