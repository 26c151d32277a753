// The values of a refused change as JSON, for the description of a conflict.

import FetchModel

extension SaveRun {
  /// `{"population":1,"country":7}`
  func json(of change: Change) -> [UInt8] {
    let entity = executor.model.entities[change.entity]
    var json: [UInt8] = [0x7B]
    for value in change.values {
      if json.count > 1 { json.append(0x2C) }
      json.append(jsonString: entity.name(of: value.property))
      json.append(0x3A)
      append(value, of: entity, to: &json)
    }
    json.append(0x7D)
    return json
  }

  func append(_ value: PropertyValue, of entity: Entity, to json: inout [UInt8]) {
    switch value.content {
    case .attribute(let attribute, .string(let digits))
    where entity.attributes[attribute].type == .decimal:
      json.append(contentsOf: digits.utf8)
    case .attribute(_, let content): json.append(json: content)
    case .toOne(_, nil): json.append(json: "null")
    case .toOne(_, let reference?): append(reference, to: &json)
    case .toMany(_, .all(let references)): append(references, to: &json)
    case .toMany(_, .edit(let add, let remove)):
      json.append(json: "{\"add\":")
      append(add, to: &json)
      json.append(json: ",\"remove\":")
      append(remove, to: &json)
      json.append(0x7D)
    }
  }

  private func append(_ references: [ObjectReference], to json: inout [UInt8]) {
    json.append(0x5B)
    for (index, reference) in references.enumerated() {
      if index > 0 { json.append(0x2C) }
      append(reference, to: &json)
    }
    json.append(0x5D)
  }

  private func append(_ reference: ObjectReference, to json: inout [UInt8]) {
    switch reference {
    case .id(let id): json.append(id)
    case .inserted(let insert):
      var name = insert.description
      if request.changes.indices.contains(insert),
        case .insert(let temporaryID?) = request.changes[insert].operation
      {
        name = temporaryID
      }
      json.append(json: "{\"temporaryID\":")
      json.append(jsonString: name)
      json.append(0x7D)
    }
  }
}

extension [UInt8] {
  /// Appends a value in the JSON that clients write.
  fileprivate mutating func append(json value: Value) {
    switch value {
    case .null: append(json: "null")
    case .boolean(let isTrue): append(json: isTrue ? "true" : "false")
    case .integer(let integer): append(json: integer)
    case .double(let double): append(json: double)
    case .string(let text): append(jsonString: text)
    case .date(let date): append(json: date)
    case .binary(let bytes):
      append(0x22)
      append(base64: bytes, .standard)
      append(0x22)
    case .json(let text): append(contentsOf: text.utf8)
    case .id(let id): append(id)
    }
  }
}
