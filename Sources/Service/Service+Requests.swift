// The parameters or the body of a fetch → the fetch, resolved in the model.

import FetchModel
import HTTPServer

extension Service {
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
