// A part of the change history → the JSON of `GET /v1/changes`.

extension ChangeHistory {
  /// - Parameter integersAsStrings: True to write ids beyond ±2^53 as strings.
  package func json(_ model: Model, integersAsStrings: Bool = false) -> [UInt8] {
    var json: [UInt8] = []
    json.append(contentsOf: "{\"from\":\"\(from)\",\"to\":\"\(to)\",\"saves\":".utf8)
    json.append(jsonArray: saves) { $0.append(to: &$1, model, integersAsStrings) }
    json.append(json: "}")
    return json
  }
}

extension SaveRecord {
  fileprivate func append(to json: inout [UInt8], _ model: Model, _ integersAsStrings: Bool) {
    func append(_ id: ObjectID, to json: inout [UInt8]) {
      json.append(json: id.shown(integersAsStrings: integersAsStrings))
    }
    json.append(contentsOf: "{\"token\":\"\(token)\",\"at\":".utf8)
    json.append(json: at)
    json.append(json: ",\"inserted\":")
    Self.append(inserted, to: &json, model) { append($0, to: &$1) }
    json.append(json: ",\"updated\":")
    Self.append(updated, to: &json, model) { update, json in
      json.append(json: "{\"id\":")
      append(update.id, to: &json)
      json.append(json: ",\"properties\":")
      json.append(json: .array(update.properties.map { .string($0) }))
      json.append(0x7D)
    }
    json.append(json: ",\"deleted\":")
    Self.append(deleted, to: &json, model) { append($0, to: &$1) }
    json.append(0x7D)
  }

  /// Appends lists by entity in the model's order: `{"City":[…]}`.
  private static func append<Element>(
    _ lists: [Int: [Element]], to json: inout [UInt8], _ model: Model,
    element append: (Element, inout [UInt8]) -> Void
  ) {
    json.append(0x7B)
    json.append(separated: lists.sorted { $0.key < $1.key }) { list, json in
      json.append(jsonString: model.entities[list.key].name)
      json.append(json: ":")
      json.append(jsonArray: list.value, append)
    }
    json.append(0x7D)
  }
}
