// The live engine. Commit notifications and clients' commands arrive on any thread; answers leave
// on the engine's own thread.
//
// The thread owns every live query. It waits for commands, opens one read transaction if the store
// changed or must be read, catches up with that position, and then serves new followers. An answer
// therefore contains every save that the engine was notified of before.

import Dispatch
import FetchModel
import Synchronization
import Threads

/// Follows a store for clients that wait for changes of their fetches.
public final class LiveEngine: Sendable {
  private let mailbox = CommandQueue()
  private let metrics = Mutex(LiveCounters())

  /// Starts the engine's thread. It ends with ``stop()`` or when the engine is released.
  public init(
    store: any LiveStore, configuration: LiveConfiguration = .init(), delivery: any LiveDelivery
  ) {
    let loop = EngineLoop(store: store, configuration: configuration, delivery: delivery)
    let mailbox = mailbox
    startThread(name: "livefetch-live") { [weak self] in
      loop.run(
        EngineInbox(mailbox: mailbox) { counters in self?.metrics.withLock { $0 = counters } })
    }
  }

  deinit { stop() }

  /// Notifies the engine that the store may have changed. O(1); call it after a commit and before
  /// its answer, and when a commit of another process is noticed.
  public func storeDidChange() { mailbox.tell { $0.storeDidChange = true } }

  /// Answers `waiter` with the diff of `plan` from `since` as soon as there is one.
  ///
  /// - Parameter deadline: when to answer with an empty diff; nil for no limit.
  public func follow(
    _ plan: FetchPlan, since: LiveStart, until deadline: ContinuousClock.Instant?,
    _ waiter: any LiveWaiter
  ) {
    let request = FollowRequest(
      plan: plan, only: nil, since: since, deadline: deadline, waiter: waiter)
    mailbox.tell { $0.wishes.append(.follow(request)) }
  }

  /// Answers `waiter` when the object `id` changes or is deleted.
  ///
  /// - Parameter plan: the object's entity with the selection; its predicate is `SELF` or matches
  ///   every object.
  public func observe(
    _ id: ObjectID, of plan: FetchPlan, since: LiveStart,
    until deadline: ContinuousClock.Instant?, _ waiter: any LiveWaiter
  ) {
    let request = FollowRequest(
      plan: plan, only: id, since: since, deadline: deadline, waiter: waiter)
    mailbox.tell { $0.wishes.append(.follow(request)) }
  }

  /// Answers `waiter` with all changes of a group of fetches, at one token, as soon as there are
  /// any.
  ///
  /// After an answer the waiter gets nothing until this is called again, with new fetches only: the
  /// others continue from their last answer. A fetch that was answered ``LiveAnswer/expired`` or
  /// ``LiveAnswer/failed(_:)`` is removed.
  ///
  /// - Parameter isFinal: true to answer at once, even without changes.
  public func follow(_ fetches: [GroupFetch], isFinal: Bool, _ waiter: any LiveWaiter) {
    let wish = GroupWish(fetches: fetches, isFinal: isFinal, waiter: waiter)
    mailbox.tell { $0.wishes.append(.followGroup(wish)) }
  }

  /// Removes `waiter` without an answer, unless one is already being delivered.
  public func cancel(_ waiter: any LiveWaiter) {
    mailbox.tell { $0.wishes.append(.cancel(waiter)) }
  }

  /// Answers every waiter, and every later one, with an empty diff. Returns when the answers were
  /// delivered.
  public func drain() {
    let done = DispatchSemaphore(value: 0)
    mailbox.end { $0.drains.append(done) }
    done.wait()
  }

  /// Ends the engine's thread; waiters are not answered any more.
  public func stop() { mailbox.end { $0.isStopped = true } }

  /// The engine's counters.
  public var counters: LiveCounters { metrics.withLock { $0 } }
}

/// Command queue and metrics callback of the engine thread.
private struct EngineInbox {
  let mailbox: CommandQueue
  let report: (LiveCounters) -> Void
}

/// The engine thread's loop.
private struct EngineLoop: Sendable {
  init(store: any LiveStore, configuration: LiveConfiguration, delivery: any LiveDelivery) {
    self.store = store
    self.configuration = configuration
    self.delivery = delivery
  }

  let store: any LiveStore
  let configuration: LiveConfiguration
  let delivery: any LiveDelivery
  /// Runs catch-ups that take too long for the engine's thread.
  private let lane = ThreadPool(name: "livefetch-resume", threads: 2, queue: 1_000)
  /// The pause before the store is read again after a failure.
  private static let retryDelay = Duration.milliseconds(50)

