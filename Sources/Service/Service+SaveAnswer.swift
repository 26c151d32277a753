// What a save did → its answer.

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
    let token = (name: "LiveFetch-Token", value: outcome.token.description)
    switch change.answer {
    case .save: try answerSave(call, outcome, preferences)
    case .object: try answerObject(call, outcome, preferences)
    case .deletion: call.exchange.respond(.noContent([token] + corsHeaders))
    case .batchUpdate: call.respond(json: batchJSON(outcome, "updated", outcome.updated))
    case .batchDelete: call.respond(json: batchJSON(outcome, "deleted", outcome.deleted))
    }
  }

  private func batchJSON(_ outcome: SaveResult, _ name: String, _ count: Int) -> [UInt8] {
    Array("{\"token\":\"\(outcome.token)\",\"\(name)\":\(count)}".utf8)
  }

  private func answerObject(
    _ call: Call, _ outcome: SaveResult, _ preferences: Preferences
  ) throws(Problem) {
    guard let object = outcome.objects.first else { throw Self.noSuchObject }
    let isInsert = object.kind == .inserted
    var headers = preferences.applied
    if isInsert { headers.append(("Location", location(of: object))) }
    // Another save may have deleted the object already: then there is nothing to show of it.
    var stored = outcome.shown
    if stored == nil, preferences.answer != .minimal { stored = try read(object) }
    guard let stored else {
      let token = (name: "LiveFetch-Token", value: outcome.token.description)
      let fixed = [(name: "Cache-Control", value: "no-store"), token]
      return call.exchange.respond(
        HTTPResponse(status: isInsert ? 201 : 204, headers: fixed + headers + corsHeaders))
    }
    call.send(stored, isPlain: true, status: isInsert ? 201 : 200, headers: headers)
  }

  private func read(_ object: SaveResult.Object) throws(Problem) -> ObjectSnapshot? {
    let plan = FetchPlan(
      definition: ResultDefinition(entity: object.entity, predicate: .everything),
      selection: resolver.defaultSelection(of: object.entity))
    do throws(StoreError) {
      return try store.object(object.id, of: plan, effort: .full)
    } catch {
      throw Problem(error)
    }
  }

  private func location(of object: SaveResult.Object) -> String {
    let entity = PercentEncoding.encodeSegment(store.model.entities[object.entity].name)
    return "/v1/objects/\(entity)/\(PercentEncoding.encodeSegment(object.id.description))"
  }

  private func answerSave(
    _ call: Call, _ outcome: SaveResult, _ preferences: Preferences
  ) throws(Problem) {
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
    if preferences.answer == .representation { try appendObjects(outcome, to: &json) }
    json.append(0x7D)
    call.respond(json: json, headers: preferences.applied)
  }

  /// Appends the objects that the save left, in the form of `included`.
  private func appendObjects(_ outcome: SaveResult, to json: inout [UInt8]) throws(Problem) {
    var included: Included = [:]
    for object in outcome.objects where object.kind != .deleted {
      guard let stored = try read(object) else { continue }
      included[store.model.entities[object.entity].name, default: [:]][object.id] = stored.json
    }
    json.append(0x2C)
    json.append(included: included)
  }
}

extension HTTPResponse {
  fileprivate static func noContent(_ headers: [(name: String, value: String)]) -> HTTPResponse {
    HTTPResponse(status: 204, headers: [("Cache-Control", "no-store")] + headers)
  }
}
