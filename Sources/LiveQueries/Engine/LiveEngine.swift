// The live engine's interface: commands and commit notifications enter on any thread, answers leave
// by the delivery on the engine's own thread.
//
// An answer contains every save that the engine was notified of before it.

import Dispatch
import FetchModel
import LiveFetchThreads
import Synchronization

/// Follows a store for clients that wait for changes of their fetches.
public final class LiveEngine: Sendable {
  private let commandQueue = CommandQueue()
  private let metrics = Mutex(LiveCounters())
  private let hasThread = Atomic(false)
  /// The engines of its slow callers; see ``SlowCallerEngines``.
  private let nextEngines = Mutex<[LiveEngine]>([])

  /// Starts the engine's thread. It ends with ``stop()`` or when the engine is released.
  public convenience init(
    store: any LiveStore, configuration: LiveConfiguration = .init(), delivery: any LiveDelivery
  ) {
    self.init(store, configuration, delivery, LiveMemory(), .first)
  }

  private init(
    _ store: any LiveStore, _ configuration: LiveConfiguration, _ delivery: any LiveDelivery,
    _ memory: LiveMemory, _ level: EngineLevel
  ) {
    let makeEngine = { @Sendable [weak self] () -> LiveEngine? in
      guard let self, let next = level.next else { return nil }
      let engine = LiveEngine(store, configuration, delivery, memory, next)
      guard engine.isStarted else { return nil }
      nextEngines.withLock { $0.append(engine) }
      return engine
    }
    let report = { @Sendable [weak self] (counters: LiveCounters) in
      self?.metrics.withLock { $0 = counters } ?? ()
    }
    let commandQueue = commandQueue
    let isStarted = startThread(
      name: level.threadName, isInBackground: level != .first, mayTakeLong: true
    ) {
      EngineThread(
        store, configuration, delivery, commandQueue, memory, level, forSlowCallers: makeEngine,
        report: report
      ).run()
    }
    hasThread.store(isStarted, ordering: .relaxed)
  }

  /// False if the system had no thread left when the engine was created. It then answers nobody.
  public var isStarted: Bool { hasThread.load(ordering: .relaxed) }

  deinit { stop() }

  /// Notifies the engine that the store may have changed. O(1); call it after a commit and before
  /// its answer, and when a commit of another process is noticed.
  public func storeDidChange() { commandQueue.update { $0.storeDidChange = true } }

  /// Answers `waiter` with the diff of `plan` from `since` as soon as there is one.
  ///
  /// - Parameters:
  ///   - object: the only object that is followed; nil for the whole fetch. The diff is then the change
  ///     or the deletion of this object, and the predicate of `plan` is `SELF` or matches every object.
  ///   - deadline: when to answer with an empty diff; nil for no limit.
  ///   - caller: the name of the caller. Slow fetches of different callers take turns.
  public func follow(
    _ plan: FetchPlan, object: ObjectID? = nil, since: LiveStart,
    until deadline: ContinuousClock.Instant?, for caller: String = "", _ waiter: any LiveWaiter
  ) {
    let request = FollowRequest(
      plan: plan, only: object, since: since, deadline: deadline, waiter: waiter, caller: caller)
    commandQueue.update { $0.commands.append(.follow(request)) }
  }

  /// Answers `waiter` with all changes of a group of fetches, at one token, as soon as there are
  /// any.
  ///
  /// After an answer the waiter gets nothing until this is called again, with new fetches only: the
  /// others continue from their last answer. A fetch that was answered ``LiveAnswer/expired`` or
  /// ``LiveAnswer/failed(_:)`` is removed. While one of the fetches is read in the background, the
  /// answer waits for it, until ``endCatchUps(of:)`` is called.
  ///
  /// - Parameters:
  ///   - mustAnswer: true to answer at once, even without changes.
  ///   - caller: the name of the caller. Slow fetches of different callers take turns.
  public func follow(
    _ fetches: [GroupFetch], mustAnswer: Bool, for caller: String = "", _ waiter: any GroupWaiter
  ) {
    let command = GroupCommand(
      fetches: fetches, mustAnswer: mustAnswer, caller: caller, waiter: waiter)
    commandQueue.update { $0.commands.append(.followGroup(command)) }
  }

  /// Answers a group that waits, also without changes. Has no effect if an answer is already being
  /// delivered: the client is not up to date with a later token then.
  public func endWait(of waiter: any GroupWaiter) {
    commandQueue.update { $0.commands.append(.endWait(waiter)) }
  }

  /// Ends the catch-ups of a group's fetches that are not up to date yet. They are answered
  /// ``LiveAnswer/failed(_:)`` with ``StoreError/queryTimeout``, with the results of the other fetches,
  /// also if these have no changes. Has no effect on a group whose fetches are all up to date.
  public func endCatchUps(of waiter: any GroupWaiter) {
    commandQueue.update { $0.commands.append(.endCatchUps(waiter)) }
  }

  /// Removes `waiter` without an answer, unless one is already being delivered.
  public func cancel(_ waiter: any LiveWaiter) {
    commandQueue.update { $0.commands.append(.cancel(waiter)) }
  }

  /// Answers every waiter, and every later one, with an empty diff. Returns when the answers were
  /// delivered.
  public func drain() {
    guard isStarted else { return }
    beginDrain().wait()
  }

  /// Begins to drain the engine. The semaphore is signaled when the answers were delivered.
  func beginDrain() -> DispatchSemaphore {
    let done = DispatchSemaphore(value: 0)
    commandQueue.end { $0.drains.append(done) }
    return done
  }

  /// Ends the engine's thread; waiters are not answered any more.
  public func stop() { commandQueue.end { $0.isStopped = true } }

  /// Adds commands of another engine's callers.
  func execute(_ commands: [CommandBatch.Command]) {
    commandQueue.update { $0.commands += commands }
  }

  /// The engine's counters.
  public var counters: LiveCounters {
    let counters = metrics.withLock { $0 }
    return nextEngines.withLock { $0 }.reduce(counters) { $0 + $1.counters }
  }
}
