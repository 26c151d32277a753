// The JSON values of a change → typed values and references to objects.

extension ChangeValidator {
  mutating func values(
    _ members: [JSON.Member], of entity: Entity, isInsert: Bool, id: inout ObjectID?,
    isBase: Bool = false
  ) -> [PropertyValue] {
    var values: [PropertyValue] = []
    for member in members {
      switch entity.property(named: member.name) {
      case .attribute(let index)
      where index == entity.inheritance.discriminator && (!isBase || isOwnName(member.value)):
        continue
      case .id where isInsert: id = objectID(member.value, entity: entity, property: "id")
      // A client sends the whole item that it has seen.
      case .id where isBase && id != nil && entity.objectID(member.value) == id:
        continue
      case .id: report(.notWritable, "id", "an object's id is permanent")
      case .attribute(let index):
        let attribute = entity.attributes[index]
        if let value = value(member.value, of: attribute, isBase: isBase) {
          values.append(PropertyValue(.attribute(index, value)))
        }
      case .relationship(let index):
        if let content = links(
          member.value, of: entity, relationship: index, isBase: isBase)
        {
          values.append(PropertyValue(content))
        }
      case nil:
        report(
          .unknownProperty, member.name, "`\(entity.name)` has no property `\(member.name)`",
          hint: nearestName(to: member.name, among: entity.propertyNames))
      }
    }
    return values
  }

  private func isOwnName(_ json: JSON) -> Bool {
    json.string.flatMap { model.entityIndex(named: $0) } != nil
  }

  private mutating func value(_ json: JSON, of attribute: Attribute, isBase: Bool) -> Value? {
    guard attribute.isWritable || isBase else {
      report(.notWritable, attribute.name, "`\(attribute.name)` is computed by the store")
      return nil
    }
    if json == .null,
      attribute.type != .json || attribute.isOptional
        || attribute.declaration != nil
    {
      guard attribute.isOptional || isBase else {
        report(.notOptional, attribute.name, "`\(attribute.name)` may not be nil")
        return nil
      }
      return .null
    }
    switch rules.value(json, of: attribute) {
    case .success(let value): return value
    case .failure where isBase: return Value(json, of: attribute) ?? Value(json, as: .json)
    case .failure(let violations):
      for violation in violations.all {
        report(violation.code, attribute.name, "`\(attribute.name)` \(violation.predicate)")
      }
      return nil
    }
  }

  private mutating func links(
    _ json: JSON, of entity: Entity, relationship index: Int, isBase: Bool
  ) -> PropertyValue.Content? {
    let relationship = entity.relationships[index]
    let destination = model.entities[relationship.destination]
    if relationship.isToMany {
      return memberEdit(json, destination, relationship.name, isBase: isBase)
        .map { .toMany(index, $0) }
    }
    if json == .null {
      guard relationship.isOptional || isBase else {
        report(.notOptional, relationship.name, "`\(relationship.name)` may not be nil")
        return nil
      }
      return .toOne(index, nil)
    }
    return reference(json, entity: destination, property: relationship.name)
      .map { .toOne(index, $0) }
  }

  private mutating func memberEdit(
    _ json: JSON, _ destination: Entity, _ property: String, isBase: Bool
  ) -> MemberEdit? {
    if case .array(let elements) = json {
      return .all(elements.compactMap { reference($0, entity: destination, property: property) })
    }
    // An edit is no value that a client has read.
    guard !isBase else {
      report(.wrongType, property, "`\(property)` in `base` takes the list of ids that was read")
      return nil
    }
    guard let members = json.members,
      members.allSatisfy({ $0.name == "add" || $0.name == "remove" })
    else {
      report(
        .wrongType, property,
        "`\(property)` takes a list of ids, or {\"add\":[…],\"remove\":[…]}")
      return nil
    }
    return .edit(
      add: references(json["add"], destination, property),
      remove: references(json["remove"], destination, property))
  }

  private mutating func references(
    _ json: JSON?, _ destination: Entity, _ property: String
  ) -> [ObjectReference] {
    guard let json else { return [] }
    guard case .array(let elements) = json else {
      report(.wrongType, property, "`\(property)` adds and removes lists of ids")
      return []
    }
    return elements.compactMap { reference($0, entity: destination, property: property) }
  }

  /// Resolves an id, or `{"temporaryID":"c1"}`.
  mutating func reference(
    _ json: JSON, entity: Entity, property: String
  ) -> ObjectReference? {
    guard let members = json.members else {
      return objectID(json, entity: entity, property: property).map { .id($0) }
    }
    guard members.count == 1, let name = json["temporaryID"]?.string else {
      report(.wrongType, property, "`\(property)` takes an id or {\"temporaryID\":\"…\"}")
      return nil
    }
    guard let insert = inserts[name] else {
      report(.unknownTemporaryID, property, "no insert of this save is called `\(name)`")
      return nil
    }
    let kinds = entity.inheritance.subentities.map { model.entities[$0].name }
    guard insert.entity == entity.name || kinds.contains(insert.entity) else {
      report(
        .wrongEntity, property,
        "`\(name)` is a \(insert.entity), and `\(property)` leads to \(entity.name)")
      return nil
    }
    return .inserted(insert.change)
  }

  private mutating func objectID(
    _ json: JSON, entity: Entity, property: String
  ) -> ObjectID? {
    guard let id = entity.objectID(json) else {
      report(
        .wrongType, property,
        "`\(property)` takes an id of \(entity.name), which is \(entity.idType.expectation)")
      return nil
    }
    return id
  }
}
