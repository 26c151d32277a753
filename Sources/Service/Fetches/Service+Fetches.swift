// Fetches: parameters or body → fetch request → plan → what is executed.
//
// Promises: the raw target is normalized once, and a target whose plan is cached is not parsed.

import FetchModel
import LiveFetchHTTPServer
import RequestPlans

/// A fetch whose parameters are read.
enum ParsedFetch: Sendable {
  /// A target that differs from an earlier one only in numbers.
  case cached(BoundPlan)
  /// `GET /v1/objects/{Entity}`.
  case target(NormalizedTarget, FetchRequest)
  /// `POST /v1/fetch`.
  case body(FetchRequest)
  case template(name: String, items: [(name: String, value: String)])
}

/// A fetch request and its plan.
struct ResolvedFetch: Sendable {
  let request: FetchRequest
  let plan: FetchPlan
}

// MARK: - Parse

extension Service {
  func parseFetch(_ context: RequestContext) throws(Problem) -> ParsedFetch {
    let request = context.request
    switch context.route {
    case .fetch(let entity):
      let target = NormalizedTarget(request.target)
      if !context.wantsStream, context.access?.hidesNothing ?? true,
        let plan = planCache.fetch(target),
        resolver(for: context.access).admits(plan.parameterized.template)
      {
        return .cached(plan)
      }
      return .target(target, try fetchRequest(entity, try request.queryItems()))
    case .template(let name): return .template(name: name, items: try request.queryItems())
    default:
      let body = try request.jsonBody()
      try request.queryItems(only: [])
      return .body(try fetchRequest(body))
    }
  }

  func fetchRequest(
    _ entity: String, _ items: [(name: String, value: String)]
  ) throws(Problem) -> FetchRequest {
    do {
      return try FetchRequest(entity: entity, query: items)
    } catch {
      throw Problem(error, isPath: true)
    }
  }

  func fetchRequest(_ body: JSON) throws(Problem) -> FetchRequest {
    do {
      return try FetchRequest(json: body)
    } catch {
      throw Problem(error, isPath: false)
    }
  }
}

// MARK: - Plan

extension Service {
  func planFetch(
    _ fetch: ParsedFetch, _ context: RequestContext
  ) throws(Problem) -> Operation {
    switch fetch {
    case .cached(let plan):
      guard let access = context.access else { return .snapshot(.bound(plan)) }
      if let restricted = planCache.restricted(plan, by: access) {
        return .snapshot(.bound(restricted))
      }
      return .snapshot(.plan(plan.plan.restricted(by: access)))
    case .target(let target, let request):
      let fetch = try resolve(request, isPath: true, context.access)
      if request.since == nil, !request.explains, context.access?.hidesNothing ?? true {
        planCache.insert(target, entity: request.entity, plan: fetch.plan.unrestricted)
      }
      return try operation(of: fetch, context)
    case .body(let request):
      return try operation(of: resolve(request, isPath: false, context.access), context)
    case .template(let name, let items):
      let request = try templateRequest(name, items, context.access)
      return try operation(of: resolve(request, isPath: false, context.access), context)
    }
  }

  /// - Parameter isPath: true if the path names the entity; an unknown one is then 404.
  func resolve(
    _ request: FetchRequest, isPath: Bool, _ access: CallerAccess?
  ) throws(Problem) -> ResolvedFetch {
    do {
      let plan = try resolver(for: access).resolve(request)
      return ResolvedFetch(request: request, plan: plan.restricted(by: access))
    } catch {
      throw Problem(error, isPath: isPath)
    }
  }

  private func templateRequest(
    _ name: String, _ items: [(name: String, value: String)], _ access: CallerAccess?
  ) throws(Problem) -> FetchRequest {
    let templates = (access?.model ?? store.model).visibleTemplates
    guard let template = templates.first(where: { $0.name == name }) else {
      throw .notFound(
        "unknown-template", "The model has no fetch template `\(name)`.",
        hint: nearestName(to: name, among: templates.map(\.name)))
    }
    do {
      return try template.request(query: items)
    } catch {
      throw Problem(error, isPath: false)
    }
  }

  private func operation(
    of fetch: ResolvedFetch, _ context: RequestContext
  ) throws(Problem) -> Operation {
    if fetch.request.explains {
      try context.requireWholeStore()
      guard configuration.explains else { throw .explainDisabled }
      return .explanation(fetch.plan)
    }
    if context.wantsStream { return .stream(try followed(fetch, context)) }
    if fetch.request.since != nil { return .poll(try followed(fetch, context)) }
    return .snapshot(.plan(fetch.plan))
  }
}
