// Fetch templates by name, with values of their variables. A resolved template is an ordinary
// fetch.

import FetchModel

extension Service {
  /// `GET /v1/fetches/{name}`.
  func fetchTemplate(_ call: Call, name: String) throws(Problem) {
    let fetch = try resolved(template: name, try call.queryItems())
    try answer(call, fetch, cacheKey: cacheKey(of: call.request))
  }
}
