// Model → the JSON of `GET /v1/model`.

import FetchModel

struct ModelDescription {
  let model: Model
  /// The attributes of each entity that the caller may not write; nil without access rules.
  var readOnly: [Set<Int>]?

  var json: [UInt8] {
    var members: JSONNode = ["entities": JSONNode(model.entities.indices.map(describe))]
    if let version = model.file?.version { members += ["version": "\(version)"] }
    let classes = visibleClasses
    if !classes.isEmpty { members += ["classes": JSONNode(classes.map(\.json))] }
    members += ["fetchTemplates": JSONNode(model.visibleTemplates.map(\.json))]
    return members.bytes
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

  private func describe(_ index: Int) -> JSONNode {
    let entity = model.entities[index]
    var members: JSONNode = ["name": "\(entity.name)"] + inheritance(of: entity)
    members += ["idType": "\(entity.idType.rawValue)"]
    if let key = entity.keyName { members += ["key": "\(key)"] }
    if entity.needsKey { members += ["keyRequired": true] }
    let shown = entity.attributes.indices.filter {
      !entity.attributes[$0].isHidden && !entity.hiddenAttributes.contains($0)
    }
    members += [
      "attributes": JSONNode(shown.map { attribute($0, of: index) }),
      "relationships": JSONNode(
        entity.relationships.indices.map { relationship($0, of: entity) }),
    ]
    return members + declarations(of: entity) + [
      "observable": JSONNode(.boolean(entity.isObservable)),
      "readOnly": JSONNode(.boolean(!entity.isWritable)),
    ]
  }

  private func inheritance(of entity: Entity) -> JSONNode {
    var members: JSONNode = [:]
    if let parent = entity.inheritance.parent {
      members += ["parent": "\(model.entities[parent].name)"]
    }
    if entity.inheritance.isAbstract { members += ["abstract": true] }
    if !entity.inheritance.subentities.isEmpty {
      let names = entity.inheritance.subentities.map { model.entities[$0].name }
      members += ["subentities": JSONNode(names)]
    }
    return members
  }

  /// The model file's indexes, constraints and order of an entity, without those that hidden
  /// attributes are part of.
  private func declarations(of entity: Entity) -> JSONNode {
    var members: JSONNode = [:]
    if let declared = model.file?.entity(named: entity.name)?.json {
      for name in ["fetchIndexes", "uniquenessConstraints"] where entity.hiddenAttributes.isEmpty {
        if let value = declared[name] { members += [name: JSONNode(value)] }
      }
    }
    let hiddenNames = model.concealedNames
    let sort = (model.file?.defaultSort(of: entity.name) ?? []).filter { !$0.mentions(hiddenNames) }
    return sort.isEmpty ? members : members + ["sort": JSONNode(sort)]
  }

  private func attribute(_ index: Int, of entityIndex: Int) -> JSONNode {
    let entity = model.entities[entityIndex]
    let attribute = entity.attributes[index]
    var members: JSONNode = [
      "name": "\(attribute.name)", "type": "\(attribute.type.rawValue)",
      "optional": JSONNode(.boolean(attribute.isOptional)),
      "default": JSONNode(.boolean(attribute.hasDefault)),
    ]
    if let format = attribute.dateFormat { members += ["dateFormat": "\(format.rawValue)"] }
    if !attribute.isWritable || readOnly?[entityIndex].contains(index) == true {
      members += ["readOnly": true]
    }
    if entity.unique.contains(index) { members += ["unique": true] }
    if entity.keyProperties.contains(.attribute(index)) { members += ["keyPart": true] }
    if attribute.isUntyped { members += ["untyped": true] }
    return members + rules(of: attribute.declaration)
  }

  /// The model file's rules of an attribute, under their names there.
  private func rules(of declaration: ModelFile.Attribute?) -> JSONNode {
    guard let declaration, case .object(let members) = declaration.json else { return [:] }
    let described: Set<String> = ["name", "type", "optional", "default", "hidden", "readOnly"]
    let type: JSONNode = ["declaredType": "\(declaration.type.rawValue)"]
    let value = declaration.defaultValue.map { ["defaultValue": JSONNode($0)] as JSONNode }
    let others = members.filter {
      !described.contains($0.name) && $0.value.string?.mentions(model.concealedNames) != true
    }
    return type + (value ?? [:]) + JSONNode(.object(others))
  }

  private func relationship(_ index: Int, of entity: Entity) -> JSONNode {
    let relationship = entity.relationships[index]
    let destination = model.entities[relationship.destination]
    let inverse = relationship.inverse.map { JSON.string(destination.relationships[$0].name) }
    var members: JSONNode = [
      "name": "\(relationship.name)", "destination": "\(destination.name)",
      "toMany": JSONNode(.boolean(relationship.isToMany)),
      "optional": JSONNode(.boolean(relationship.isOptional)),
      "inverse": JSONNode(inverse ?? .null),
    ]
    if entity.keyProperties.contains(.relationship(index)) { members += ["keyPart": true] }
    if relationship.isOrdered { members += ["ordered": true] }
    guard let declaration = relationship.declaration else { return members }
    members += ["deleteRule": "\(declaration.deleteRule.rawValue)"]
    if let count = declaration.minimumCount {
      members += ["minimumCount": JSONNode(integerLiteral: count)]
    }
    if let count = declaration.maximumCount {
      members += ["maximumCount": JSONNode(integerLiteral: count)]
    }
    return members
  }
}
