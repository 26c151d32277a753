// `GET` of one object by its path: parse → plan → query → its JSON, or a poll or stream of its
// changes.

import FetchModel
import LiveFetchHTTPServer

/// An object as a path names it.
struct ObjectTarget: Sendable {
  /// The index of the entity.
  let entity: Int
  /// nil if the text cannot be an id of the entity.
  let id: ObjectID?
}

/// An object to read.
struct ObjectQuery: Sendable {
  let id: ObjectID
  let plan: FetchPlan
  /// True if it is read with its default selection: only then its ETag is the object's.
  let isPlain: Bool
  /// True if the ids of the object's to-one relationships may change while its ETag does not: it is
  /// then sent whole, never as 304.
  let hasFoundReferences: Bool
}

// MARK: - Parse

extension Service {
  func target(_ entity: String, _ id: String) throws(Problem) -> ObjectTarget {
    let index = try entityIndex(named: entity)
    return ObjectTarget(entity: index, id: store.model.entities[index].objectID(id))
  }

  func entityIndex(named name: String) throws(Problem) -> Int {
    do {
      return try resolver.entityIndex(named: name)
    } catch {
      throw Problem(error, isPath: true)
    }
  }

  func parseObject(
    _ context: RequestContext, _ entity: String, _ id: String
  ) throws(Problem) -> ParsedRequest {
    let target = try target(entity, id)
    let names = ["select", "int64", "since", "wait", "subentities"]
    let items = try context.request.queryItems()
    if let unknown = items.first(where: { !names.contains($0.name) }) {
      throw .badRequest(
        "unknown-parameter", "There is no parameter `\(unknown.name)` for one object.",
        hint: nearestName(to: unknown.name, among: names))
    }
    let request = try fetchRequest(store.model.entities[target.entity].name, items)
    return .object(target, request)
  }
}

// MARK: - Plan

extension Service {
  static let noSuchObject = Problem.notFound("unknown-id", "There is no object with this id.")

  func planObject(
    _ target: ObjectTarget, _ request: FetchRequest, _ context: RequestContext
  ) throws(Problem) -> Operation {
    let fetch = try resolve(request, isPath: true, context.access)
    guard let id = target.id else { throw Self.noSuchObject }
    if context.wantsStream { return .stream(try followed(fetch, object: id, context)) }
    if request.since != nil { return .poll(try followed(fetch, object: id, context)) }
    let isPlain = request.select == nil && !request.integersAsStrings
    let relationships = store.model.entities[fetch.plan.definition.entity].relationships
    return .object(
      ObjectQuery(
        id: id, plan: fetch.plan, isPlain: isPlain,
        hasFoundReferences: !relationships.allSatisfy(\.isStoredAsID)))
  }
}

// MARK: - Query and respond

extension Service {
  func queryObject(_ query: ObjectQuery, _ context: RequestContext) {
    context.query { [store] queryClass throws(StoreError) in
      try store.object(query.id, of: query.plan, queryClass: queryClass)
    } then: { object throws(Problem) in
      guard let object else { throw Self.noSuchObject }
      context.tracker?.record(items: 1)
      context.respond(with: object, query)
    }
  }
}

extension RequestContext {
  fileprivate func respond(with object: ObjectSnapshot, _ query: ObjectQuery) {
    var response = response(with: object, query)
    // The body has no token, so the header has that of the state in which the object was read.
    let token = object.token.tagged(tokenTag).description
    response.headers += [(name: "LiveFetch-Token", value: token)] + headersWithoutToken
    send(response)
  }

  private func response(with object: ObjectSnapshot, _ query: ObjectQuery) -> HTTPResponse {
    guard query.isPlain else { return .json(object.json) }
    let etag = "\"\(object.etag)\""
    let headers = [
      (name: "Content-Type", value: "application/json"),
      (name: "Cache-Control", value: "no-cache"), (name: "ETag", value: etag),
    ]
    let isKnown = !query.hasFoundReferences && request.ifNoneMatchContains(etag)
    return isKnown
      ? HTTPResponse(status: 304, headers: headers)
      : HTTPResponse(headers: headers, body: .bytes(object.json))
  }
}
