// Model → the JSON of `GET /v1/model`.

import FetchModel

struct ModelDescription {
  let model: Model

  var json: [UInt8] {
    var json: [UInt8] = []
    json.append(
      json: .object([
        .init(name: "entities", value: .array(model.entities.map(describe))),
        .init(name: "fetchTemplates", value: .array([])),
      ]))
    return json
  }

  private func describe(_ entity: Entity) -> JSON {
    .object([
      .init(name: "name", value: .string(entity.name)),
      .init(name: "idType", value: .string(entity.idType.rawValue)),
      .init(name: "attributes", value: .array(entity.attributes.map(describe))),
      .init(
        name: "relationships",
        value: .array(entity.relationships.map(describe))),
      .init(name: "observable", value: .boolean(entity.isObservable)),
      .init(name: "readOnly", value: .boolean(!entity.isWritable)),
    ])
  }

  private func describe(_ attribute: Attribute) -> JSON {
    var members: [JSON.Member] = [
      .init(name: "name", value: .string(attribute.name)),
      .init(name: "type", value: .string(attribute.type.rawValue)),
      .init(name: "optional", value: .boolean(attribute.isOptional)),
      .init(name: "default", value: .boolean(attribute.hasDefault)),
    ]
    if let format = attribute.dateFormat {
      members.append(.init(name: "dateFormat", value: .string(format.rawValue)))
    }
    if !attribute.isWritable { members.append(.init(name: "readOnly", value: .boolean(true))) }
    return .object(members)
  }

  private func describe(_ relationship: Relationship) -> JSON {
    let destination = model.entities[relationship.destination]
    let inverse = relationship.inverse.map { JSON.string(destination.relationships[$0].name) }
    return .object([
      .init(name: "name", value: .string(relationship.name)),
      .init(name: "destination", value: .string(destination.name)),
      .init(name: "toMany", value: .boolean(relationship.isToMany)),
      .init(name: "optional", value: .boolean(relationship.isOptional)),
      .init(name: "inverse", value: inverse ?? .null),
    ])
  }
}
