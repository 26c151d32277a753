// A request, from its authentication to its end → a line of the log. Charges the caller's quotas.

import FetchModel
import LiveFetchHTTPServer
import Logging
import Synchronization

/// The data that a service records about one request.
final class RequestTracker: ExchangeAttachment {
  private struct State {
    var route = Route.unrouted
    /// The name of the credential, `anonymous`, or `none` for a credential that is not accepted.
    var caller = "none"
    var fault: CredentialFault?
    /// The caller's account in the quotas; nil until the request is authenticated.
    var account: String?
    var items: Int?
    var token: String?
    var hold: QuotaHold?
  }

  private let logger: Logger?
  private let quotas: Quotas?
  // Protects the state.
  private let state = Mutex(State())

  private init(_ logger: Logger?, _ quotas: Quotas?) {
    self.logger = logger
    self.quotas = quotas
  }

  /// Returns the tracker of a request; nil if nothing is recorded. A service that replaces another one
  /// uses the same tracker.
  static func of(_ exchange: HTTPExchange, in service: Service) -> RequestTracker? {
    guard service.tracksRequests else { return nil }
    if let old = exchange.attachment as? RequestTracker { return old }
    let configuration = service.configuration
    let new = RequestTracker(configuration.requestLogger, configuration.quotas)
    exchange.attach(new)
    return new
  }

  func record(route: Route) { state.withLock { $0.route = route } }

  /// - Parameter account: the caller's name in the quotas.
  func record(caller: Caller?, account: String) {
    let name = caller.map { $0.credential ?? "anonymous" } ?? "none"
    state.withLock { state in
      state.caller = name
      state.account = account
    }
  }

  func record(_ fault: CredentialFault) { state.withLock { $0.fault = fault } }

  func record(items: Int?) { state.withLock { $0.items = items } }

  /// Records the token that a response contains.
  func record(headers: [(name: String, value: String)]) {
    guard logger != nil, let header = headers.first(where: { $0.name == "LiveFetch-Token" }) else {
      return
    }
    state.withLock { $0.token = header.value }
  }

  /// Keeps the request's part of the caller's quotas until the request is completed, in place of an
  /// earlier part, which is released.
  func keep(_ hold: QuotaHold?) {
    let old = state.withLock { state in
      defer { state.hold = hold }
      return state.hold
    }
    // The old part is released here, while the state is not locked.
    _ = old
  }

  // MARK: The end

  func willSend(bytes: Int) {
    guard let quotas, let account = state.withLock({ $0.account }) else { return }
    quotas.charge(bytes: bytes, to: account)
  }

  func completed(_ completion: HTTPCompletion) {
    let state = state.withLock { state in
      defer { state.hold = nil }
      return state
    }
    guard let logger else { return }
    var metadata = Self.metadata(completion)
    metadata["route"] = "\(state.route.template)"
    metadata["caller"] = "\(state.caller)"
    if completion.status == 401, let fault = state.fault {
      metadata["refusal"] = "\(fault.rawValue)"
    }
    if let items = state.items { metadata["items"] = .stringConvertible(items) }
    if let token = state.token { metadata["token"] = "\(token)" }
    logger.info("request", metadata: metadata)
  }

  /// The entries of the log for a request, with defaults for those that only a service knows.
  static func metadata(_ completion: HTTPCompletion) -> Logger.Metadata {
    [
      "id": "\(completion.requestID)",
      "method": "\(completion.method.isEmpty ? "-" : completion.method)",
      "route": "-",
      "status": .stringConvertible(completion.status),
      "ms": .stringConvertible(Double(completion.nanoseconds / 1_000) / 1_000),
      "caller": "none",
      "address": "\(completion.clientAddress)",
      "bytes": .stringConvertible(completion.bodyBytes),
    ]
  }
}

extension Route {
  /// The route without the names and ids of the request.
  var template: String {
    switch self {
    case .unrouted: "-"
    case .about: "/v1"
    case .model: "/v1/model"
    case .openAPI: "/openapi.json"
    case .liveness: "/health/live"
    case .readiness: "/health/ready"
    case .metrics: "/metrics"
    case .file: "/{file}"
    case .options: "*"
    case .fetch, .insert, .batchUpdate, .batchDelete: "/v1/objects/{Entity}"
    case .postedFetch: "/v1/fetch"
    case .template: "/v1/fetches/{name}"
    case .object, .change: "/v1/objects/{Entity}/{id}"
    case .value: "/v1/objects/{Entity}/{id}/{attribute}"
    case .fetchGroup: "/v1/live"
    case .changes: "/v1/changes"
    case .save: "/v1/save"
    }
  }
}
