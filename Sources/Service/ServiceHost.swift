// A store whose model may change while clients are connected → one service after the other, behind
// one handler.
//
// Promises: each service knows one model: plans, live fetches and cached snapshots belong to it. When the
// schema changes, the service ends and refuses its waiting requests, the store is opened again with a
// new epoch, and a new service takes its place. Requests that arrive meanwhile wait for it.

import FetchModel
import LiveFetchCLibrary
import LiveFetchHTTPServer
import LiveFetchThreads
import Synchronization

/// Serves a store, and opens it again when its schema has changed.
public final class ServiceHost: HTTPHandler {
  /// An event for a log.
  public enum Event: Sendable {
    case reopened
    /// Opening the store failed; it is repeated until it succeeds.
    case cannotReopen(StoreError)
  }

  /// Opens a store again after its schema changed or it failed.
  public typealias Opening = @Sendable () throws(StoreError) -> any ReopenableStore

  /// The settings of a service, and how to open its store.
  private final class Setup: Sendable {
    let configuration: ServiceConfiguration
    let authenticator: Authenticator
    let corsOrigins: CORSOrigins
    /// What the access rules read in the first service with these settings.
    let meanings = RuleMeanings()
    let open: Opening

    init(
      _ configuration: ServiceConfiguration, _ authenticator: Authenticator,
      _ open: @escaping Opening
    ) {
      self.configuration = configuration
      self.authenticator = authenticator
      corsOrigins = CORSOrigins(configuration.corsOrigins)
      self.open = open
    }
  }

  private struct Served {
    let store: any ReopenableStore
    let service: Service
    let setup: Setup
  }

  private struct Waiting {
    let request: HTTPRequest
    let exchange: HTTPExchange
    var attempt = 0
  }

  private struct State {
    /// The settings from which the next service is made.
    var setup: Setup
    /// nil while the store is being opened again.
    var served: Served?
    /// Requests to handle when it is open, and failed ones that are handled again soon.
    var waiting: [Waiting] = []
    /// The reason why the file cannot be opened again; nil if it is unknown.
    var fault: StoreFault?
    /// True if opening has failed for so long that requests are refused.
    var isDown = false
    var isDraining = false

    /// The refusal of requests while the store is closed; nil if they wait for it.
    var refusal: Problem? {
      if let fault { return Problem(StoreError.storageFailed(fault.detail)) }
      return isDown ? Problem(StoreError.busy) : nil
    }
  }

  /// The duration of attempts to open the store after which waiting requests are refused.
  private static let longestWait = Duration.seconds(5)
  /// Seconds until a request that failed because of the schema is handled again.
  private static let retryDelay = 0.1
  /// Microseconds between two attempts until requests are refused. Then the pause doubles, because an
  /// attempt may delay writers of the database.
  private static let pause: UInt32 = 100_000
  private static let longestPause: UInt32 = 5_000_000

  private let onEvent: @Sendable (Event) -> Void
  /// The metrics of all its services.
  public let metrics: ServiceMetrics
  // Protects the state; never held while a service or a store is called.
  private let state: Mutex<State>

  /// Serves `store`.
  ///
  /// - Parameters:
  ///   - open: opens it again after it was closed.
  ///   - onEvent: called on a thread of the host.
  public init(
    _ store: any ReopenableStore, configuration: ServiceConfiguration = .init(),
    onEvent: @escaping @Sendable (Event) -> Void = { _ in }, open: @escaping Opening
  ) throws(HTTPServerError) {
    let setup = Setup(configuration, Authenticator(configuration), open)
    state = Mutex(State(setup: setup))
    metrics = configuration.metrics
    self.onEvent = onEvent
    begin(try served(store, setup))
  }

  /// The model of the store; nil while it is being opened again.
  public var model: Model? { state.withLock { $0.served }?.store.model }

  /// True if the access rules mean something else since the tables changed; ``reload(_:open:)`` accepts
  /// that.
  public var hasChangedRules: Bool { service?.accessFault == StoreFault.changedRules }

  /// nil while the store is being opened again.
  private var service: Service? { state.withLock { $0.served?.service } }

