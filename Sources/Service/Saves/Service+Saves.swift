// Requests that change the store: parse → plan → one save → respond.
//
// Promises: a request that cannot be parsed or planned, but whose idempotency key was used, gets the
// response of the first request with this key.

import FetchModel
import LiveFetchHTTPServer

/// A request to save, parsed.
struct ParsedSave: Sendable {
  let preferences: Preferences
  let key: IdempotencyKey?
  /// True if the response has integers beyond ±2^53 as strings.
  let integersAsStrings: Bool
  let draft: Result<SaveDraft, Problem>
}

/// The changes of a request, before their names are resolved.
enum SaveDraft: Sendable {
  case changes(JSON)
  case insert(entity: Int, values: JSON)
  case change(ChangeDraft.Kind, ObjectTarget, values: JSON?, Precondition)
  case batchUpdate(entity: Int, FetchRequest, values: JSON)
  case batchDelete(entity: Int, FetchRequest)
}

/// A save and the form of its response.
struct SaveOperation: Sendable {
  enum ResponseForm: Sendable {
    /// The ids and the counts.
    case summary
    /// The object, with 201 if it was inserted.
    case object
    case deletion
    case batchUpdate
    case batchDelete
  }

  let preferences: Preferences
  let key: IdempotencyKey?
  /// True if the response has integers beyond ±2^53 as strings.
  let integersAsStrings: Bool
  let form: ResponseForm
  /// The access rules of the caller; nil if none restrict it.
  let access: CallerAccess?
  /// The save, or the problem for which it is refused unless its key was used.
  let request: Result<SaveRequest, Problem>
}

// MARK: - Parse

extension Service {
  func parseSave(_ context: RequestContext) throws(Problem) -> ParsedSave {
    guard !store.properties.isReadOnly else { throw .readOnly }
    let preferences = try Preferences(context.request.headerValues("Prefer"))
    try refuseUselessPrecondition(context)
    let key = try IdempotencyKey(context)
    var integersAsStrings = false
    let draft = Result { () throws(Problem) in
      try parseDraft(context, integersAsStrings: &integersAsStrings)
    }
    return ParsedSave(
      preferences: preferences, key: key, integersAsStrings: integersAsStrings, draft: draft)
  }

  /// Refuses `If-Match` unless one object is changed: ignored, it would not limit the change.
  private func refuseUselessPrecondition(_ context: RequestContext) throws(Problem) {
    if case .change = context.route { return }
    guard context.request.header("If-Match") == nil else {
      throw .badRequest(
        "bad-etag", "`If-Match` is for a change of one object by its path.",
        hint: "in POST /v1/save each change takes `ifMatch`")
    }
  }

  private func parseDraft(
    _ context: RequestContext, integersAsStrings: inout Bool
  ) throws(Problem) -> SaveDraft {
    let request = context.request
    switch context.route {
    case .insert(let entity):
      integersAsStrings = try request.integersAsStrings()
      return .insert(entity: try entityIndex(named: entity), values: try request.jsonBody())
    case .change(let kind, let entity, let id):
      integersAsStrings = try request.integersAsStrings()
      let target = try target(entity, id)
      let precondition = try request.precondition()
      let values = kind == .delete ? nil : try request.jsonBody()
      return .change(kind, target, values: values, precondition)
    case .batchUpdate(let entity):
      let (index, fetch) = try parseBatch(request, entity)
      return .batchUpdate(entity: index, fetch, values: try request.jsonBody())
    case .batchDelete(let entity):
      let (index, fetch) = try parseBatch(request, entity)
      return .batchDelete(entity: index, fetch)
    default:
      integersAsStrings = try request.integersAsStrings()
      return .changes(try request.jsonBody())
    }
  }

