// The live engine: notices of commits and clients' wishes enter from any thread, each client's one
// answer leaves on the engine's own.
//
// The thread owns every live query. It waits for its mailbox, opens one read transaction where the
// store has something new or has to be asked, goes on to that moment, and only then serves who
// wants to follow: so an answer contains every save of which the engine was told before.

import Dispatch
import FetchModel
import Synchronization
import Threads

/// Follows a store for clients that want to know what changes in their fetches.
public final class LiveEngine: Sendable {
  private let mailbox = Mailbox()
  private let metrics = Mutex(LiveCounters())

  /// Starts the engine's thread, which ends with ``stop()`` or with the engine.
  public init(
    store: any LiveStore, configuration: LiveConfiguration = .init(), delivery: any LiveDelivery
  ) {
    let loop = EngineLoop(store: store, configuration: configuration, delivery: delivery)
    let mailbox = mailbox
    startThread(name: "livefetch-live") { [weak self] in
      loop.run(
        EngineDesk(mailbox: mailbox) { counters in self?.metrics.withLock { $0 = counters } })
    }
  }

  deinit { stop() }

  /// The store may have a newer moment. Cheap; to be called after a commit and before it is
  /// answered, and when another process's commit was noticed.
  public func storeDidChange() { mailbox.tell { $0.storeDidChange = true } }

  /// Tells `waiter` the diff of `plan` from `since` on as soon as there is one.
  ///
  /// - Parameter deadline: when to answer with a diff without entries; nil to wait for ever.
  public func follow(
    _ plan: FetchPlan, since: LiveStart, until deadline: ContinuousClock.Instant?,
    _ waiter: any LiveWaiter
  ) {
    let request = FollowRequest(
      plan: plan, only: nil, since: since, deadline: deadline, waiter: waiter)
    mailbox.tell { $0.wishes.append(.follow(request)) }
  }

  /// Tells `waiter` when the object `id` changes or is deleted.
  ///
  /// - Parameter plan: what is told of the object: its entity, `SELF` as the predicate or every
  ///   object, and the selection.
  public func observe(
    _ id: ObjectID, of plan: FetchPlan, since: LiveStart,
    until deadline: ContinuousClock.Instant?, _ waiter: any LiveWaiter
  ) {
    let request = FollowRequest(
      plan: plan, only: id, since: since, deadline: deadline, waiter: waiter)
    mailbox.tell { $0.wishes.append(.follow(request)) }
  }

  /// Tells `waiter` what changes in many fetches: one answer with everything that there is to tell
  /// of them, all of it true of one moment, as soon as there is something.
  ///
  /// After its answer the waiter is told nothing until this is called again, then with the fetches
  /// that are new alone: the others go on from what the waiter was told of them. A fetch that was
  /// answered ``LiveAnswer/expired`` or ``LiveAnswer/failed(_:)`` is followed no more.
  ///
  /// - Parameter isFinal: whether to answer at once, whatever there is.
  public func follow(_ fetches: [GroupFetch], isFinal: Bool, _ waiter: any LiveWaiter) {
    let wish = GroupWish(fetches: fetches, isFinal: isFinal, waiter: waiter)
    mailbox.tell { $0.wishes.append(.followGroup(wish)) }
  }

  /// Forgets `waiter` without an answer, unless one is on its way already.
  public func cancel(_ waiter: any LiveWaiter) {
    mailbox.tell { $0.wishes.append(.cancel(waiter)) }
  }

  /// Answers every waiter with a diff without entries, and from now on whoever follows as well.
  /// Returns when they have been told.
  public func drain() {
    let done = DispatchSemaphore(value: 0)
    mailbox.end { $0.drains.append(done) }
    done.wait()
  }

  /// Ends the engine's thread; nobody is answered any more.
  public func stop() { mailbox.end { $0.isStopped = true } }

  /// What the engine has done so far.
  public var counters: LiveCounters { metrics.withLock { $0 } }
}

/// What an engine's thread hears and says beside answers.
private struct EngineDesk {
  let mailbox: Mailbox
  let report: (LiveCounters) -> Void
}

/// What the engine's thread does.
private struct EngineLoop: Sendable {
  init(store: any LiveStore, configuration: LiveConfiguration, delivery: any LiveDelivery) {
    self.store = store
    self.configuration = configuration
    self.delivery = delivery
  }

  let store: any LiveStore
  let configuration: LiveConfiguration
  let delivery: any LiveDelivery
  /// Where resumes are found out that take too long for the engine's thread.
  private let lane = WorkLane(name: "livefetch-resume", threads: 2, queue: 1_000)
  /// How long to wait before the store is asked again after it failed.
  private static let retryDelay = Duration.milliseconds(50)

