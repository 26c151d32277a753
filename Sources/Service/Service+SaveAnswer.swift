// What a save did → its answer.

import Bytes
import FetchModel
import HTTPServer

extension Service {
  func answer(
    _ call: Call, _ change: SaveCall, _ result: Result<SaveResult, SaveError>,
    _ preferences: Preferences
  ) throws(Problem) {
    let outcome: SaveResult
    switch result {
    case .success(let value): outcome = value
    case .failure(let error): throw Problem(error, model: store.model)
    }
    var response: HTTPResponse
    do throws(StoreError) {
      response = try shownResponse(to: change, outcome, preferences)
    } catch {
      throw Problem(error)
    }
    response.headers += corsOrigins.headers(for: call.request)
    call.exchange.respond(response)
  }

  /// The answer to a save that was made. Where its objects cannot be read, it says without them what
  /// was made: a refusal would be untrue.
  private func shownResponse(
    to change: SaveCall, _ outcome: SaveResult, _ preferences: Preferences
  ) throws(StoreError) -> HTTPResponse {
    do throws(StoreError) {
      return try response(to: change, outcome, preferences) { plan, id throws(StoreError) in
        try store.object(id, of: plan, effort: .full)
      }
    } catch {
      return try response(to: change, outcome, preferences.minimal) { _, _ in nil }
    }
  }

  /// Gives an object as it is after the save.
  typealias ObjectReading = (FetchPlan, ObjectID) throws(StoreError) -> ObjectSnapshot?

  /// The answer to a save that was made, but for what browsers of other origins need.
  func response(
    to change: SaveCall, _ outcome: SaveResult, _ preferences: Preferences,
    _ read: ObjectReading
  ) throws(StoreError) -> HTTPResponse {
    let headers = [
      (name: "Cache-Control", value: "no-store"),
      (name: "LiveFetch-Token", value: outcome.token.description),
    ]
    switch change.answer {
    case .save:
      let json = try saveJSON(outcome, preferences, read)
      return .json(json, headers + preferences.applied)
    case .object: return try objectResponse(outcome, preferences, headers, read)
    case .deletion: return HTTPResponse(status: 204, headers: headers)
    case .batchUpdate: return .json(batchJSON(outcome, "updated", outcome.updated), headers)
    case .batchDelete: return .json(batchJSON(outcome, "deleted", outcome.deleted), headers)
    }
  }

  private func batchJSON(_ outcome: SaveResult, _ name: String, _ count: Int) -> [UInt8] {
    Array("{\"token\":\"\(outcome.token)\",\"\(name)\":\(count)}".utf8)
  }

  private func objectResponse(
    _ outcome: SaveResult, _ preferences: Preferences,
    _ headers: [(name: String, value: String)], _ read: ObjectReading
  ) throws(StoreError) -> HTTPResponse {
    guard let object = outcome.objects.first else { return Self.noSuchObject.response }
    let isInsert = object.kind == .inserted
    var headers = headers + preferences.applied
    if isInsert { headers.append(("Location", location(of: object))) }
    // Another save may have deleted the object already: then there is nothing to show of it.
    var stored = outcome.shown
    if stored == nil, preferences.answer != .minimal {
      stored = try read(plan(of: object), object.id)
    }
    guard let stored else { return HTTPResponse(status: isInsert ? 201 : 204, headers: headers) }
    headers.append(("ETag", "\"\(stored.etag)\""))
    return .json(stored.json, headers, status: isInsert ? 201 : 200)
  }

  private func plan(of object: SaveResult.Object) -> FetchPlan {
    FetchPlan(
      definition: ResultDefinition(entity: object.entity, predicate: .everything),
      selection: resolver.defaultSelection(of: object.entity))
  }

  private func location(of object: SaveResult.Object) -> String {
    let entity = PercentEncoding.encodeSegment(store.model.entities[object.entity].name)
    return "/v1/objects/\(entity)/\(PercentEncoding.encodeSegment(object.id.description))"
  }

  private func saveJSON(
    _ outcome: SaveResult, _ preferences: Preferences, _ read: ObjectReading
  ) throws(StoreError) -> [UInt8] {
    var json: [UInt8] = []
    json.append(json: "{\"token\":")
    json.append(jsonString: outcome.token.description)
    json.append(json: ",\"ids\":{")
    for (index, named) in outcome.ids.enumerated() {
      if index > 0 { json.append(0x2C) }
      json.append(jsonString: named.name)
      json.append(0x3A)
      json.append(json: named.id)
    }
    json.append(contentsOf: "},\"inserted\":\(outcome.inserted)".utf8)
    json.append(contentsOf: ",\"updated\":\(outcome.updated)".utf8)
    json.append(contentsOf: ",\"deleted\":\(outcome.deleted)".utf8)
    if preferences.answer == .representation { try appendObjects(outcome, to: &json, read) }
    json.append(0x7D)
    return json
  }

  /// Appends the objects that the save left, in the form of `included`.
  private func appendObjects(
    _ outcome: SaveResult, to json: inout [UInt8], _ read: ObjectReading
  ) throws(StoreError) {
    var included: Included = [:]
    for object in outcome.objects where object.kind != .deleted {
      guard let stored = try read(plan(of: object), object.id) else { continue }
      included[store.model.entities[object.entity].name, default: [:]][object.id] = stored.json
    }
    json.append(0x2C)
    json.append(included: included)
  }
}

extension HTTPResponse {
  fileprivate static func json(
    _ json: [UInt8], _ headers: [(name: String, value: String)], status: Int = 200
  ) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [("Content-Type", "application/json")] + headers,
      body: .bytes(json))
  }
}
