// A fetch template by its name, with values for its variables → a fetch like any other: snapshot,
// diff, stream.

import FetchModel

extension Service {
  /// `GET /v1/fetches/{name}`.
  func fetchTemplate(_ call: Call, name: String) throws(Problem) {
    let fetch = try resolved(template: name, try call.queryItems())
    try answer(call, fetch, cacheKey: cacheKey(of: call.request))
  }
}
