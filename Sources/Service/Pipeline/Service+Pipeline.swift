// The stages of every request: authenticate → route → authorize → cached response → parse → plan →
// query → respond.
//
// Enters: a request and the right to respond. Leaves: one response. Promises: the stages run in this
// order, each uses only the values of earlier stages, and each runs once, except that those up to
// `authorize` also run on the head of a request with a body, before its body is read. `plan` is the
// last stage that refuses a request for its content; later ones fail only because of the state of
// the store.

import FetchModel
import LiveFetchHTTPServer

extension Service {
  public func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
    handle(request, exchange, attempt: 0)
  }

  /// - Parameter attempt: how often the request failed before because the schema had changed.
  func handle(_ request: HTTPRequest, _ exchange: HTTPExchange, attempt: Int) {
    var context = RequestContext(request, exchange, self, attempt: attempt)
    do throws(Problem) {
      switch authenticate(request) {
      case .caller(let caller): context.caller = caller
      case .refused(let fault): context.tracker?.record(fault)
      case .pending:
        authenticator.jwt?.whenFetched { [self] in handle(request, exchange, attempt: attempt) }
        return
      }
      do throws(Problem) {
        try identify(&context)
      } catch {
        try admit(context)
        throw error
      }
      try admit(context)
      try authorize(context)
      if let caller = context.caller, [.read, .write].contains(context.route.scope) {
        context.access = try access(of: caller)
      }
      context.cacheKey = cacheKey(for: context)
      if let response = cachedResponse(to: context) { return context.send(response) }
      context.deadline = .now + pools.timeLimit
      try pools.parse(context) { [self, context] () throws(Problem) in
        try plan(try parse(context), context)
      } then: { [self, context] operation throws(Problem) in
        try query(operation, context)
      }
    } catch {
      context.refuse(error)
    }
  }

  /// Refuses a request that its head alone shows to be wrong, before its body is read.
  public func refusal(
    of head: HTTPRequest, attach: (any ExchangeAttachment) -> Void
  ) -> HTTPResponse? {
    var context = RequestContext(head, HTTPExchange { _ in }, self)
    if let tracker = context.tracker { attach(tracker) }
    do throws(Problem) {
      switch authenticate(head) {
      case .caller(let caller): context.caller = caller
      case .refused(let fault): context.tracker?.record(fault)
      // The request is authenticated once its body is read and the key was fetched.
      case .pending where head.hasBody(ofAtMost: Self.maxPendingBytes):
        (context.caller, context.isCallerPending) = (.anonymous, true)
      case .pending:
        authenticator.jwt?.whenFetched {}
        throw .overloaded("The key of the credential is being fetched; try again.")
      }
      try identify(&context)
      try admit(context, isCounted: false)
      try authorize(context)
      if context.route.isSave, store.properties.isReadOnly { throw .readOnly }
      if ["POST", "PATCH", "PUT"].contains(head.method) { try head.requireJSON() }
      return nil
    } catch {
      // A request that is admitted counts once its body is read.
      if error.status != 429 { try? admit(context) }
      var response = error.response
      response.headers += context.commonHeaders()
      return response
    }
  }
}

extension Service {
  /// The maximum number of bytes of a body that is read before its credential can be verified.
  private static let maxPendingBytes = 65_536
}

extension HTTPRequest {
  /// True if the head declares a body of at most `count` bytes.
  fileprivate func hasBody(ofAtMost count: Int) -> Bool {
    header("Content-Length").flatMap { Int($0) }.map { $0 <= count } ?? false
  }
}

// MARK: - The stages before the cached response

extension Service {
  /// Routes the request, and records what the log and the quotas need.
  private func identify(_ context: inout RequestContext) throws(Problem) {
    context.tracker?.record(caller: context.caller, account: context.callerID.name)
    context.route = try route(context)
    context.tracker?.record(route: context.route)
  }

  private func route(_ context: RequestContext) throws(Problem) -> Route {
    context.begin(.route)
    let resource = try Resource(target: context.request.target)
    if resource.isFile, !isFile(context.request) { throw .noSuchPath }
    let route = resource.route(context.request.method, allow: allow(at: resource, context))
    guard let route else { throw .methodNotAllowed(allow(at: resource, context)) }
    context.exchange.setTag(route.kind.rawValue)
    return route
  }