  /// The entity and the condition of a batch; `where` is required.
  private func parseBatch(
    _ request: HTTPRequest, _ entity: String
  ) throws(Problem) -> (entity: Int, FetchRequest) {
    let items = try request.queryItems()
    let index = try entityIndex(named: entity)
    if let unknown = items.first(where: {
      $0.name != "where" && $0.name != "arg" && !$0.name.hasPrefix("var.")
    }) {
      throw .badRequest(
        "unknown-parameter", "A batch has no parameter `\(unknown.name)`.",
        hint: nearestName(to: unknown.name, among: ["where", "arg"]))
    }
    guard items.contains(where: { $0.name == "where" }) else {
      throw .badRequest(
        "missing-where", "A batch needs `where`.", hint: "where=TRUEPREDICATE means every object")
    }
    return (index, try fetchRequest(entity, items))
  }
}

extension HTTPRequest {
  /// True if the only parameter that a save may have, `int64=string`, is given.
  fileprivate func integersAsStrings() throws(Problem) -> Bool {
    guard let text = try queryItems(only: ["int64"])["int64"] else { return false }
    do throws(FetchRequestError) {
      return try Parameter(name: "int64", value: .text(text)).flag(named: "string")
    } catch {
      throw Problem(error, isPath: false)
    }
  }

  /// The condition that `If-Match` and `If-None-Match` set for the object that is changed.
  fileprivate func precondition() throws(Problem) -> Precondition {
    let match = headerValues("If-Match")
    let noneMatch = headerValues("If-None-Match")
    switch (match.isEmpty, noneMatch.isEmpty) {
    case (true, true): return .none
    case (false, true):
      guard let precondition = Precondition(ifMatch: match.joined(separator: ",")) else {
        throw .badRequest(
          "bad-etag", "`If-Match` takes an ETag in double quotes, a list of them, or `*`.")
      }
      return precondition
    case (true, false):
      guard noneMatch == ["*"] else {
        throw .badRequest("bad-etag", "`If-None-Match` of a change takes `*`.")
      }
      return .absent
    case (false, false):
      throw .badRequest("bad-etag", "`If-Match` and `If-None-Match` exclude each other.")
    }
  }
}

// MARK: - Plan

extension Service {
  func planSave(
    _ save: ParsedSave, _ access: CallerAccess?
  ) throws(Problem) -> SaveOperation {
    let form: SaveOperation.ResponseForm =
      switch save.draft {
      case .success(.insert): .object
      case .success(.change(let kind, _, _, _)): kind == .delete ? .deletion : .object
      case .success(.batchUpdate): .batchUpdate
      case .success(.batchDelete): .batchDelete
      case .success(.changes), .failure: .summary
      }
    var request = Result { () throws(Problem) in
      var request = try resolve(try save.draft.get(), access)
      request.maxAffected = save.preferences.maxAffected
      request.access = access
      request.isLenient = save.preferences.handling == .lenient
      return request
    }
    if case .object = form, save.preferences.returned != .minimal,
      case .success(var shown) = request
    {
      shown.showsObject = true
      shown.integersAsStrings = save.integersAsStrings
      request = .success(shown)
    }
    if save.key == nil { _ = try request.get() }
    return SaveOperation(
      preferences: save.preferences, key: save.key, integersAsStrings: save.integersAsStrings,
      form: form, access: access, request: request)
  }

  private func resolve(
    _ draft: SaveDraft, _ access: CallerAccess?
  ) throws(Problem) -> SaveRequest {
    let saveResolver = saveResolver(for: access)
    switch draft {
    case .batchUpdate(let entity, let fetch, let values):
      let predicate = try batchPredicate(of: fetch, access)
      return try resolving { () throws(SaveError) in
        try saveResolver.batch(entity: entity, values: values, where: predicate)
      }
    case .batchDelete(let entity, let fetch):
      let predicate = try batchPredicate(of: fetch, access)
      return try batchDelete(entity, predicate)
    case .change(let kind, let target, let values, let precondition):
      guard let id = target.id else { throw Self.noSuchObject }
      return try resolving { () throws(SaveError) in
        try saveResolver.single(
          kind, entity: target.entity, id: id, values: values, precondition: precondition)
      }
    case .insert(let entity, let values):
      return try resolving { () throws(SaveError) in
        try saveResolver.single(.insert, entity: entity, id: nil, values: values)
      }
    case .changes(let body):
      return try resolving { () throws(SaveError) in try saveResolver.resolve(body) }
    }
  }

