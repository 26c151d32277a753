// Requests that change the store → one save each → its answer.

import FetchModel
import HTTPServer

extension Service {
  /// Routes that save, with the methods that do.
  func change(_ call: Call, _ route: Route) throws(Problem) {
    guard !store.properties.isReadOnly else { throw .readOnly }
    let preferences = try Preferences(call.request.headerValues("Prefer"))
    try call.refuseUselessPrecondition(route)
    let key = try IdempotencyKey(call.request)
    let change: SaveCall
    do throws(SaveCallError) {
      change = try saveCall(call, route, preferences)
    } catch {
      if let key, try replay(call, key) { return }
      switch error {
      case .problem(let problem): throw problem
      case .save(let error): throw Problem(error, model: store.model)
      }
    }
    guard savesUnderWay.begin() else {
      if call.retry() { return }
      throw .shuttingDown
    }
    call.exchange.forbidRefusal()
    if let key { return saveOnce(call, change, preferences, key) }
    store.save(change.request(preferences, of: call.callerID)) { [self] result in
      reply(to: call, isBrief: change.request.changes.count == 1) { () throws(Problem) in
        try self.answer(call, change, result, preferences)
      }
    }
  }

  /// Answers a save; away from the thread that writes, where that has others to carry out.
  func reply(
    to call: Call, isBrief: Bool = false, _ body: @escaping @Sendable () throws(Problem) -> Void
  ) {
    let reply = { @Sendable in
      call.answering(body)
      self.savesUnderWay.end()
    }
    if isBrief && savesUnderWay.isAlone || !repliers.run(reply) { reply() }
  }

  /// A save and how it is answered.
  struct SaveCall: Sendable {
    enum Answer: Sendable {
      case save
      /// The object, 201 where it was inserted.
      case object(entity: Int)
      case deletion
      case batchUpdate
      case batchDelete
    }

    let request: SaveRequest
    let answer: Answer

    /// The request, showing its object where the answer does.
    func request(_ preferences: Preferences, of caller: CallerID) -> SaveRequest {
      var request = request
      request.caller = caller
      if case .object = answer { request.showsObject = preferences.answer != .minimal }
      return request
    }
  }

  enum SaveCallError: Error {
    case problem(Problem)
    case save(SaveError)
  }

  private func saveCall(
    _ call: Call, _ route: Route, _ preferences: Preferences
  ) throws(SaveCallError) -> SaveCall {
    switch (route, call.request.method) {
    case (.save, _): try wholeSave(call)
    case (.objects(let entity), "POST"): try insertion(call, entity)
    case (.objects(let entity), "PATCH"): try batchUpdate(call, entity, preferences)
    case (.objects(let entity), _): try batchDelete(call, entity, preferences)
    case (.object(let entity, let id), let method):
      try objectChange(call, entity, id, method: method)
    default: throw .problem(.noSuchPath)
    }
  }

  private func wholeSave(_ call: Call) throws(SaveCallError) -> SaveCall {
    let body = try problems { () throws(Problem) in
      _ = try call.queryItems(only: [])
      return try call.jsonBody()
    }
    let request = try saves { () throws(SaveError) in try saveResolver.resolve(body) }
    return SaveCall(request: request, answer: .save)
  }

  private func insertion(_ call: Call, _ entity: String) throws(SaveCallError) -> SaveCall {
    let (index, body) = try problems { () throws(Problem) in
      _ = try call.queryItems(only: [])
      return (try entityIndex(named: entity), try call.jsonBody())
    }
    let request = try saves { () throws(SaveError) in
      try saveResolver.single(.insert, entity: index, id: nil, values: body)
    }
    return SaveCall(request: request, answer: .object(entity: index))
  }

