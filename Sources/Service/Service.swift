// The way of a request: route → handler → store or engine → answer. Handlers are in `Service+…`.

import FetchModel
import HTTPServer
import LiveQueries
import Synchronization
import Threads

/// Serves a store over HTTP.
///
/// A service knows its store by protocol alone: anyone's own ``Store`` can be served.
public final class Service: HTTPHandler {
  let store: any Store
  let configuration: ServiceConfiguration
  let engine: LiveEngine
  let cache: SnapshotCache
  let lanes: QueryLanes
  /// Where requests with large bodies are parsed.
  let bodyLane = ThreadPool(threads: 2, queue: 1_024)
  /// Where answers to saves are made, away from the thread that writes.
  let repliers = ThreadPool(threads: 2, queue: .max)
  let resolver: FetchResolver
  let forms: PlanCache
  let saveResolver: SaveResolver
  let files: StaticFiles?
  let deadlines: Deadlines
  let corsOrigins: CORSOrigins
  let authenticator: Authenticator
  let credentialWatch = CredentialWatch()
  /// Where the API keys are read.
  let credentialLane = ThreadPool(name: "livefetch-keys", threads: 1, queue: 1)

  let feed = ChangeFeed()
  let savesUnderWay = InFlightSaves()
  let openAPI: OpenAPIBytes
  /// Whether the store's token changes with whatever is saved.
  let isWhollyTracked: Bool
  private let deliveries: Deliveries
  private let draining = Atomic(false)
  /// Handles a request again when the store was opened again; nil where nobody opens it again.
  typealias Retry =
    @Sendable (_ request: HTTPRequest, _ exchange: HTTPExchange, _ attempt: Int) ->
    Void
  let retry: Retry?
  // Protects the problem that ends waiting requests once another service has taken this one's
  // place.
  private let replacement = Mutex<Problem?>(nil)

  /// - Throws: ``HTTPServerError/cannotStart`` where the system has no threads to give.
  public convenience init(
    store: some Store, configuration: ServiceConfiguration = .init()
  ) throws(HTTPServerError) {
    try self.init(store, configuration, Authenticator(configuration), retry: nil)
  }

  init(
    _ store: some Store, _ configuration: ServiceConfiguration, _ authenticator: Authenticator,
    retry: Retry?
  ) throws(HTTPServerError) {
    self.store = store
    self.retry = retry
    self.authenticator = authenticator
    authenticator.readKeys(of: store)
    deadlines = try Deadlines()
    deliveries = Deliveries(deadlines)
    var live = configuration.engine
    live.idleTime = .seconds(configuration.idleSeconds)
    engine = LiveEngine(store: store, configuration: live, delivery: deliveries)
    self.configuration = configuration
    cache = SnapshotCache(maxBytes: configuration.cacheBytes)
    lanes = QueryLanes(configuration, deadlines)
    saveResolver = SaveResolver(model: store.model)
    resolver = FetchResolver(model: store.model, maxItems: configuration.maxItems)
    forms = PlanCache(resolver: resolver)
    files = configuration.publicDirectory.flatMap { StaticFiles(directory: $0) }
    openAPI = OpenAPIBytes(
      OpenAPIDocument(
        model: store.model, version: configuration.version,
        isProtected: authenticator.requiresCredential, isReadOnly: store.properties.isReadOnly))
    isWhollyTracked =
      !store.properties.isReadOnly && store.model.entities.allSatisfy(\.isObservable)
    corsOrigins = CORSOrigins(configuration.corsOrigins)
    store.onChange { [engine, feed] in
      engine.storeDidChange()
      feed.storeDidChange()
    }
    authenticator.jwt?.refreshIfDue()
    scheduleKeyRefresh()
  }

