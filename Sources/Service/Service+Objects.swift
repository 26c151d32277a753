// One object by its path: its JSON, one of its values raw, and what changes it.

import FetchModel
import HTTPServer

extension Service {
  /// Routes of entities, objects and values that are not fetches.
  func answerObjects(_ call: Call, _ route: Route) throws(Problem) {
    switch (route, call.request.method) {
    case (.object(let entity, let id), "GET"), (.object(let entity, let id), "HEAD"):
      try object(call, target(entity, id))
    case (.value(let entity, let id, let attribute), _):
      try rawValue(call, target(entity, id), attribute: attribute)
    case (.objects, _), (.object, _), (.save, _): try change(call, route)
    case (.changes, _): try changes(call)
    case (.template(let name), _): try fetchTemplate(call, name: name)
    case (.live, _): try followMany(call)
    case (.openAPI, _): try describeAPI(call)
    case (.metrics, _): try metrics(call)
    default: throw .noSuchPath
    }
  }

  /// An object as a path names it; nil `id` where the text is no id of the entity.
  struct Target: Sendable {
    let entity: Int
    let id: ObjectID?
  }

  func target(_ entity: String, _ id: String) throws(Problem) -> Target {
    let index = try entityIndex(named: entity)
    return Target(entity: index, id: ObjectID(id, type: store.model.entities[index].idType))
  }

  func entityIndex(named name: String) throws(Problem) -> Int {
    do {
      return try resolver.entityIndex(named: name)
    } catch {
      throw Problem(error, isPath: true)
    }
  }

  static let noSuchObject = Problem.notFound("unknown-id", "There is no object with this id.")

  private func object(_ call: Call, _ target: Target) throws(Problem) {
    let names = ["select", "int64", "since", "wait", "subentities"]
    let items = try call.queryItems()
    if let stranger = items.first(where: { !names.contains($0.name) }) {
      throw .badRequest(
        "unknown-parameter", "There is no parameter `\(stranger.name)` for one object.",
        hint: nearestName(to: stranger.name, among: names))
    }
    let fetch = try objectFetch(target, items)
    guard let id = target.id else { throw Self.noSuchObject }
    if try observe(call, fetch, id) { return }
    let isPlain = fetch.request.select == nil && !fetch.request.integersAsStrings
    call.query { [store] effort throws(StoreError) in
      try store.object(id, of: fetch.plan, effort: effort)
    } then: { object throws(Problem) in
      guard let object else { throw Self.noSuchObject }
      call.send(object, isPlain: isPlain)
    }
  }

  /// Follows the object where that is asked; false where it is not.
  private func observe(
    _ call: Call, _ fetch: ResolvedFetch, _ id: ObjectID
  ) throws(Problem) -> Bool {
    guard call.wantsStream || fetch.request.since != nil else { return false }
    try checkObservable(fetch.plan)
    let start = try start(of: call, fetch)
    let begin = { @Sendable () throws(Problem) in
      if call.wantsStream {
        try self.stream(call, fetch, object: id)
      } else {
        try self.follow(call, fetch, object: id)
      }
    }
    call.query { [store] effort throws(StoreError) in
      if try store.object(id, of: fetch.plan, effort: effort) != nil { return true }
      return try store.wasThere(id, of: fetch.plan, since: start)
    } then: { isKnown throws(Problem) in
      guard isKnown else { throw Self.noSuchObject }
      try begin()
    }
    return true
  }

  /// The token that an object is observed from; nil from now on.
  private func start(of call: Call, _ fetch: ResolvedFetch) throws(Problem) -> Token? {
    if call.wantsStream, let last = call.request.header("Last-Event-ID") {
      guard let token = Token(last) else { throw .badToken }
      return token
    }
    guard case .token(let token)? = fetch.request.since else { return nil }
    return token
  }

  /// The plan of one object of an entity.
  func objectFetch(
    _ target: Target, _ items: [(name: String, value: String)]
  ) throws(Problem) -> ResolvedFetch {
    try resolved(entity: store.model.entities[target.entity].name, items)
  }