  private func batchPredicate(
    of fetch: FetchRequest, _ access: CallerAccess?
  ) throws(Problem) -> ResolvedPredicate {
    do {
      return try resolver(for: access).batchPredicate(of: fetch)
    } catch {
      throw Problem(error, isPath: true)
    }
  }

  private func batchDelete(
    _ entity: Int, _ predicate: ResolvedPredicate
  ) throws(Problem) -> SaveRequest {
    guard store.model.entities[entity].isWritable else {
      let name = store.model.entities[entity].name
      let detail = "`\(name)` is read only"
      let problem = ChangeProblem(change: 0, code: .readOnlyEntity, detail: detail)
      throw Problem(SaveError.invalid([problem]))
    }
    return SaveRequest(changes: [Change(.deleteAll(predicate), entity: entity)])
  }

  private func resolving<Value>(
    _ body: () throws(SaveError) -> Value
  ) throws(Problem) -> Value {
    do {
      return try body()
    } catch {
      throw Problem(error)
    }
  }
}

// MARK: - Query

extension Service {
  func execute(_ save: SaveOperation, _ context: RequestContext) throws(Problem) {
    var request: SaveRequest
    switch save.request {
    case .success(let resolved): request = resolved
    case .failure(let problem):
      return try replay(save.key, context) { () throws(Problem) in throw problem }
    }
    request.caller = context.callerID
    let plans = request.batchPlans(in: store.model).filter { (try? checkObservable($1)) != nil }
    guard let serial = store as? any SerialStore, !plans.isEmpty else {
      return try execute(request, save, context)
    }
    try replay(save.key, context) { [self, request] () throws(Problem) in
      context.query { [serial] queryClass throws(StoreError) in
        try serial.objects(of: plans, queryClass: queryClass)
      } then: { [self, request] found throws(Problem) in
        var request = request
        request.found = found
        try execute(request, save, context)
      }
    }
  }

  private func execute(
    _ request: SaveRequest, _ save: SaveOperation, _ context: RequestContext
  ) throws(Problem) {
    guard inFlightSaves.begin() else {
      if context.retry() { return }
      throw .shuttingDown
    }
    context.exchange.forbidRefusal()
    context.begin(.wait)
    if let key = save.key { return executeOnce(request, save, key, context) }
    let isBrief = request.changes.count == 1
    store.save(request) { [self] result in
      if handsOver(result, context) { return }
      respond(to: context, isBrief: isBrief) { () throws(Problem) in
        try self.respond(with: result, of: save, context)
      }
    }
  }

  /// Hands a save over to the service that replaces this one, if it was refused because the schema has
  /// changed: nothing of it was executed. Returns false for other results, and if no service follows: a
  /// trigger of another program may name a missing table.
  func handsOver<Success>(_ result: Result<Success, SaveError>, _ context: RequestContext) -> Bool {
    guard case .failure(.store(.schemaChanged(let entity))) = result,
      replacementProblem != nil || context.attempt < 3,
      context.retry(after: .schemaChanged(entity: entity))
    else { return false }
    inFlightSaves.end()
    return true
  }

  /// Runs `body`, which responds to a save: on another thread if the writer has other saves to
  /// execute.
  func respond(
    to context: RequestContext, isBrief: Bool,
    _ body: @escaping @Sendable () throws(Problem) -> Void
  ) {
    pools.respondToSave(isBrief: isBrief && inFlightSaves.hasAtMostOne) { [inFlightSaves] in
      context.begin(.respond)
      context.perform(body)
      inFlightSaves.end()
    }
  }
}
