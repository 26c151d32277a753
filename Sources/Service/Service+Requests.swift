// A request that asks for a fetch or an object, whatever its route → the fetch, looked up in the
// model. The same for whoever answers it at once and for whoever goes on with it in another model.

import FetchModel
import HTTPServer

extension Service {
  /// A fetch as a request asks for it.
  struct Requested: Sendable {
    let fetch: ResolvedFetch
    /// The only object asked for; nil for a fetch.
    var object: ObjectID?
  }

  /// What a request for a fetch or an object asks.
  func requested(_ request: HTTPRequest) throws(Problem) -> Requested {
    switch try Route(path: request.path) {
    case .objects(let entity):
      return Requested(fetch: try resolved(entity: entity, try request.queryItems()))
    case .fetch: return Requested(fetch: try resolved(body: try request.jsonBody()))
    case .template(let name):
      return Requested(fetch: try resolved(template: name, try request.queryItems()))
    case .object(let entity, let id):
      let target = try target(entity, id)
      let fetch = try objectFetch(target, try request.queryItems())
      return Requested(fetch: fetch, object: target.id)
    default: throw .noSuchPath
    }
  }

  func resolved(
    entity: String, _ items: [(name: String, value: String)]
  ) throws(Problem) -> ResolvedFetch {
    do {
      let request = try FetchRequest(entity: entity, query: items)
      return ResolvedFetch(request: request, plan: try resolver.resolve(request))
    } catch {
      throw Problem(error, isPath: true)
    }
  }

  func resolved(body: JSON) throws(Problem) -> ResolvedFetch {
    do {
      return try resolved(try FetchRequest(json: body))
    } catch {
      throw Problem(error, isPath: false)
    }
  }

  func resolved(_ request: FetchRequest) throws(FetchRequestError) -> ResolvedFetch {
    ResolvedFetch(request: request, plan: try resolver.resolve(request))
  }

  func resolved(
    template name: String, _ items: [(name: String, value: String)]
  ) throws(Problem) -> ResolvedFetch {
    let templates = store.model.file?.fetchTemplates ?? []
    guard let template = templates.first(where: { $0.name == name }) else {
      throw .notFound(
        "unknown-template", "The model has no fetch template `\(name)`.",
        hint: nearestName(to: name, among: templates.map(\.name)))
    }
    do {
      return try resolved(try template.request(query: items))
    } catch {
      throw Problem(error, isPath: false)
    }
  }
}
