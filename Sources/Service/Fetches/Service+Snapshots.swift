// Snapshots: from the cache, or plan → snapshot → response, which may enter the cache.
//
// Promises: a cached response costs no parsing and no copy of its body. A snapshot is cached if its
// target was requested before, and only if the store's token changes with everything it shows.

import FetchModel
import LiveFetchHTTPServer

/// A fetch to execute once.
enum SnapshotQuery: Sendable {
  case plan(FetchPlan)
  case bound(BoundPlan)

  /// The plan that decides which responses may be cached.
  var plan: FetchPlan {
    switch self {
    case .plan(let plan): plan
    case .bound(let bound): bound.parameterized.template
    }
  }
}

// MARK: - Cached response

extension Service {
  /// nil for routes whose responses are never cached.
  func cacheKey(for context: RequestContext) -> SnapshotCache.Key? {
    guard context.route.isCached else { return nil }
    context.begin(.cache)
    return SnapshotCache.Key(
      target: context.request.target, access: context.access, coding: context.coding,
      corsVariant: corsOrigins.variant(of: context.request))
  }

  /// A cached snapshot that is still valid.
  func cachedResponse(to context: RequestContext) -> PreparedResponse? {
    guard let key = context.cacheKey, let entry = cache.entry(for: key), !context.wantsStream,
      entry.isValid(in: store)
    else { return nil }
    context.tracker?.record(items: entry.count)
    configuration.metrics.cacheHits.add()
    return context.request.ifNoneMatchContains(entry.etag) ? entry.notModified : entry.full
  }
}

// MARK: - Query and respond

extension Service {
  func querySnapshot(_ query: SnapshotQuery, _ context: RequestContext) {
    context.query { [store] queryClass throws(StoreError) in
      switch query {
      case .plan(let plan): try store.snapshot(of: plan, queryClass: queryClass)
      case .bound(let plan): try store.snapshot(of: plan, queryClass: queryClass)
      }
    } then: { [self] snapshot in
      respond(with: snapshot, of: query.plan, context)
    }
  }

  func queryExplanation(_ plan: FetchPlan, _ context: RequestContext) {
    context.query { [store] queryClass throws(StoreError) in
      try store.explain(plan, queryClass: queryClass)
    } then: { explanation in
      context.respond(json: explanation.json)
    }
  }

  private func respond(
    with snapshot: EncodedSnapshot, of plan: FetchPlan, _ context: RequestContext
  ) {
    configuration.metrics.cacheMisses.add()
    context.tracker?.record(items: snapshot.count)
    let json = snapshot.json(tag: context.tokenTag)
    let isCompressed = json.count >= 1024 && context.coding == .gzip
    let compressed = isCompressed ? Gzip.compress(json, level: 3) : nil
    let isTracked = isTracked(plan) && !plan.isNondeterministic
    let suffix = (context.access.map { "-" + $0.tag } ?? "") + (compressed == nil ? "" : "-gzip")
    let etag = etag(of: snapshot, isTracked: isTracked, context.tokenTag, suffix: suffix)
    let headers = headers(etag, isCompressed: compressed != nil, snapshot.token, context)
    let full = HTTPResponse(headers: headers, body: .bytes(compressed ?? json))
    // libmicrohttpd 0.9.75 names the length of every body, here 0. With that of the snapshot, older
    // HTTP parsers, such as that of wrk, would wait for its bytes.
    let notModified = HTTPResponse(status: 304, headers: headers)
    let isKnown = context.cacheKey != nil && context.request.ifNoneMatchContains(etag)
    context.send(isKnown ? notModified : full)
    guard isTracked, full.body.bytes.count < 1 << 20, let key = context.cacheKey,
      cache.isWanted(key)
    else { return }
    let entry = SnapshotCache.Entry(
      for: key, etag: etag, token: snapshot.token, count: snapshot.count,
      dependencies: plan.dependencies(in: store.model),
      full: PreparedResponse(full), notModified: PreparedResponse(notModified))
    cache.keep(entry, for: key)
  }

  private func headers(
    _ etag: String, isCompressed: Bool, _ token: Token, _ context: RequestContext
  ) -> [(name: String, value: String)] {
    // A response to POST is never 304, so it is not worth storing.
    let caching = context.route == .postedFetch ? "no-store" : "no-cache"
    let fixed = [
      (name: "Content-Type", value: "application/json"),
      (name: "Vary", value: "Accept-Encoding"), (name: "Cache-Control", value: caching),
      (name: "ETag", value: etag),
    ]
    let coding = isCompressed ? [(name: "Content-Encoding", value: "gzip")] : []
    return fixed + coding + context.commonHeaders(at: token)
  }

  private func etag(
    of snapshot: EncodedSnapshot, isTracked: Bool, _ tag: UInt32?, suffix: String
  ) -> String {
    isTracked
      ? "\"\(snapshot.token.tagged(tag))\(suffix)\""
      : EntityTag.strong(snapshot.json, suffix: suffix)
  }

  /// True if the token changes with everything that `plan` shows. False for a store without a
  /// history, for views and for tables without a key.
  private func isTracked(_ plan: FetchPlan) -> Bool {
    if isWhollyTracked { return true }
    guard !store.properties.isReadOnly else { return false }
    return plan.unrecordedTable(in: store.model) == nil
  }
}
