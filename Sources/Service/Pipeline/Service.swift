// A store → an HTTP handler.
//
// `Service+Pipeline` handles every request. The neighbouring folders contain the stages `parse`, `plan`,
// `query` and `respond` of each kind of request.

import FetchModel
import LiveFetchHTTPServer
import LiveFetchThreads
import LiveQueries
import RequestPlans
import Synchronization

/// Serves a store over HTTP.
///
/// A service uses only the protocol ``Store``, so it can serve any store.
public final class Service: HTTPHandler {
  let store: any Store
  let configuration: ServiceConfiguration
  let authenticator: Authenticator
  /// nil if the store has no access rules, or none that fit it.
  let accessRules: CallerAccessCache?
  /// The reason why only the server token is served: rules that do not fit the model, or that
  /// mean something else since the tables changed. nil if there is none.
  let accessFault: StoreFault?
  let credentialWatch = CredentialWatch()
  let corsOrigins: CORSOrigins
  let pools: RequestPools
  let deadlines: Deadlines
  let cache: SnapshotCache
  let planCache: PlanCache
  let resolver: FetchResolver
  /// The tag of the tokens of callers without rules.
  let settingsTag: UInt32?
  let saveResolver: SaveResolver
  let engine: LiveEngine
  let history: HistoryFeed
  let inFlightSaves = InFlightSaves()
  let files: StaticFiles?
  /// The document of the whole model while requests need no credential (false), and since they do (true),
  /// as after the first API key.
  let openAPIDocuments = BoundedCache<Bool, [UInt8]>()
  /// True if requests are logged or charged to quotas.
  let tracksRequests: Bool
  /// True if every change of the store changes its token.
  let isWhollyTracked: Bool
  /// Handles a request in the service that replaces this one.
  typealias Retry =
    @Sendable (_ request: HTTPRequest, _ exchange: HTTPExchange, _ attempt: Int) -> Void
  /// nil if no service ever replaces this one.
  let retry: Retry?
  private let draining = Atomic(false)
  /// True if a check of the readiness for the log will be made soon.
  let isCheckDue = Atomic(false)
  // Protects the problem that ends waiting requests once another service replaces this one.
  private let replacement = Mutex<Problem?>(nil)

  /// - Throws: ``HTTPServerError/cannotStart`` if the system has no thread left.
  public convenience init(
    store: some Store, configuration: ServiceConfiguration = .init()
  ) throws(HTTPServerError) {
    try self.init(store, configuration, Authenticator(configuration), retry: nil)
  }

  init(
    _ store: some Store, _ configuration: ServiceConfiguration, _ authenticator: Authenticator,
    _ meanings: RuleMeanings = RuleMeanings(), retry: Retry?
  ) throws(HTTPServerError) {
    self.store = store
    self.configuration = configuration
    self.retry = retry
    self.authenticator = authenticator
    authenticator.readKeys(of: store)
    do throws(ModelFileError) {
      let rules = try AccessRules(configuration.access, of: store.model)
      let changed = meanings.changes(in: rules?.meanings ?? [:])
      if !changed.isEmpty {
        configuration.errorLogger.error(
          "The access rules read other tables or columns since the tables changed: \(changed.joined(separator: ", ")). Until SIGHUP or a restart only the server token is served."
        )
      }
      accessRules = changed.isEmpty ? rules.map { CallerAccessCache($0) } : nil
      accessFault = changed.isEmpty ? nil : StoreFault.changedRules
    } catch {
      configuration.errorLogger.error("The access rules do not fit the tables: \(error)")
      (accessRules, accessFault) = (nil, .unfitRules)
    }
    corsOrigins = CORSOrigins(configuration.corsOrigins)
    deadlines = try Deadlines()
    pools = RequestPools(configuration, connections: store.properties.connections, deadlines)
    cache = SnapshotCache(maxBytes: configuration.cacheBytes)
    resolver = FetchResolver(model: store.model, maxItems: configuration.maxItems)
    settingsTag = Self.settingsTag(
      maxItems: configuration.maxItems, hasAccessRules: accessRules != nil || accessFault != nil)
    planCache = PlanCache(resolver: resolver)
    saveResolver = SaveResolver(model: store.model)
    var live = configuration.engine
    live.maxDelay = .seconds(configuration.queryTimeout)
    live.idleTime = .seconds(configuration.idleSeconds)
    engine = LiveEngine(store: store, configuration: live, delivery: DiffDelivery(pools: pools))
    guard engine.isStarted else { throw .cannotStart }
    history = HistoryFeed(pool: pools.history)
    files = configuration.publicDirectory.flatMap {
      StaticFiles(directory: $0, hiding: configuration.ownFiles)
    }
    tracksRequests = configuration.requestLogger != nil || configuration.quotas != nil
    isWhollyTracked =
      !store.properties.isReadOnly
      && store.model.entities.allSatisfy { entity in
        entity.isObservable && entity.relationships.allSatisfy { $0.unrecordedTable == nil }
      }
    // The engine's thread retains the store, so the store must not retain the engine.
    store.onChange { [weak engine, weak history] in
      engine?.storeDidChange()
      history?.storeDidChange()
    }
    authenticator.jwt?.refreshIfDue()
    scheduleKeyRefresh()
    if configuration.readinessLog.isUnready { checkReadiness(after: 0.25) }
  }
}

// MARK: - The end of a service

extension Service {
  /// Ends because another service replaces this one. Refuses every waiting request with `problem`.
  func endForReplacement(_ problem: Problem) {
    replacement.withLock { $0 = problem }
    drain { inFlightSaves in
      // Closing the store completes the saves that still wait.
      _ = inFlightSaves.wait(seconds: 10)
    }
  }

  /// Responds to every waiting request and takes no more work. Returns within about `seconds`.
  ///
  /// For a quarter of the time, waiting saves are executed; then those that have not begun are
  /// refused. After another quarter the save that runs is rolled back and refused.
  public func drain(within seconds: Double = 20) {
    drain { [store] inFlightSaves in
      if inFlightSaves.wait(seconds: seconds / 4) { return }
      store.endSaves(cancellingRunning: false)
      if inFlightSaves.wait(seconds: seconds / 4) { return }
      store.endSaves(cancellingRunning: true)
      _ = inFlightSaves.wait(seconds: seconds / 8)
    }
  }

  private func drain(_ awaitSaves: (InFlightSaves) -> Void) {
    draining.store(true, ordering: .sequentiallyConsistent)
    pools.closeQueries()
    inFlightSaves.close()
    awaitSaves(inFlightSaves)
    engine.drain()
    history.storeDidChange()
    pools.closeResponses()
    deadlines.stop()
  }

  var isDraining: Bool { draining.load(ordering: .relaxed) }

  /// The problem that ends waiting requests once another service replaces this one.
  var replacementProblem: Problem? { isDraining ? replacement.withLock { $0 } : nil }

  /// The problem that ends long-polls without changes once another service replaces this one. If only
  /// the settings have changed, they end with an empty diff, as when the server ends.
  var pollProblem: Problem? {
    replacementProblem.flatMap { $0.code == Problem.shuttingDown.code ? nil : $0 }
  }

  /// The problem that ends streams; nil while the service runs.
  var endProblem: Problem? { isDraining ? replacementProblem ?? .shuttingDown : nil }

  /// True if the server stops and no other service replaces this one.
  var isStopping: Bool { isDraining && replacementProblem == nil }
}
