// A fetch template by its name, with values for its variables → a fetch like any other: snapshot,
// diff, stream.

import FetchModel

extension Service {
  /// `GET /v1/fetches/{name}`.
  func fetchTemplate(_ call: Call, name: String) throws(Problem) {
    let templates = store.model.file?.fetchTemplates ?? []
    guard let template = templates.first(where: { $0.name == name }) else {
      throw .notFound(
        "unknown-template", "The model has no fetch template `\(name)`.",
        hint: nearestName(to: name, among: templates.map(\.name)))
    }
    let items = try call.queryItems()
    let fetch: ResolvedFetch
    do {
      let request = try template.request(query: items)
      fetch = ResolvedFetch(request: request, plan: try resolver.resolve(request))
    } catch {
      throw Problem(error, isPath: false)
    }
    try answer(call, fetch, cacheKey: cacheKey(of: call.request))
  }
}
