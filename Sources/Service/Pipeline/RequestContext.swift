// One request in the pipeline: the results of the completed stages, and the right to respond.
//
// Enters: an HTTP request and its exchange. Leaves: one response. `respond` and `refuse` add the
// common headers; callers of `send` add them themselves.

import FetchModel
import LiveFetchHTTPServer

/// A request, the results of the stages, and the right to respond once.
struct RequestContext: Sendable {
  private(set) var request: HTTPRequest
  let exchange: HTTPExchange
  let service: Service
  /// The number of earlier attempts that failed because the schema had changed.
  let attempt: Int
  /// The deadline of its queries, including the time they wait for a thread; nil before `parse`.
  var deadline: ContinuousClock.Instant?
  /// nil unless responses have `Server-Timing`.
  let timings: StageTimings?
  /// Records the request; nil if nothing is recorded.
  let tracker: RequestTracker?
  /// The result of `authenticate`; nil if a credential is required and none is valid.
  var caller: Caller?
  /// True if the credential cannot be verified before the body is read.
  var isCallerPending = false
  /// The access rules of the caller; nil if none restrict it.
  var access: CallerAccess?
  /// The result of `route`.
  var route = Route.unrouted
  /// The key of its cached response; nil if none is ever cached.
  var cacheKey: SnapshotCache.Key?

  init(_ request: HTTPRequest, _ exchange: HTTPExchange, _ service: Service, attempt: Int = 0) {
    self.request = request
    self.exchange = exchange
    self.service = service
    self.attempt = attempt
    timings = service.configuration.sendsServerTiming ? StageTimings() : nil
    tracker = RequestTracker.of(exchange, in: service)
  }

  /// Begins a stage, for `Server-Timing`.
  func begin(_ stage: StageTimings.Stage) { timings?.begin(stage) }

  /// Identifies the caller in fair queues.
  var callerID: CallerID {
    CallerID(
      name: caller?.credential ?? request.clientNetwork, connection: request.connectionNumber)
  }

  /// The same request without its body, which is then freed while the request waits for changes.
  var withoutBody: RequestContext {
    var context = self
    context.request = request.withoutBody
    return context
  }

  /// True if the caller may know which entities exist.
  var mayKnowEntities: Bool { !isCallerPending && caller?.scopes.contains(.read) == true }

  /// True if the client requests a stream.
  var wantsStream: Bool { request.wantsStream }

  /// The content coding of the response.
  var coding: ContentCoding {
    cacheKey?.coding ?? ContentCoding.preferred(request.headerList("Accept-Encoding"))
  }
}

// MARK: - Responses

extension RequestContext {
  /// `LiveFetch-Token` and ``headersWithoutToken``.
  ///
  /// - Parameter token: the token in the body, with or without a tag; nil for the store's newest.
  func commonHeaders(at token: Token? = nil) -> [(name: String, value: String)] {
    [service.tokenHeader(token, tokenTag)] + headersWithoutToken
  }

  /// `X-Content-Type-Options`, `Vary: Authorization` if there are access rules, and the CORS headers.
  var headersWithoutToken: [(name: String, value: String)] {
    let varies = service.hasAccessRules ? [(name: "Vary", value: "Authorization")] : []
    return [Service.noSniff] + varies + service.corsOrigins.headers(for: request)
  }

  /// Responds, with the common headers added.
  ///
  /// - Parameter token: the token in the body; nil if there is none.
  func respond(_ response: HTTPResponse, at token: Token? = nil) {
    var response = response
    response.headers += commonHeaders(at: token)
    send(response)
  }

  func respond(json: [UInt8], at token: Token? = nil) { respond(.json(json), at: token) }

  func refuse(_ problem: Problem) { respond(logged(problem).response) }

  /// Responds with a stream of server-sent events.
  func respond(_ stream: some ServedStream) {
    endWhenCredentialExpires(stream)
    exchange.setTag(RequestKind.stream.rawValue)
    let headers = EventOutput.headers + commonHeaders()
    tracker?.record(headers: headers)
    exchange.stream(headers: headers + (timings.map { [$0.header] } ?? []), stream)
  }

  /// Runs `body`. Responds with the problem if it throws one.
  func perform(_ body: () throws(Problem) -> Void) {
    do throws(Problem) {
      try body()
    } catch {
      refuse(error)
    }
  }

  /// Sends a response that has all its headers but `Server-Timing`.
  func send(_ response: HTTPResponse) {
    tracker?.record(headers: response.headers)
    guard let timings else { return exchange.respond(response) }
    var response = response
    response.headers.append(timings.header)
    exchange.respond(response)
  }

  /// Sends a prepared response. Costs no copy of the body unless the request is timed.
  func send(_ prepared: PreparedResponse, _ wakeups: WakeupBatch? = nil) {
    tracker?.record(headers: prepared.headers)
    guard timings == nil else {
      let body = HTTPBody.bytes(prepared.body)
      return send(HTTPResponse(status: prepared.status, headers: prepared.headers, body: body))
    }
    exchange.respond(prepared, wakeups)
  }
}

extension HTTPResponse {
  /// JSON that caches do not store.
  static func json(
    _ json: [UInt8], status: Int = 200, headers: [(name: String, value: String)] = []
  ) -> HTTPResponse {
    let fixed = [
      (name: "Content-Type", value: "application/json"), (name: "Cache-Control", value: "no-store"),
    ]
    return HTTPResponse(status: status, headers: fixed + headers, body: .bytes(json))
  }
}