  /// What the thread knows beside the queries.
  private struct State {
    var queries: LiveQueries
    var groups = LiveGroups()
    /// Whether the store may have a moment that was not read yet.
    var isStale = true
    var retry: ContinuousClock.Instant?
    var nextSweep: ContinuousClock.Instant
    var isDraining = false
    /// What the store was told that is still to be read.
    var demand = HistoryDemand.nothing

    var unread: HistoryDemand {
      guard queries.hasActiveQueries else { return .nothing }
      return queries.current.map { .after($0.position) } ?? .new
    }
  }

  func run(_ desk: EngineDesk) {
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
      // What is read now is not to be forgotten before it is.
      if state.demand == .nothing, !batch.wishes.isEmpty { tell(.new, desk, &state) }
      handle(batch, desk, &state)
      answer(desk, &state)
      for drain in batch.drains { drain.signal() }
    }
  }

  private func tell(_ demand: HistoryDemand, _ desk: EngineDesk, _ state: inout State) {
    guard demand != state.demand else { return }
    state.demand = demand
    store.demand(demand, of: ObjectIdentifier(desk.mailbox))
  }

  /// Says what there is to say now.
  private func answer(_ desk: EngineDesk, _ state: inout State) {
    answerClients(desk, &state)
    answerGroups(desk, &state)
  }

  private func wakeTime(_ state: State) -> ContinuousClock.Instant? {
    let sweep = state.queries.queries.isEmpty ? nil : state.nextSweep
    return [state.queries.deadlines.next, state.retry, sweep].compactMap { $0 }.min()
  }

  private func handle(_ batch: Batch, _ desk: EngineDesk, _ state: inout State) {
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

  /// Carries out what needs no store and returns the rest.
  private func serveFromMemory(
    _ wishes: [Batch.Wish], _ state: inout State, _ now: ContinuousClock.Instant
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
    _ requests: [FollowRequest], _ finished: [FinishedResume], _ desk: EngineDesk,
    _ state: inout State, _ now: ContinuousClock.Instant
  ) {
    let isOver = { @Sendable [mailbox = desk.mailbox] in mailbox.isOverdue }
    do throws(StoreError) {
      try store.read(unless: isOver) { moment throws(StoreError) in
        let context = MomentContext(moment)
        try state.queries.catchUp(context)
        state.isStale = false
        state.retry = nil
        if !state.queries.outbox.isEmpty { answerClients(desk, &state) }
        takeBack(finished, context, &state, now)
        serve(requests, context, desk, &state, now)
        // Who waits is not to wait for the transaction's end.
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
    _ finished: [FinishedResume], _ context: MomentContext, _ state: inout State,
    _ now: ContinuousClock.Instant
  ) {
    guard !finished.isEmpty else { return }
    state.queries.prepare(finished, context)
    let latest = ContinuousClock.now + configuration.longPatience
    for resume in finished {
      state.queries.takeBack(resume, context, now: now, until: latest)
    }
  }

  /// Serves as many as there is time for in one go; the rest comes later, after the moments till then.
  private func serve(
    _ requests: [FollowRequest], _ context: MomentContext, _ desk: EngineDesk,
    _ state: inout State, _ now: ContinuousClock.Instant
  ) {
    var later = state.queries.returned
    state.queries.returned = []
    let groupsEnd = ContinuousClock.now + configuration.longPatience * 2
    state.queries.prepare(requests, context)
    // From here on, and one in any case: however long that took, the engine gets on.
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

  /// Has found out what takes too long for this thread: what begins at one moment together.
  private func startResumes(_ desk: EngineDesk, _ state: inout State) {
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
  private func answerClients(_ desk: EngineDesk, _ state: inout State) {
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

  private func answerGroups(_ desk: EngineDesk, _ state: inout State) {
    let later = state.groups.takePostponed(isEnding: state.isDraining || state.queries.isEnding)
    if !later.isEmpty { desk.mailbox.putBack(later) }
    let token = state.queries.current
    for answer in state.groups.takeAnswers(isDraining: state.isDraining) {
      delivery.deliver(answer.results, at: token, to: answer.waiter)
    }
  }
}

extension [FollowRequest] {
  /// Those that begin at one moment come one after the other: a store looks back once for them. Groups
  /// have more time, so they are the last.
  fileprivate var inOrderOfTheirStart: [FollowRequest] {
    guard count > 1 else { return self }
    let place = { (request: FollowRequest) in
      (request.onlyWaits ? 1 : 0, request.since.moment.position)
    }
    return sorted { place($0) < place($1) }
  }
}