  public func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
    enum Outcome {
      case served(Service)
      case waits
      case response(HTTPResponse)
      case metrics(Setup)
    }
    if let service { return service.handle(request, exchange) }
    let route = Health.route(of: request)
    let outcome: Outcome = state.withLock { state in
      if let served = state.served { return .served(served.service) }
      if let response = Health.response(to: route, isDraining: state.isDraining, state.fault) {
        return .response(response)
      }
      if state.isDraining { return .response(Problem.shuttingDown.response) }
      if case .metrics? = route { return .metrics(state.setup) }
      if let refusal = state.refusal { return .response(refusal.response) }
      state.waiting.append(Waiting(request: request, exchange: exchange))
      return .waits
    }
    switch outcome {
    case .served(let service): service.handle(request, exchange)
    case .waits: break
    case .response(let response): respond(response, to: request, exchange)
    case .metrics(let setup): respond(metricsResponse(to: request, setup), to: request, exchange)
    }
  }

  private func respond(
    _ response: HTTPResponse, to request: HTTPRequest, _ exchange: HTTPExchange
  ) {
    var response = response
    response.headers += commonHeaders(origin: request.header("Origin"))
    exchange.respond(response)
  }

  private func refuse(_ waiting: Waiting, _ problem: Problem) {
    respond(problem.response, to: waiting.request, waiting.exchange)
  }

  /// The metrics while no store is open, for a caller who may read them.
  private func metricsResponse(to request: HTTPRequest, _ setup: Setup) -> HTTPResponse {
    guard case .caller(let caller) = setup.authenticator.authenticate(request),
      caller.scopes.contains(.admin)
    else { return Problem(StoreError.busy).response }
    return Health.metrics(metrics.families + ProcessMetrics.families, isReady: false)
  }

  public func refusal(
    of head: HTTPRequest, attach: (any ExchangeAttachment) -> Void
  ) -> HTTPResponse? {
    service?.refusal(of: head, attach: attach)
  }

  public func commonHeaders(origin: String?) -> [(name: String, value: String)] {
    let (service, setup) = state.withLock { ($0.served?.service, $0.setup) }
    let token = service.map { [$0.tokenHeader(nil, $0.tokenTag(of: nil))] } ?? []
    return token + [Service.noSniff] + setup.corsOrigins.headers(forOrigin: origin)
  }

  public func didBeginResponse(tag: UInt8, status: Int, nanosecondsSinceRequest: UInt64) {
    metrics.count(tag, status: status, nanoseconds: nanosecondsSinceRequest)
  }

  public func completed(_ completion: HTTPCompletion) {
    state.withLock { $0.setup }.configuration.requestLogger?
      .info("request", metadata: RequestTracker.metadata(completion))
  }

  /// Responds to every waiting request and takes no more work; see ``Service/drain(within:)``.
  public func drain(within seconds: Double = 20) {
    let (served, waiting) = state.withLock { state in
      state.isDraining = true
      defer { state.waiting = [] }
      return (state.served, state.waiting)
    }
    for waiting in waiting { refuse(waiting, .shuttingDown) }
    served?.service.drain(within: seconds)
  }

  /// Waits until the streams have sent their last events, for at most `seconds`.
  public func awaitStreams(seconds: Double) {
    let end = ContinuousClock.now + .seconds(seconds)
    while metrics.openStreams.value > 0, ContinuousClock.now < end { usleep(2_000) }
  }

  /// Closes the store; call it after ``drain(within:)``.
  public func close() {
    let served = state.withLock { state in
      defer { state.served = nil }
      return state.served
    }
    served?.store.close()
  }
}

// MARK: - Other settings

extension ServiceHost {
  /// Applies other settings: a new service replaces the current one, as after a change of the schema.
  /// Long-polls and streams end as when the server ends, and their clients continue from their tokens.
  ///
  /// - Parameters:
  ///   - configuration: the new settings. The host keeps its metrics, and the accounts of quotas whose
  ///     limits are the same.
  ///   - open: opens the store again.
  public func reload(_ configuration: ServiceConfiguration, open: @escaping Opening) {
    var configuration = configuration
    configuration.metrics = metrics
    let old: Served? = state.withLock { state in
      let before = state.setup
      configuration.readinessLog = before.configuration.readinessLog
      if let quotas = before.configuration.quotas, quotas.limits == configuration.quotas?.limits {
        configuration.quotas = quotas
      }
      state.setup = Setup(
        configuration, Authenticator(configuration, after: before.authenticator), open)
      return state.served
    }
    // While the store is being opened, `begin` finds the new settings.
    if let old { replace(old, .shuttingDown, isReload: true) }
  }
}

// MARK: - Opening again

extension ServiceHost {
  /// Serves an opened store, to waiting requests first.
  private func begin(_ served: Served) {
    let (waiting, isLate) = state.withLock { state in
      if !state.isDraining { state.served = served }
      state.isDown = false
      state.fault = nil
      defer { state.waiting = [] }
      return (state.waiting, state.isDraining)
    }
    guard !isLate else { return served.store.close() }
    metrics.observe(served.store.newestToken)
    serve(waiting, served.service)
    // Called at once if the store is outdated already. The store retains the closure, so that the closure
    // must not retain the store and its service.
    served.store.onOutdated { [weak self, weak service = served.service] reason in
      startThread { [self, service] in
        guard let self, let old = state.withLock({ $0.served }), old.service === service else {
          return
        }
        replace(old, reason.problem, reason.fault)
      }
    }
    if state.withLock({ $0.setup }) !== served.setup {
      replace(served, .shuttingDown, isReload: true)
    }
  }