  public func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
    handle(request, exchange, attempt: 0)
  }

  /// - Parameter attempt: how often the request failed before because the schema had changed.
  func handle(_ request: HTTPRequest, _ exchange: HTTPExchange, attempt: Int) {
    var caller: Caller?
    switch authenticator.authenticate(request) {
    case .caller(let known): caller = known
    case .refused: break
    case .pending:
      authenticator.jwt?.whenFetched { [self] in handle(request, exchange, attempt: attempt) }
      return
    }
    let isRead = request.method == "GET" || request.method == "HEAD"
    let isQuick = isRead && caller?.scopes.contains(.read) == true
    if isQuick { exchange.mark(RequestKind.fetch.rawValue) }
    if isQuick, let kept = keptAnswer(to: request) {
      configuration.metrics.cacheHits.add()
      return exchange.respond(kept)
    }
    let call = Call(
      request: request, exchange: exchange, service: self, caller: caller, attempt: attempt)
    if isQuick, respondByForm(call) { return }
    call.answering { () throws(Problem) in
      let route = try Route(path: request.path)
      exchange.mark(RequestKind(route, method: request.method).rawValue)
      try check(request, route)
      if let scope = route.scope(request.method) { try call.require(scope) }
      if request.method == "OPTIONS" { return try allow(call, route) }
      guard request.body.count > Self.longestQuickBody else { return try answer(call, route) }
      let isTaken = bodyLane.run { [self] in
        call.answering { () throws(Problem) in try answer(call, route) }
      }
      if !isTaken, !call.retry() { throw .overloaded("Too many large requests wait; try again.") }
    }
  }

  /// Larger bodies, in bytes, are not parsed on a thread that other requests wait for.
  private static let longestQuickBody = 16 << 10

  /// Ends because another service takes this one's place, and refuses every waiting request with
  /// `problem`.
  func retire(_ problem: Problem) {
    replacement.withLock { $0 = problem }
    drain { savesUnderWay in
      // The store makes those that still wait when it is closed.
      _ = savesUnderWay.wait(seconds: 10)
    }
  }

  /// Answers everyone who waits and takes no more work. Returns within about `seconds`.
  ///
  /// For a quarter of the time the saves that wait are made; those that are not begun by then are
  /// refused. After another quarter the save that runs is rolled back and refused.
  public func drain(within seconds: Double = 20) {
    drain { [store] savesUnderWay in
      if savesUnderWay.wait(seconds: seconds / 4) { return }
      store.endSaves(cancellingRunning: false)
      if savesUnderWay.wait(seconds: seconds / 4) { return }
      store.endSaves(cancellingRunning: true)
      _ = savesUnderWay.wait(seconds: seconds / 8)
    }
  }

  private func drain(_ awaitSaves: (InFlightSaves) -> Void) {
    draining.store(true, ordering: .sequentiallyConsistent)
    lanes.close()
    bodyLane.close()
    savesUnderWay.close()
    awaitSaves(savesUnderWay)
    engine.drain()
    feed.storeDidChange()
    feed.close()
    repliers.close()
    credentialLane.close()
    deliveries.close()
    deadlines.stop()
  }

  var isDraining: Bool { draining.load(ordering: .relaxed) }

  /// The problem that ends requests waiting here, once another service has taken this one's place.
  var replacementProblem: Problem? { isDraining ? replacement.withLock { $0 } : nil }

  /// The problem that ends streams; nil while the service goes on.
  var endProblem: Problem? { isDraining ? replacementProblem ?? .shuttingDown : nil }

  /// True if the server stops: it answers everyone, and no other service takes this one's place.
  var isStopping: Bool { isDraining && replacementProblem == nil }

  /// Refuses what its head shows to be refused, before the body is read.
  public func refusal(of head: HTTPRequest) -> HTTPResponse? {
    do throws(Problem) {
      let route = try Route(path: head.path)
      try check(head, route)
      if let scope = route.scope(head.method) {
        switch authenticator.authenticate(head) {
        case .caller(let caller): try caller.require(scope)
        case .refused: throw .unauthorized
        case .pending: break
        }
      }
      if route.saves(head.method), store.properties.isReadOnly { throw .readOnly }
      if route.takesBody(head.method) { try head.requireJSON() }
      return nil
    } catch {
      var response = error.response
      response.headers += commonHeaders(for: head)
      return response
    }
  }

  private func check(_ request: HTTPRequest, _ route: Route) throws(Problem) {
    if route == .file, !isFile(request) { throw .noSuchPath }
    guard route.allowedMethods.contains(request.method) else {
      throw .methodNotAllowed(route.allowedMethods.joined(separator: ", "))
    }
  }

  /// Whether there is such a file; asked for methods that would not show it.
  private func isFile(_ request: HTTPRequest) -> Bool {
    guard request.method != "GET", request.method != "HEAD" else { return true }
    let head = HTTPRequest(method: "HEAD", target: request.target)
    return request.target == "*" || fileResponse(to: head) != nil
  }

  func answer(_ call: Call, _ route: Route) throws(Problem) {
    let method = call.request.method
    switch (route, method) {
    case (.about, _): try about(call)
    case (.model, _): try describeModel(call)
    case (.isLive, _), (.isReady, _): health(call, route)
    case (.objects(let entity), "GET"), (.objects(let entity), "HEAD"):
      try fetch(call, entity: entity)
    case (.fetch, _): try fetch(call)
    case (.file, _): try file(call)
    default: try answerObjects(call, route)
    }
  }
}
