// A fetch: from the cache, as a snapshot, as the diff since a token, or as a stream.

import FetchModel
import HTTPServer

extension Service {
  /// `GET /v1/objects/{Entity}`.
  func fetch(_ call: Call, entity: String) throws(Problem) {
    let fetch = try resolved(entity: entity, try call.queryItems())
    if fetch.isSnapshot {
      forms.learn(NormalizedTarget(call.request.target), entity: entity, plan: fetch.plan)
    }
    try answer(call, fetch, cacheKey: cacheKey(of: call.request))
  }

  /// Answers a fetch that differs from earlier ones in its numbers alone; false if it is none.
  func respondByForm(_ call: Call) -> Bool {
    guard call.request.target.utf8.starts(with: "/v1/objects/".utf8), !call.wantsStream,
      let filled = forms.fetch(NormalizedTarget(call.request.target))
    else { return false }
    call.query { [store] effort throws(StoreError) in
      try store.snapshot(of: filled, effort: effort)
    } then: { [self] snapshot in
      send(snapshot, of: filled.form.plan, call, cacheKey: cacheKey(of: call.request))
    }
    return true
  }

  /// `POST /v1/fetch`.
  func fetch(_ call: Call) throws(Problem) {
    let body = try call.jsonBody()
    _ = try call.queryItems(only: [])
    try answer(call, try resolved(body: body), cacheKey: nil)
  }

  func answer(_ call: Call, _ fetch: ResolvedFetch, cacheKey: String?) throws(Problem) {
    if fetch.request.explains { return try explain(call, fetch.plan) }
    if call.wantsStream { return try stream(call, fetch) }
    if fetch.request.since != nil { return try follow(call, fetch) }
    let plan = fetch.plan
    call.query { [store] effort throws(StoreError) in
      try store.snapshot(of: plan, effort: effort)
    } then: { [self] snapshot in
      send(snapshot, of: plan, call, cacheKey: cacheKey)
    }
  }

  /// Answers with how the store goes about the fetch.
  private func explain(_ call: Call, _ plan: FetchPlan) throws(Problem) {
    try call.require(.admin)
    guard configuration.explains else { throw .explainDisabled }
    call.query { [store] effort throws(StoreError) in
      try store.explain(plan, effort: effort)
    } then: { explanation in
      call.respond(json: explanation.json)
    }
  }

  /// Whether the token changes with everything that `plan` shows: not so of a store without a
  /// history, nor of views and tables without a key.
  private func isTracked(_ plan: FetchPlan) -> Bool {
    if isWhollyTracked { return true }
    guard !store.properties.isReadOnly else { return false }
    return plan.dependencies(in: store.model).allSatisfy { store.model.entities[$0].isObservable }
  }

  /// Refuses to follow what cannot be followed.
  func checkObservable(_ plan: FetchPlan) throws(Problem) {
    let isReadOnly = store.properties.isReadOnly
    if let problem = Problem(following: plan, in: store.model, isReadOnly: isReadOnly) {
      throw problem
    }
  }
}

/// A fetch request and what it was resolved to.
struct ResolvedFetch: Sendable {
  let request: FetchRequest
  let plan: FetchPlan

  /// Whether a snapshot is all that is asked for.
  var isSnapshot: Bool { request.since == nil && !request.explains }
}

// MARK: - Snapshots and the cache

extension Service {
  /// The key of a cached answer: the raw target, the coding it is sent in, and the variant of its
  /// CORS headers.
  func cacheKey(of request: HTTPRequest) -> String {
    let key = acceptsGzip(request) ? request.target + "\n" : request.target
    let variant = corsOrigins.variant(of: request)
    return variant == 0 ? key : "\(key) \(variant)"
  }

  private func acceptsGzip(_ request: HTTPRequest) -> Bool {
    ContentCoding.preferred(request.header("Accept-Encoding")) == .gzip
  }

  /// A kept snapshot; nil if there is none that is still true.
  func keptAnswer(to request: HTTPRequest) -> PreparedResponse? {
    let key = cacheKey(of: request)
    guard let entry = cache.entry(for: key), !request.wantsStream else { return nil }
    let answer = entry.answer(in: store, notModified: request.knows(entry.etag)) { old in
      let kept = old.headers.filter { $0.name != "LiveFetch-Token" }
      let token = (name: "LiveFetch-Token", value: store.newestToken.description)
      return PreparedResponse(
        HTTPResponse(status: old.status, headers: kept + [token], body: .bytes(old.body)))
    }
    if answer == nil { cache.remove(key) }
    return answer
  }

  private func send(
    _ snapshot: EncodedSnapshot, of plan: FetchPlan, _ call: Call, cacheKey: String?
  ) {
    configuration.metrics.cacheMisses.add()
    let compressed =
      snapshot.json.count >= 1024 && acceptsGzip(call.request)
      ? Gzip.compress(snapshot.json, level: 3) : nil
    let suffix = compressed == nil ? "" : "-gzip"
    let isTracked = isTracked(plan)
    let etag =
      isTracked
      ? "\"\(snapshot.token)\(suffix)\"" : EntityTag.strong(snapshot.json, suffix: suffix)
    var headers = [
      (name: "Content-Type", value: "application/json"),
      (name: "Vary", value: "Accept-Encoding"),
    ]
    if call.request.method == "POST" {
      headers.append(("Cache-Control", "no-store"))
    } else {
      headers += [("Cache-Control", "no-cache"), ("ETag", etag)]
    }
    if compressed != nil { headers.append(("Content-Encoding", "gzip")) }
    headers += call.commonHeaders
    let body = compressed ?? snapshot.json
    let isKnown = cacheKey != nil && call.request.knows(etag)
    let full = HTTPResponse(headers: headers, body: .bytes(body))
    let notModified = HTTPResponse(status: 304, headers: headers)
    call.exchange.respond(isKnown ? notModified : full)
    if let cacheKey, isTracked, body.count < 1 << 20, !plan.isNondeterministic,
      cache.isWanted(cacheKey)
    {
      let entry = SnapshotCache.Entry(
        etag: etag, token: snapshot.token, dependencies: plan.dependencies(in: store.model),
        full: PreparedResponse(full), notModified: PreparedResponse(notModified))
      cache.keep(entry, for: cacheKey)
    }
  }
}
