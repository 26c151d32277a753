// The engine's thread: commands enter, its live queries and groups change, deliveries leave.
//
// The thread owns every live query. It waits for commands, opens one read transaction if the store
// changed or must be read, catches up with that snapshot, and then serves new followers.

import Dispatch
import FetchModel
import LiveFetchThreads

/// The state and the loop of the engine's thread.
final class EngineThread {
  private let store: any LiveStore
  private let configuration: LiveConfiguration
  private let delivery: any LiveDelivery
  private let commandQueue: CommandQueue
  /// Receives the counters before each delivery.
  private let report: (LiveCounters) -> Void
  /// Runs catch-ups that take too long for this thread.
  private let background: BackgroundCatchUps
  /// The pause before the store is read again after a failure.
  private static let retryDelay = Duration.milliseconds(50)

  private var queries: LiveQueries
  private var groups = LiveGroups()
  private var slowCallers: SlowCallerEngines
  /// True if the store may have changed since it was last read.
  private var isStale = true
  private var retry: ContinuousClock.Instant?
  private var nextSweep: ContinuousClock.Instant
  private var isDraining = false
  /// The retention demand last sent to the store.
  private var demand = RetentionDemand.nothing

  init(
    _ store: any LiveStore, _ configuration: LiveConfiguration, _ delivery: any LiveDelivery,
    _ commandQueue: CommandQueue, _ memory: LiveMemory, _ level: EngineLevel,
    forSlowCallers makeEngine: @escaping () -> LiveEngine?,
    report: @escaping (LiveCounters) -> Void
  ) {
    self.store = store
    self.configuration = configuration
    self.delivery = delivery
    self.commandQueue = commandQueue
    self.report = report
    background = BackgroundCatchUps(store, commandQueue)
    queries = LiveQueries(
      model: store.model, columns: store.columns, configuration: configuration,
      callerTimes: level.callerTimes(configuration), memory: memory)
    slowCallers = SlowCallerEngines(limit: level.next?.engineLimit ?? 0, makeEngine)
    nextSweep = .now + configuration.idleTime
  }

  /// Executes commands until the engine is stopped.
  func run() {
    while true {
      let batch = commandQueue.take(until: wakeTime())
      let start = DispatchTime.now().uptimeNanoseconds
      if batch.isStopped {
        send(.nothing)
        for drain in batch.drains { drain.signal() }
        slowCallers.stop()
        return background.close()
      }
      // Prevent pruning of history that is about to be read.
      if demand == .nothing, !batch.commands.isEmpty { send(.new) }
      handle(batch)
      answer()
      moveSlowCallers()
      queries.counters.nanoseconds += DispatchTime.now().uptimeNanoseconds - start
      queries.counters.current = queries.hasActiveQueries ? queries.current : nil
      report(queries.counters)
      if !batch.drains.isEmpty { slowCallers.drain() }
      for drain in batch.drains { drain.signal() }
    }
  }

  /// Sends the retention demand to the store if it changed.
  private func send(_ demand: RetentionDemand) {
    guard demand != self.demand else { return }
    self.demand = demand
    store.demand(demand, of: ObjectIdentifier(commandQueue))
  }

  /// Delivers the available answers.
  private func answer() {
    answerClients(&queries)
    answerGroups()
  }

  private func wakeTime() -> ContinuousClock.Instant? {
    let sweep = queries.queries.isEmpty ? nil : nextSweep
    return [queries.deadlines.next, retry, sweep].compactMap { $0 }.min()
  }

  private func handle(_ batch: CommandBatch) {
    let now = ContinuousClock.now
    if batch.storeDidChange || batch.mustAnswer(now) && isBehind { isStale = true }
    queries.isEnding = commandQueue.isEnding
    let unserved = serveFromMemory(slowCallers.passOn(batch, now: now), now)
    let finished = batch.finished.filter(queries.isAwaited)
    if isStale && queries.hasActiveQueries || !unserved.isEmpty || !finished.isEmpty {
      serveFromStore(unserved, finished, now: now)
    }
    background.run(queries.takeNewJobs())
    // Another engine of the store may need the memory.
    queries.dropUnused(now: now)
    if !batch.drains.isEmpty { isDraining = true }
    if isDraining {
      queries.endCatchUps()
      queries.expireAll()
    } else {
      queries.expire(now)
    }
    if now >= nextSweep {
      queries.dropIdle(unusedSince: now - configuration.idleTime)
      queries.callerTimes.sweep(now)
      slowCallers.sweep(now)
      nextSweep = now + configuration.idleTime / 2
    }
  }