  /// The thread's state beside the queries.
  private struct State {
    var queries: LiveQueries
    var groups = LiveGroups()
    /// True if the store may have changed since it was last read.
    var isStale = true
    var retry: ContinuousClock.Instant?
    var nextSweep: ContinuousClock.Instant
    var isDraining = false
    /// The retention demand last sent to the store.
    var demand = RetentionDemand.nothing

    var unread: RetentionDemand {
      guard queries.hasActiveQueries else { return .nothing }
      return queries.current.map { .after($0.position) } ?? .new
    }
  }

  func run(_ desk: EngineInbox) {
    var state = State(
      queries: LiveQueries(
        model: store.model, columns: store.columns, configuration: configuration),
      nextSweep: .now + configuration.idleTime)
    while true {
      let batch = desk.mailbox.take(until: wakeTime(state))
      if batch.isStopped {
        tell(.nothing, desk, &state)
        for drain in batch.drains { drain.signal() }
        return lane.close()
      }
      // Prevent pruning of history that is about to be read.
      if state.demand == .nothing, !batch.wishes.isEmpty { tell(.new, desk, &state) }
      handle(batch, desk, &state)
      answer(desk, &state)
      for drain in batch.drains { drain.signal() }
    }
  }

  private func tell(_ demand: RetentionDemand, _ desk: EngineInbox, _ state: inout State) {
    guard demand != state.demand else { return }
    state.demand = demand
    store.demand(demand, of: ObjectIdentifier(desk.mailbox))
  }

  /// Delivers the available answers.
  private func answer(_ desk: EngineInbox, _ state: inout State) {
    answerClients(desk, &state)
    answerGroups(desk, &state)
  }

  private func wakeTime(_ state: State) -> ContinuousClock.Instant? {
    let sweep = state.queries.queries.isEmpty ? nil : state.nextSweep
    return [state.queries.deadlines.next, state.retry, sweep].compactMap { $0 }.min()
  }

  private func handle(_ batch: CommandBatch, _ desk: EngineInbox, _ state: inout State) {
    let now = ContinuousClock.now
    if batch.storeDidChange { state.isStale = true }
    state.queries.isEnding = desk.mailbox.isEnding
    let unserved = serveFromMemory(batch.wishes, &state, now)
    let finished = batch.finished.filter(state.queries.isAwaited)
    if state.isStale && state.queries.hasActiveQueries || !unserved.isEmpty || !finished.isEmpty {
      serveFromStore(unserved, finished, desk, &state, now)
    }
    startResumes(desk, &state)
    if !batch.drains.isEmpty { state.isDraining = true }
    if state.isDraining {
      state.queries.endResumes()
      state.queries.expireAll()
    } else {
      state.queries.expire(now)
    }
    if now >= state.nextSweep {
      state.queries.dropIdle(unusedSince: now - configuration.idleTime)
      state.nextSweep = now + configuration.idleTime / 2
    }
  }

  /// Executes the commands that need no read of the store, and returns the others.
  private func serveFromMemory(
    _ wishes: [CommandBatch.Command], _ state: inout State, _ now: ContinuousClock.Instant
  ) -> [FollowRequest] {
    var unserved: [FollowRequest] = []
    for wish in wishes {
      switch wish {
      case .cancel(let waiter):
        state.queries.cancel(ObjectIdentifier(waiter))
        unserved.removeAll { $0.waiter === waiter }
        cancelGroup(of: waiter, &unserved, &state)
      case .follow(let request):
        if state.isStale || !state.queries.followFromMemory(request, now: now) {
          unserved.append(request)
        }
      case .followGroup(let wish):
        for request in state.groups.follow(wish)
        where state.isStale || !state.queries.followFromMemory(request, now: now) {
          unserved.append(request)
        }
      }
    }
    return unserved
  }

  private func cancelGroup(
    of waiter: any LiveWaiter, _ unserved: inout [FollowRequest], _ state: inout State
  ) {
    let members = state.groups.remove(waiter)
    guard !members.isEmpty else { return }
    for member in members { state.queries.cancel(ObjectIdentifier(member)) }
    let gone = Set(members.map { ObjectIdentifier($0) })
    unserved.removeAll { gone.contains(ObjectIdentifier($0.waiter)) }
  }