  private func rawValue(
    _ call: Call, _ target: Target, attribute name: String
  ) throws(Problem) {
    _ = try call.queryItems(only: [])
    let entity = store.model.entities[target.entity]
    guard case .attribute(let index)? = entity.property(named: name) else {
      throw .notFound(
        "unknown-attribute", "`\(entity.name)` has no attribute `\(name)`.",
        hint: nearestName(to: name, among: entity.attributes.map(\.name)))
    }
    guard let id = target.id else { throw Self.noSuchObject }
    call.query { [store] effort throws(StoreError) in
      try store.rawValue(of: id, entity: target.entity, attribute: index, effort: effort)
    } then: { value throws(Problem) in
      guard let value else { throw Self.noSuchObject }
      try call.send(value)
    }
  }
}

extension Call {
  /// Answers with an object.
  ///
  /// - Parameter isPlain: whether it has its usual values: only then its ETag is the object's.
  func send(
    _ object: ObjectSnapshot, isPlain: Bool, status: Int = 200,
    headers: [(name: String, value: String)] = []
  ) {
    var headers = headers + [(name: "Content-Type", value: "application/json")]
    let isFetch = request.method == "GET" || request.method == "HEAD"
    headers.append(("Cache-Control", isPlain && isFetch ? "no-cache" : "no-store"))
    guard isPlain else {
      return respond(HTTPResponse(status: status, headers: headers, body: .bytes(object.json)))
    }
    let etag = "\"\(object.etag)\""
    headers.append(("ETag", etag))
    if isFetch, request.knows(etag) {
      return respond(HTTPResponse(status: 304, headers: headers))
    }
    respond(HTTPResponse(status: status, headers: headers, body: .bytes(object.json)))
  }

  /// Answers with a stored value's bytes, or the range of them that was asked for.
  fileprivate func send(_ value: RawValue) throws(Problem) {
    guard let bytes = value.bytes else {
      return respond(HTTPResponse(status: 204, headers: [("Cache-Control", "no-store")]))
    }
    let etag = EntityTag.strong(bytes)
    var headers = [
      (name: "Content-Type", value: value.contentType),
      (name: "Cache-Control", value: "no-cache"),
      (name: "Accept-Ranges", value: "bytes"),
      (name: "X-Content-Type-Options", value: "nosniff"),
      (name: "ETag", value: etag),
    ]
    if request.knows(etag) {
      return respond(HTTPResponse(status: 304, headers: headers))
    }
    let isCurrent = request.header("If-Range").map { EntityTag.ifMatch($0, names: etag) } ?? true
    let range = isCurrent ? ByteRange(request.header("Range"), count: bytes.count) : .whole
    if let place = range.contentRange(count: bytes.count) {
      headers.append(("Content-Range", place))
    }
    switch range {
    case .whole: respond(HTTPResponse(headers: headers, body: .bytes(bytes)))
    case .part(let part):
      respond(HTTPResponse(status: 206, headers: headers, body: .bytes(Array(bytes[part]))))
    case .unsatisfiable:
      var problem = Problem(
        416, "range-not-satisfiable", "Range not satisfiable",
        "The value has \(bytes.count) bytes.")
      problem.headers = headers.filter { $0.name == "Content-Range" }
      throw problem
    }
  }
}

extension RawValue {
  /// What the bytes are: by the attribute's type, and for binary by how they begin.
  fileprivate var contentType: String {
    switch type {
    case .binary: Self.imageType(bytes ?? []) ?? "application/octet-stream"
    case .json: "application/json"
    default: "text/plain; charset=utf-8"
    }
  }

  private static func imageType(_ bytes: [UInt8]) -> String? {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "image/png" }
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
    if bytes.starts(with: Array("GIF8".utf8)) { return "image/gif" }
    if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
      return "image/webp"
    }
    return nil
  }
}

extension Store {
  /// Whether an object that is gone was there at `token` or came and went since: then it was
  /// deleted. Where the token cannot be continued that is what has to be said first.
  fileprivate func wasThere(
    _ id: ObjectID, of plan: FetchPlan, since token: Token?
  ) throws(StoreError) -> Bool {
    guard let token else { return false }
    return try read { moment throws(StoreError) in
      guard try moment.standing(of: token) != .expired else { return true }
      let touches = try moment.touches(after: token.position)
      return touches.objects[plan.definition.entity]?.contains(id) ?? false
    }
  }
}