  /// True if this process has read a newer state than the queries have.
  private var isBehind: Bool {
    guard let current = queries.current else { return false }
    let newest = store.newestToken
    return newest.epoch == current.epoch && newest.position > current.position
  }

  /// Executes the commands that need no read of the store, and returns the others.
  private func serveFromMemory(
    _ commands: [CommandBatch.Command], _ now: ContinuousClock.Instant
  ) -> [FollowRequest] {
    var unserved: [FollowRequest] = []
    for command in commands {
      switch command {
      case .cancel(let waiter):
        queries.cancel(ObjectIdentifier(waiter))
        unserved.removeAll { $0.waiter === waiter }
        cancel(groups.remove(waiter), &unserved)
      case .follow(let request):
        // It may have been put back before its group was put back.
        if let member = request.waiter.groupMember, member.state != .requested { continue }
        queries.callerTimes.note(request.caller, now: now)
        if isStale || !queries.followFromMemory(request, now: now) {
          unserved.append(request)
        }
      case .endWait(let waiter): groups.endWait(of: waiter)
      case .endCatchUps(let waiter): cancel(groups.endCatchUps(of: waiter), &unserved)
      case .followGroup(let group):
        queries.callerTimes.note(group.caller, now: now)
        for request in groups.follow(group)
        where isStale || !queries.followFromMemory(request, now: now) {
          unserved.append(request)
        }
      case .adoptGroup(let group): unserved += groups.adopt(group)
      }
      if queries.mustDeliver { answerClients(&queries) }
    }
    return unserved
  }

  private func cancel(_ members: [GroupMember], _ unserved: inout [FollowRequest]) {
    guard !members.isEmpty else { return }
    let gone = Set(members.map { ObjectIdentifier($0) })
    queries.cancel(gone)
    unserved.removeAll { gone.contains(ObjectIdentifier($0.waiter)) }
  }

  /// Passes the callers whose time is used up to further engines.
  private func moveSlowCallers() {
    let (callers, requests) = queries.takeSlowCallers()
    guard !callers.isEmpty else { return }
    let moved = groups.take(of: callers)
    if !slowCallers.add(callers, requests, moved, now: .now) {
      queries.callerTimes.disable()
      commandQueue.putBack(requests, moved)
    }
    send(queries.neededHistory)
  }

  private func serveFromStore(
    _ requests: [FollowRequest], _ finished: [FinishedCatchUp], now: ContinuousClock.Instant
  ) {
    let isOverdue = { @Sendable [commandQueue] in commandQueue.isOverdue }
    var needsNewerState = false
    do throws(StoreError) {
      try store.read(cancelledWhen: isOverdue) { transaction throws(StoreError) in
        let context = CatchUpContext(transaction)
        groups.maxBytes = transaction.maxResponseBytes
        do throws(StoreError) {
          try queries.catchUp(context, isEnding: commandQueue.isEnding) { answerClients(&$0) }
        } catch {
          needsNewerState = error == .busy
          throw error
        }
        isStale = false
        retry = nil
        if !queries.undelivered.isEmpty { answerClients(&queries) }
        complete(finished, context, now: now)
        serve(requests, context, now: now)
        // The snapshot is durable, so answers may leave before the transaction ends.
        if !isDraining { answer() }
      }
    } catch {
      if needsNewerState, !commandQueue.isEnding {
        putBack(requests, finished)
      } else {
        let error = commandQueue.isEnding && error == .queryTimeout ? .busy : error
        for request in requests { queries.send(.failed(error), to: request.waiter) }
        for catchUp in finished { queries.failCatchUp(catchUp.job.key, error) }
      }
      isStale = true
      retry = queries.hasActiveQueries ? now + Self.retryDelay : nil
    }
  }

