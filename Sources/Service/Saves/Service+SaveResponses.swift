// The result of a save → its response.

import Bytes
import FetchModel
import LiveFetchHTTPServer

extension Service {
  func respond(
    with result: Result<SaveResult, SaveError>, of save: SaveOperation, _ context: RequestContext
  ) throws(Problem) {
    let outcome: SaveResult
    switch result {
    case .success(let value): outcome = value
    case .failure(let error): throw Problem(error)
    }
    record(outcome, of: save, context)
    var response: HTTPResponse
    do throws(StoreError) {
      response = try responseWithObjects(to: save, outcome)
    } catch {
      throw Problem(error)
    }
    response.headers += context.headersWithoutToken
    context.send(response)
  }

  /// Records a committed save in the audit file and in the log.
  func record(_ outcome: SaveResult, of save: SaveOperation, _ context: RequestContext) {
    context.tracker?.record(items: outcome.inserted + outcome.updated + outcome.deleted)
    configuration.audit?.append(outcome, of: try? save.request.get(), context)
  }

  /// The response to an executed save. If its objects cannot be read, the response omits them: a
  /// refusal would be untrue.
  private func responseWithObjects(
    to save: SaveOperation, _ outcome: SaveResult
  ) throws(StoreError) -> HTTPResponse {
    do throws(StoreError) {
      return try response(to: save, outcome, save.preferences) { plan, id throws(StoreError) in
        try store.object(id, of: plan, queryClass: .full)
      }
    } catch {
      return try response(to: save, outcome, save.preferences.minimal) { _, _ in nil }
    }
  }

  /// Reads an object as it is after the save.
  typealias ObjectReader = (FetchPlan, ObjectID) throws(StoreError) -> ObjectSnapshot?

  /// The response to an executed save, without the common headers but with the save's token; without its
  /// objects if they are too large.
  func response(
    to save: SaveOperation, _ outcome: SaveResult, _ preferences: Preferences, _ read: ObjectReader
  ) throws(StoreError) -> HTTPResponse {
    do throws(StoreError) {
      return try wholeResponse(to: save, outcome, preferences, read)
    } catch .answerTooLarge {
      return try wholeResponse(to: save, outcome, preferences.minimal, read)
    }
  }

  private func wholeResponse(
    to save: SaveOperation, _ outcome: SaveResult, _ preferences: Preferences, _ read: ObjectReader
  ) throws(StoreError) -> HTTPResponse {
    var outcome = outcome
    outcome.token = outcome.token.tagged(tokenTag(under: save.access))
    let token = [(name: "LiveFetch-Token", value: outcome.token.description)]
    switch save.form {
    case .summary:
      let json = try summary(of: outcome, save, preferences, read)
      return .json(json, headers: token + preferences.applied)
    case .object:
      return try objectResponse(
        to: save, outcome, preferences, headers: token, read: read)
    case .deletion:
      return HTTPResponse(status: 204, headers: [("Cache-Control", "no-store")] + token)
    case .batchUpdate: return .json(Self.json(outcome, "updated", outcome.updated), headers: token)
    case .batchDelete: return .json(Self.json(outcome, "deleted", outcome.deleted), headers: token)
    }
  }

  private static func json(_ outcome: SaveResult, _ name: String, _ count: Int) -> [UInt8] {
    Array("{\"token\":\"\(outcome.token)\",\"\(name)\":\(count)}".utf8)
  }

  private func objectResponse(
    to save: SaveOperation, _ outcome: SaveResult, _ preferences: Preferences,
    headers token: [(name: String, value: String)], read: ObjectReader
  ) throws(StoreError) -> HTTPResponse {
    guard let object = outcome.objects.first else { return Self.noSuchObject.response }
    let isInsert = object.kind == .inserted
    var headers = token + preferences.applied
    if isInsert { headers.append(("Location", location(of: object))) }
    // Another save may have deleted the object already.
    var stored = preferences.returned == .minimal ? nil : outcome.shown
    if stored == nil, preferences.returned != .minimal {
      stored = try read(plan(of: object, save), object.id)
    }
    if let stored, stored.json.count > configuration.maxResponseBytes {
      throw .answerTooLarge(limit: configuration.maxResponseBytes)
    }
    guard let stored else {
      let headers = [(name: "Cache-Control", value: "no-store")] + headers
      return HTTPResponse(status: isInsert ? 201 : 204, headers: headers)
    }
    headers.append(("ETag", "\"\(stored.etag)\""))
    return .json(stored.json, status: isInsert ? 201 : 200, headers: headers)
  }

  private func plan(of object: SaveResult.Object, _ save: SaveOperation) -> FetchPlan {
    FetchPlan.object(
      of: object.entity, in: store.model, for: save.access,
      integersAsStrings: save.integersAsStrings)
  }

  private func location(of object: SaveResult.Object) -> String {
    let entity = PercentEncoding.encodeComponent(store.model.entities[object.entity].name)
    return "/v1/objects/\(entity)/\(PercentEncoding.encodeComponent(object.id.description))"
  }

  private func summary(
    of outcome: SaveResult, _ save: SaveOperation, _ preferences: Preferences, _ read: ObjectReader
  ) throws(StoreError) -> [UInt8] {
    var json: [UInt8] = []
    json.append(json: "{\"token\":")
    json.append(jsonString: outcome.token.description)
    json.append(json: ",\"ids\":{")
    for (index, named) in outcome.ids.enumerated() {
      if index > 0 { json.append(0x2C) }
      json.append(jsonString: named.name)
      json.append(0x3A)
      json.append(json: named.id.shown(integersAsStrings: save.integersAsStrings))
    }
    json.append(contentsOf: "},\"inserted\":\(outcome.inserted)".utf8)
    json.append(contentsOf: ",\"updated\":\(outcome.updated)".utf8)
    json.append(contentsOf: ",\"deleted\":\(outcome.deleted)".utf8)
    if preferences.returned == .representation {
      try appendObjects(outcome, save, to: &json, read)
    }
    json.append(0x7D)
    return json
  }

  /// Appends the inserted and updated objects, in the form of `included`.
  ///
  /// - Throws: ``StoreError/answerTooLarge(limit:)`` as soon as they have more bytes than a response.
  private func appendObjects(
    _ outcome: SaveResult, _ save: SaveOperation, to json: inout [UInt8], _ read: ObjectReader
  ) throws(StoreError) {
    var included: Included = [:]
    var size = json.count
    for object in outcome.objects where object.kind != .deleted {
      guard let stored = try read(plan(of: object, save), object.id) else { continue }
      size += stored.json.count
      guard size <= configuration.maxResponseBytes else {
        throw .answerTooLarge(limit: configuration.maxResponseBytes)
      }
      included[store.model.entities[object.entity].name, default: [:]][object.id] = stored.json
    }
    json.append(0x2C)
    json.append(included: included)
  }
}