  /// The methods of a path, without those that change an entity which is read only and which the caller
  /// may know.
  private func allow(at resource: Resource, _ context: RequestContext) -> String {
    let name = context.mayKnowEntities ? resource.entity : nil
    let entity = name.flatMap { store.model.entityIndex(named: $0) }
    let isReadOnly = entity.map {
      store.properties.isReadOnly || !store.model.entities[$0].isWritable
    }
    let methods = isReadOnly == true ? resource.readingMethods : resource.allowedMethods
    return methods.joined(separator: ", ")
  }

  /// True if the file exists, or the method will show whether it does.
  private func isFile(_ request: HTTPRequest) -> Bool {
    guard request.method != "GET", request.method != "HEAD" else { return true }
    return request.target == "*" || hasFile(request)
  }

  private func authorize(_ context: RequestContext) throws(Problem) {
    context.begin(.authorize)
    if hasAccessRules, case .changes = context.route { return try context.requireWholeStore() }
    if let scope = context.route.scope { try context.require(scope) }
  }
}

// MARK: - Parse

/// A request with its parameters and body read. Only names in its path are looked up.
enum ParsedRequest: Sendable {
  /// A route without parameters.
  case plain
  case fetch(ParsedFetch)
  case object(ObjectTarget, FetchRequest)
  case value(ObjectTarget, attribute: String)
  case fetchGroup(ParsedFetchGroup)
  case changes(ChangesQuery)
  case save(ParsedSave)
}

extension Service {
  private func parse(_ context: RequestContext) throws(Problem) -> ParsedRequest {
    context.begin(.parse)
    switch context.route {
    case .about, .model, .openAPI, .metrics:
      try context.request.queryItems(only: [])
      return .plain
    case .fetch, .postedFetch, .template: return .fetch(try parseFetch(context))
    case .object(let entity, let id): return try parseObject(context, entity, id)
    case .value(let entity, let id, let attribute):
      let target = try target(entity, id)
      try context.request.queryItems(only: [])
      return .value(target, attribute: attribute)
    case .fetchGroup: return .fetchGroup(try ParsedFetchGroup(context))
    case .changes: return .changes(try parseChanges(context))
    case .save, .insert, .change, .batchUpdate, .batchDelete:
      return .save(try parseSave(context))
    case .unrouted, .options, .liveness, .readiness, .file: return .plain
    }
  }
}

// MARK: - Plan

/// A request resolved against the model: all that is left is to execute it.
enum Operation: Sendable {
  /// - Parameter at: the token in the body; nil if there is none.
  case response(HTTPResponse, at: Token? = nil)
  case health(Route)
  case snapshot(SnapshotQuery)
  case explanation(FetchPlan)
  case poll(FollowedFetch)
  case stream(FollowedFetch)
  case object(ObjectQuery)
  case value(ValueQuery)
  case fetchGroup(FetchGroup)
  case changes(ChangesQuery)
  case save(SaveOperation)
}

extension Service {
  private func plan(
    _ request: ParsedRequest, _ context: RequestContext
  ) throws(Problem) -> Operation {
    context.begin(.plan)
    switch request {
    case .plain: return try planDocument(context)
    case .fetch(let fetch): return try planFetch(fetch, context)
    case .object(let target, let request): return try planObject(target, request, context)
    case .value(let target, let attribute):
      return try planValue(target, attribute: attribute, context.access)
    case .fetchGroup(let group): return .fetchGroup(try FetchGroup(group, context))
    case .changes(let query): return .changes(query)
    case .save(let save): return .save(try planSave(save, context.access))
    }
  }
}

// MARK: - Query and respond

extension Service {
  /// Executes an operation and responds, now or later.
  private func query(_ operation: Operation, _ context: RequestContext) throws(Problem) {
    context.begin(.query)
    try hold(operation, context)
    switch operation {
    case .response(let response, let token): context.respond(response, at: token)
    case .health(let route): queryHealth(context, route)
    case .snapshot(let query): querySnapshot(query, context)
    case .explanation(let plan): queryExplanation(plan, context)
    case .poll(let fetch): poll(fetch, context)
    case .stream(let fetch): stream(fetch, context)
    case .object(let query): queryObject(query, context)
    case .value(let query): queryValue(query, context)
    case .fetchGroup(let group): try follow(group, context)
    case .changes(let query): follow(query, context)
    case .save(let save): try execute(save, context)
    }
  }
}