  private func serveFromStore(
    _ requests: [FollowRequest], _ finished: [FinishedResume], _ desk: EngineInbox,
    _ state: inout State, _ now: ContinuousClock.Instant
  ) {
    let isOver = { @Sendable [mailbox = desk.mailbox] in mailbox.isOverdue }
    do throws(StoreError) {
      try store.read(unless: isOver) { moment throws(StoreError) in
        let context = CatchUpContext(moment)
        try state.queries.catchUp(context)
        state.isStale = false
        state.retry = nil
        if !state.queries.outbox.isEmpty { answerClients(desk, &state) }
        takeBack(finished, context, &state, now)
        serve(requests, context, desk, &state, now)
        // Deliver answers before the transaction ends.
        if !state.isDraining { answer(desk, &state) }
      }
    } catch {
      let error = desk.mailbox.isEnding && error == .queryTimeout ? .busy : error
      for request in requests { state.queries.send(.failed(error), to: request.waiter) }
      for resume in finished { state.queries.endResume(resume.job.key, .failed(error)) }
      state.isStale = true
      state.retry = state.queries.hasActiveQueries ? now + Self.retryDelay : nil
    }
  }

  private func takeBack(
    _ finished: [FinishedResume], _ context: CatchUpContext, _ state: inout State,
    _ now: ContinuousClock.Instant
  ) {
    guard !finished.isEmpty else { return }
    state.queries.prepare(finished, context)
    let latest = ContinuousClock.now + configuration.longPatience
    for resume in finished {
      state.queries.takeBack(resume, context, now: now, until: latest)
    }
  }

  /// Serves as many requests as the time limit allows and puts the others back, behind newer
  /// positions.
  private func serve(
    _ requests: [FollowRequest], _ context: CatchUpContext, _ desk: EngineInbox,
    _ state: inout State, _ now: ContinuousClock.Instant
  ) {
    var later = state.queries.returned
    state.queries.returned = []
    let groupsEnd = ContinuousClock.now + configuration.longPatience * 2
    state.queries.prepare(requests, context)
    // Serve at least one request, however long the steps before took.
    let end = ContinuousClock.now + configuration.longPatience
    var isFirst = true
    for request in requests.inOrderOfTheirStart {
      if isFirst || ContinuousClock.now < (request.onlyWaits ? groupsEnd : end) {
        isFirst = false
        state.queries.follow(request, context, now: now)
      } else if let member = request.waiter as? GroupMember {
        state.groups.postpone(member)
      } else if state.queries.isEnding {
        state.queries.send(.failed(.busy), to: request.waiter)
      } else {
        later.append(request)
      }
    }
    if !later.isEmpty { desk.mailbox.putBack(later) }
  }

  /// Starts catch-ups that take too long for this thread, grouped by start token.
  private func startResumes(_ desk: EngineInbox, _ state: inout State) {
    let together = Dictionary(grouping: state.queries.takeNewResumes(), by: \.key.from)
    for jobs in together.values {
      let isTaken = lane.run { [store, mailbox = desk.mailbox] in
        ResumeJob.run(jobs, store) {
          mailbox.isEnding
        } tell: { finished in
          mailbox.tell { $0.finished += finished }
        }
      }
      guard !isTaken else { continue }
      for job in jobs { state.queries.endResume(job.key, .failed(.busy)) }
    }
  }

  /// Hands out what is in the outbox; what is for members of groups gathers there.
  private func answerClients(_ desk: EngineInbox, _ state: inout State) {
    tell(state.unread, desk, &state)
    state.queries.counters.queries = state.queries.queries.count
    state.queries.counters.waiters =
      state.queries.waiterCount + state.queries.resumes.reduce(0) { $0 + $1.value.all.count }
    desk.report(state.queries.counters)
    let outbox = state.queries.outbox
    state.queries.outbox = []
    for outgoing in outbox {
      let waiters = state.groups.collect(outgoing)
      if !waiters.isEmpty { delivery.deliver(outgoing.answer, to: waiters) }
    }
    state.queries.forgetAnswered()
  }

  private func answerGroups(_ desk: EngineInbox, _ state: inout State) {
    let later = state.groups.takePostponed(isEnding: state.isDraining || state.queries.isEnding)
    if !later.isEmpty { desk.mailbox.putBack(later) }
    let token = state.queries.current
    for answer in state.groups.takeAnswers(isDraining: state.isDraining) {
      delivery.deliver(answer.results, at: token, to: answer.waiter)
    }
  }
}

extension [FollowRequest] {
  /// Those that begin at one moment come one after the other: a store looks back once for them.
  /// Groups have more time, so they are the last.
  fileprivate var inOrderOfTheirStart: [FollowRequest] {
    guard count > 1 else { return self }
    let place = { (request: FollowRequest) in
      (request.onlyWaits ? 1 : 0, request.since.moment.position)
    }
    return sorted { place($0) < place($1) }
  }
}