  private func objectChange(
    _ call: Call, _ entity: String, _ id: String, method: String
  ) throws(SaveCallError) -> SaveCall {
    let target = try problems { () throws(Problem) in
      _ = try call.queryItems(only: [])
      return try self.target(entity, id)
    }
    let precondition = try problems { () throws(Problem) in try call.precondition() }
    let body = try problems { () throws(Problem) -> JSON? in
      method == "DELETE" ? nil : try call.jsonBody()
    }
    guard let id = target.id else { throw .problem(Self.noSuchObject) }
    let kinds: [String: ChangeDraft.Kind] = [
      "PATCH": .update, "PUT": .replace, "DELETE": .delete,
    ]
    let kind = kinds[method] ?? .update
    let request = try saves { () throws(SaveError) in
      try saveResolver.single(
        kind, entity: target.entity, id: id, values: body, precondition: precondition)
    }
    return SaveCall(
      request: request, answer: kind == .delete ? .deletion : .object(entity: target.entity))
  }

  private func batchUpdate(
    _ call: Call, _ entity: String, _ preferences: Preferences
  ) throws(SaveCallError) -> SaveCall {
    let (index, predicate) = try problems { () throws(Problem) in try batch(call, entity) }
    let body = try problems { () throws(Problem) in try call.jsonBody() }
    let request = try saves { () throws(SaveError) in
      try saveResolver.batch(
        entity: index, values: body, where: predicate, limit: preferences.maxAffected)
    }
    return SaveCall(request: request, answer: .batchUpdate)
  }

  private func batchDelete(
    _ call: Call, _ entity: String, _ preferences: Preferences
  ) throws(SaveCallError) -> SaveCall {
    let (index, predicate) = try problems { () throws(Problem) in try batch(call, entity) }
    guard store.model.entities[index].isWritable else {
      throw .save(.invalid([.readOnlyEntity(store.model.entities[index].name)]))
    }
    let change = Change(.deleteAll(predicate, limit: preferences.maxAffected), entity: index)
    return SaveCall(request: SaveRequest(changes: [change]), answer: .batchDelete)
  }

  /// The entity and the predicate of a batch; `where` is required.
  private func batch(
    _ call: Call, _ entity: String
  ) throws(Problem) -> (Int, ResolvedPredicate) {
    let items = try call.queryItems()
    let index = try entityIndex(named: entity)
    if let stranger = items.first(where: {
      $0.name != "where" && $0.name != "arg" && !$0.name.hasPrefix("var.")
    }) {
      throw .badRequest(
        "unknown-parameter", "A batch has no parameter `\(stranger.name)`.",
        hint: nearestName(to: stranger.name, among: ["where", "arg"]))
    }
    guard items.contains(where: { $0.name == "where" }) else {
      throw .badRequest(
        "missing-where", "A batch needs `where`.", hint: "where=TRUEPREDICATE means every object")
    }
    do {
      let request = try FetchRequest(entity: entity, query: items)
      return (index, try resolver.batchPredicate(of: request))
    } catch {
      throw Problem(error, isPath: true)
    }
  }

  private func problems<Value>(
    _ body: () throws(Problem) -> Value
  ) throws(SaveCallError) -> Value {
    do throws(Problem) { return try body() } catch { throw .problem(error) }
  }

  private func saves<Value>(
    _ body: () throws(SaveError) -> Value
  ) throws(SaveCallError) -> Value {
    do throws(SaveError) { return try body() } catch { throw .save(error) }
  }
}

extension Call {
  /// What `If-Match` and `If-None-Match` ask of the object that is changed.
  fileprivate func precondition() throws(Problem) -> Precondition {
    let match = request.headerValues("If-Match")
    let noneMatch = request.headerValues("If-None-Match")
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

  /// Refuses `If-Match` where no single object is changed: ignored, it would not limit the change.
  fileprivate func refuseUselessPrecondition(_ route: Route) throws(Problem) {
    if case .object = route { return }
    guard request.header("If-Match") == nil else {
      throw .badRequest(
        "bad-etag", "`If-Match` is for a change of one object by its path.",
        hint: "in POST /v1/save each change takes `ifMatch`")
    }
  }
}

extension ChangeProblem {
  static func readOnlyEntity(_ name: String) -> ChangeProblem {
    ChangeProblem(change: 0, code: .readOnlyEntity, detail: "`\(name)` is read only")
  }
}