  /// Returns requests and finished catch-ups to the queue, because the changes could only be read in a
  /// newer state than the transaction had. Those that have waited too long get ``StoreError/busy``.
  private func putBack(_ requests: [FollowRequest], _ finished: [FinishedCatchUp]) {
    let earliest = ContinuousClock.now - configuration.maxDelay
    var later: [FollowRequest] = []
    for request in requests {
      if let deadline = request.deadline, deadline < earliest {
        queries.send(.failed(.busy), to: request.waiter)
      } else {
        later.append(request)
      }
    }
    for catchUp in finished where catchUp.job.isLate {
      queries.failCatchUp(catchUp.job.key, .busy)
    }
    let awaited = finished.filter { !$0.job.isLate && queries.isAwaited($0) }
    CatchUpJob.pause()
    if !later.isEmpty { commandQueue.putBack(later) }
    if !awaited.isEmpty { commandQueue.update { $0.finished += awaited } }
  }

  private func complete(
    _ finished: [FinishedCatchUp], _ context: CatchUpContext,
    now: ContinuousClock.Instant
  ) {
    guard !finished.isEmpty else { return }
    queries.prepare(finished, context)
    let latest = ContinuousClock.now + configuration.longTimeLimit
    for catchUp in finished {
      queries.complete(catchUp, context, now: now, until: latest)
      if queries.mustDeliver { answerClients(&queries) }
    }
  }

  /// Serves as many requests as the time limit allows and returns the others to the queue.
  private func serve(
    _ requests: [FollowRequest], _ context: CatchUpContext, now: ContinuousClock.Instant
  ) {
    var later = queries.returned
    queries.returned = []
    let groupsEnd = ContinuousClock.now + configuration.longTimeLimit * 2
    queries.prepare(requests, context)
    // Serve at least one request, however long the steps before took.
    let end = ContinuousClock.now + configuration.longTimeLimit
    var isFirst = true
    for request in requests.sortedByToken {
      if let member = request.waiter.groupMember, member.group.isFull {
        groups.expire(member)
        continue
      }
      if isFirst || ContinuousClock.now < (request.needsConsistentSnapshot ? groupsEnd : end) {
        isFirst = false
        queries.follow(request, context, now: now)
        if queries.mustDeliver { answerClients(&queries) }
      } else if let member = request.waiter.groupMember {
        groups.postpone(member)
      } else if queries.isEnding {
        queries.send(.failed(.busy), to: request.waiter)
      } else {
        later.append(request)
      }
    }
    if !later.isEmpty { commandQueue.putBack(later) }
  }

  /// Delivers the pending answers; those of groups' members are stored in their groups.
  private func answerClients(_ queries: inout LiveQueries) {
    send(queries.neededHistory)
    queries.counters.queries = queries.queries.count
    queries.counters.bytes = queries.byteCount
    queries.counters.waiters =
      queries.waiterCount + queries.pendingCatchUps.reduce(0) { $0 + $1.value.all.count }
    report(queries.counters)
    for outgoing in queries.takeUndelivered() {
      let waiters = groups.collect(outgoing)
      if !waiters.isEmpty { delivery.deliver(outgoing.answer, to: waiters) }
    }
    queries.removeAnswered()
  }

  private func answerGroups() {
    var later = groups.takePostponed(isEnding: isDraining || queries.isEnding)
    if !isDraining { later += groups.takeRepeated() }
    if !later.isEmpty { commandQueue.putBack(later) }
    let token = queries.current
    for answer in groups.takeAnswers(isDraining: isDraining) {
      delivery.deliver(answer.results, at: token, to: answer.waiter)
    }
  }
}

extension LiveQueries {
  fileprivate var neededHistory: RetentionDemand {
    guard hasActiveQueries else { return .nothing }
    return current.map { .after($0.position) } ?? .new
  }
}

extension [FollowRequest] {
  /// Sorted by token, so that the store materialises each past snapshot once. Groups have more time
  /// and come last.
  fileprivate var sortedByToken: [FollowRequest] {
    guard count > 1 else { return self }
    let place = { (request: FollowRequest) in
      (request.needsConsistentSnapshot ? 1 : 0, request.since.start.position)
    }
    return sorted { place($0) < place($1) }
  }
}
