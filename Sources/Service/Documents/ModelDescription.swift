// Model → the JSON of `GET /v1/model`.

import FetchModel

struct ModelDescription {
  let model: Model
  /// The attributes of each entity that the caller may not write; nil without access rules.
  var readOnly: [Set<Int>]?

  var json: [UInt8] {
    var members: [JSON.Member] = [
      .init(name: "entities", value: .array(model.entities.indices.map(describe)))
    ]
    if let version = model.file?.version {
      members.append(.init(name: "version", value: .string(version)))
    }
    let classes = visibleClasses
    if !classes.isEmpty {
      members.append(.init(name: "classes", value: .array(classes.map(\.json))))
    }
    let templates = model.visibleTemplates.map(\.json)
    members.append(.init(name: "fetchTemplates", value: .array(templates)))
    var json: [UInt8] = []
    json.append(json: .object(members))
    return json
  }

  /// The classes apart from those that only hidden attributes use.
  private var visibleClasses: [ModelFile.Class] {
    func used(whereHidden isHidden: Bool) -> Set<String> {
      model.classes.reached(
        from: model.entities.flatMap { entity in
          entity.attributes.indices.filter { entity.hiddenAttributes.contains($0) == isHidden }
            .compactMap { entity.attributes[$0].declaration?.className }
        })
    }
    let concealed = used(whereHidden: true).subtracting(used(whereHidden: false))
    return (model.file?.classes ?? []).filter { !concealed.contains($0.name) }
  }

  private func describe(_ index: Int) -> JSON {
    let entity = model.entities[index]
    let shown = entity.attributes.indices.filter {
      !entity.attributes[$0].isHidden && !entity.hiddenAttributes.contains($0)
    }
    var members: [JSON.Member] = [.init(name: "name", value: .string(entity.name))]
    members += inheritance(of: entity)
    members.append(.init(name: "idType", value: .string(entity.idType.rawValue)))
    if let key = entity.keyName { members.append(.init(name: "key", value: .string(key))) }
    if entity.needsKey { members.append(.init(name: "keyRequired", value: .boolean(true))) }
    members += [
      .init(
        name: "attributes",
        value: .array(
          shown.map {
            describe(
              entity.attributes[$0], isReadOnly: readOnly?[index].contains($0) ?? false,
              isUnique: entity.unique.contains($0),
              isKeyPart: entity.keyProperties.contains(.attribute($0)))
          })),
      .init(
        name: "relationships",
        value: .array(
          entity.relationships.enumerated().map {
            describe($1, isKeyPart: entity.keyProperties.contains(.relationship($0)))
          })),
    ]
    if let declared = model.file?.entity(named: entity.name)?.json {
      for name in ["fetchIndexes", "uniquenessConstraints"] where entity.hiddenAttributes.isEmpty {
        if let value = declared[name] { members.append(.init(name: name, value: value)) }
      }
    }
    let hiddenNames = model.concealedNames
    let sort = (model.file?.defaultSort(of: entity.name) ?? []).filter { !$0.mentions(hiddenNames) }
    if !sort.isEmpty {
      members.append(.init(name: "sort", value: .array(sort.map { .string($0) })))
    }
    members += [
      .init(name: "observable", value: .boolean(entity.isObservable)),
      .init(name: "readOnly", value: .boolean(!entity.isWritable)),
    ]
    return .object(members)
  }

  private func inheritance(of entity: Entity) -> [JSON.Member] {
    var members: [JSON.Member] = []
    if let parent = entity.inheritance.parent {
      members.append(.init(name: "parent", value: .string(model.entities[parent].name)))
    }
    if entity.inheritance.isAbstract {
      members.append(.init(name: "abstract", value: .boolean(true)))
    }
    if !entity.inheritance.subentities.isEmpty {
      let names = entity.inheritance.subentities.map { JSON.string(model.entities[$0].name) }
      members.append(.init(name: "subentities", value: .array(names)))
    }
    return members
  }

  private func describe(
    _ attribute: Attribute, isReadOnly: Bool, isUnique: Bool, isKeyPart: Bool
  ) -> JSON {
    var members: [JSON.Member] = [
      .init(name: "name", value: .string(attribute.name)),
      .init(name: "type", value: .string(attribute.type.rawValue)),
      .init(name: "optional", value: .boolean(attribute.isOptional)),
      .init(name: "default", value: .boolean(attribute.hasDefault)),
    ]
    if let format = attribute.dateFormat {
      members.append(.init(name: "dateFormat", value: .string(format.rawValue)))
    }
    if !attribute.isWritable || isReadOnly {
      members.append(.init(name: "readOnly", value: .boolean(true)))
    }
    if isUnique { members.append(.init(name: "unique", value: .boolean(true))) }
    if isKeyPart { members.append(.init(name: "keyPart", value: .boolean(true))) }
    if attribute.isUntyped { members.append(.init(name: "untyped", value: .boolean(true))) }
    return .object(members + rules(of: attribute.declaration))
  }

  /// The model file's rules of an attribute, under their names there.
  private func rules(of declaration: ModelFile.Attribute?) -> [JSON.Member] {
    guard let declaration, case .object(let members) = declaration.json else { return [] }
    let described: Set<String> = ["name", "type", "optional", "default", "hidden", "readOnly"]
    return [.init(name: "declaredType", value: .string(declaration.type.rawValue))]
      + (declaration.defaultValue.map { [.init(name: "defaultValue", value: $0)] } ?? [])
      + members.filter {
        !described.contains($0.name) && $0.value.string?.mentions(model.concealedNames) != true
      }
  }

  private func describe(_ relationship: Relationship, isKeyPart: Bool) -> JSON {
    let destination = model.entities[relationship.destination]
    let inverse = relationship.inverse.map { JSON.string(destination.relationships[$0].name) }
    var members: [JSON.Member] = [
      .init(name: "name", value: .string(relationship.name)),
      .init(name: "destination", value: .string(destination.name)),
      .init(name: "toMany", value: .boolean(relationship.isToMany)),
      .init(name: "optional", value: .boolean(relationship.isOptional)),
      .init(name: "inverse", value: inverse ?? .null),
    ]
    if isKeyPart { members.append(.init(name: "keyPart", value: .boolean(true))) }
    if relationship.isOrdered { members.append(.init(name: "ordered", value: .boolean(true))) }
    if let declaration = relationship.declaration {
      members.append(
        .init(name: "deleteRule", value: .string(declaration.deleteRule.rawValue)))
      for (name, count) in [
        ("minimumCount", declaration.minimumCount), ("maximumCount", declaration.maximumCount),
      ] {
        guard let count else { continue }
        members.append(.init(name: name, value: .number(count.description)))
      }
    }
    return .object(members)
  }
}