  /// Ends a service, opens its store again and serves it.
  ///
  /// - Parameters:
  ///   - problem: the refusal of requests that wait.
  ///   - fault: the reason why the store may not be opened again.
  ///   - isReload: true if the settings have changed, not the store.
  private func replace(
    _ old: Served, _ problem: Problem, _ fault: StoreFault? = nil, isReload: Bool = false
  ) {
    let isCurrent = state.withLock { state in
      guard state.served?.service === old.service, !state.isDraining else { return false }
      state.served = nil
      state.fault = fault
      return true
    }
    guard isCurrent else { return }
    old.service.endForReplacement(problem)
    old.store.close()
    let start = ContinuousClock.now
    var pause = Self.pause
    while !state.withLock({ $0.isDraining }) {
      do throws(StoreError) {
        begin(try reopen())
        if !isReload { onEvent(.reopened) }
        return
      } catch {
        if pause > Self.pause {
          pause = min(pause * 2, Self.longestPause)
        } else if ContinuousClock.now - start > Self.longestWait {
          onEvent(.cannotReopen(error))
          logFault()
          refuseWaiting()
          pause *= 2
        }
      }
      sleep(microseconds: pause)
    }
  }

  /// Sleeps until the time is over or the host is drained.
  private func sleep(microseconds: UInt32) {
    for _ in 0..<microseconds / Self.pause where !state.withLock({ $0.isDraining }) {
      usleep(Self.pause)
    }
  }

  private func reopen() throws(StoreError) -> Served {
    let setup = state.withLock { $0.setup }
    let store = try setup.open()
    do {
      return try served(store, setup)
    } catch {
      store.close()
      throw .failed("the system cannot create another thread")
    }
  }

  /// Logs that the server is not ready. The next service logs when it is.
  private func logFault() {
    let (configuration, fault) = state.withLock { ($0.setup.configuration, $0.fault) }
    configuration.readinessLog.record([fault ?? Health.reopening], configuration.errorLogger)
  }

  private func refuseWaiting() {
    let (waiting, refusal) = state.withLock { state in
      state.isDown = true
      defer { state.waiting = [] }
      return (state.waiting, state.refusal ?? Problem(StoreError.busy))
    }
    for waiting in waiting { refuse(waiting, refusal) }
  }

  private func served(
    _ store: any ReopenableStore, _ setup: Setup
  ) throws(HTTPServerError) -> Served {
    let service = try Service(store, setup.configuration, setup.authenticator, setup.meanings) {
      [weak self] request, exchange, attempt in
      let waiting = Waiting(request: request, exchange: exchange, attempt: attempt)
      guard let self else { return exchange.respond(Problem.shuttingDown.response) }
      retry(waiting)
    }
    return Served(store: store, service: service, setup: setup)
  }
}

extension OutdatedReason {
  /// The refusal of requests that wait when the store is opened again.
  fileprivate var problem: Problem {
    switch self {
    case .schemaChanged: Problem(StoreError.schemaChanged(entity: ""))
    case .fileReplaced, .fileTruncated: .tokenExpired
    }
  }

  /// The fault that prevents the store from being opened again.
  fileprivate var fault: StoreFault? {
    guard self == .fileTruncated else { return nil }
    return StoreFault("file-truncated", "The database file was cut short.")
  }
}

// MARK: - Requests that failed because of the schema

extension ServiceHost {
  /// Handles the request again soon: by then the change of the schema has been noticed.
  private func retry(_ waiting: Waiting) {
    enum Turn {
      case waits(Service?)
      case refused
    }
    let turn: Turn = state.withLock { state in
      if state.isDraining || state.isDown { return .refused }
      state.waiting.append(waiting)
      return .waits(state.served?.service)
    }
    switch turn {
    case .refused: refuse(waiting, Problem(StoreError.busy))
    case .waits(nil): break
    case .waits(let service?):
      service.deadlines.schedule(after: Self.retryDelay) { [weak self] in self?.serveWaiting() }
    }
  }

  private func serveWaiting() {
    let (service, waiting) = state.withLock { state -> (Service?, [Waiting]) in
      guard let served = state.served else { return (nil, []) }
      defer { state.waiting = [] }
      return (served.service, state.waiting)
    }
    if let service { serve(waiting, service) }
  }

  private func serve(_ waiting: [Waiting], _ service: Service) {
    for waiting in waiting {
      service.handle(waiting.request, waiting.exchange, attempt: waiting.attempt)
    }
  }
}
