// An entity → the schemas of its objects, of the values of saves, of its snapshots and diffs.

import FetchModel

extension OpenAPIDocument {
  func schemas(of index: Int) -> JSONNode {
    let entity = model.entities[index]
    let name = names[index]
    return [
      name: objectSchema(entity),
      "\(name)Insert": valuesSchema(entity, isInsert: true),
      "\(name)Update": valuesSchema(entity, isInsert: false),
      "\(name)Snapshot": snapshotSchema(entity, name),
      "\(name)Diff": diffSchema(entity, name),
    ]
  }

  /// The schema of an item. With `select` an item may lack members, and have key paths as further ones.
  private func objectSchema(_ entity: Entity) -> JSONNode {
    var properties: JSONNode = ["id": idSchema(entity)] + kindMember(of: entity)
    for property in entity.propertyOrder {
      switch property {
      case .id: continue
      case .attribute(let index):
        let attribute = entity.attributes[index]
        guard !attribute.isHidden else { continue }
        properties += [attribute.name: Self.schema(of: attribute)]
      case .relationship(let index):
        let relationship = entity.relationships[index]
        properties += [relationship.name: schema(of: relationship)]
      }
    }
    return [
      "type": "object", "required": ["id"],
      "properties": properties,
      "description": "An object of \(entity.name). To-many relationships only where selected.",
    ]
  }

  /// The member that names the entity of an object; none if objects of `entity` can be of no other.
  private func kindMember(of entity: Entity) -> JSONNode {
    guard !entity.inheritance.subentities.isEmpty else { return [:] }
    let kinds = [entity] + entity.inheritance.subentities.map { model.entities[$0] }
    let names = kinds.filter { !$0.inheritance.isAbstract }.map(\.name)
    return [Inheritance.key: ["enum": JSONNode(names)]]
  }

  func idSchema(_ entity: Entity) -> JSONNode {
    entity.idType == .integer
      ? ["type": "integer", "format": "int64"] : .string
  }

  private func schema(of relationship: Relationship) -> JSONNode {
    let destination = model.entities[relationship.destination]
    let id = idSchema(destination)
    let one = relationship.isOptional ? id.orNull : id
    return (relationship.isToMany ? .array(id) : one)
      + ["description": "To \(destination.name)."]
  }

  static func schema(of attribute: Attribute) -> JSONNode {
    let own: JSONNode =
      attribute.isUntyped
      ? ["anyOf": [["type": "number"], .string]] : schema(of: attribute.type, attribute.dateFormat)
    let type = ruled(own, attribute.declaration)
    let schema = attribute.isOptional && attribute.type != .json ? type.orNull : type
    return attribute.isWritable ? schema : schema + ["readOnly": true]
  }

  /// Adds the rules of a model file. Its lengths count UTF-16 units and a schema's count code points, so
  /// only limits that hold for both are added; patterns are of another dialect.
  private static func ruled(
    _ schema: JSONNode, _ declaration: ModelFile.Attribute?
  ) -> JSONNode {
    guard let declaration else { return schema }
    var schema = schema
    for (name, bound) in ["minimum": declaration.minimum, "maximum": declaration.maximum] {
      if case .number? = bound, let bound { schema += [name: JSONNode(bound)] }
    }
    if schema.json["type"] == .string("string") {
      if let most = declaration.maximumLength {
        schema += ["maxLength": JSONNode(integerLiteral: most)]
      }
      if let least = declaration.minimumLength, least > 0 {
        schema += ["minLength": 1]
      }
    }
    return declaration.pattern.map { schema + ["description": "Matches `\($0)`."] } ?? schema
  }

  private static func schema(of type: AttributeType, _ format: DateFormat?) -> JSONNode {
    switch type {
    case .integer: ["type": "integer", "format": "int64"]
    case .double:
      ["anyOf": [["type": "number"], ["enum": ["Infinity", "-Infinity"]]]]
    case .decimal: ["type": "number"]
    case .string: .string
    case .boolean: .boolean
    case .date: ["type": "string", "format": "date-time"]
    case .binary: ["type": "string", "contentEncoding": "base64"]
    case .uuid: ["type": "string", "format": "uuid"]
    case .uri: ["type": "string", "format": "uri-reference"]
    case .json: ["description": "Any JSON."]
    }
  }

  // MARK: Saves

  private func valuesSchema(_ entity: Entity, isInsert: Bool) -> JSONNode {
    var properties: JSONNode = isInsert ? ["id": idSchema(entity)] : [:]
    properties += kindMember(of: entity)
    for attribute in entity.attributes where attribute.isWritable && !attribute.isHidden {
      properties += [attribute.name: Self.schema(of: attribute)]
    }
    for relationship in entity.relationships {
      let reference = JSONNode.schema(relationship.isToMany ? "References" : "Reference")
      let mayBeNil = !relationship.isToMany && relationship.isOptional
      properties += [relationship.name: mayBeNil ? reference.orNull : reference]
    }
    var schema: JSONNode = ["type": "object", "properties": properties]
    let kind = entity.inheritance.isAbstract ? [Inheritance.key] : []
    let required = isInsert ? kind + Self.required(entity) : []
    if !required.isEmpty { schema += ["required": JSONNode(required)] }
    return schema
  }

  /// To-one relationships of composite keys are left out: others may give their columns. So is a key
  /// that a relationship may give.
  private static func required(_ entity: Entity) -> [String] {
    (entity.needsKey && entity.keyProperties.isEmpty ? ["id"] : [])
      + entity.attributes.filter {
        $0.isWritable && !$0.isHidden && !$0.isOptional && !$0.hasDefault
      }.map(\.name)
      + entity.relationships.filter { !$0.isToMany && !$0.isOptional }.map(\.name)
  }

  /// A change of any entity, as `POST /v1/save` takes it.
  var changeSchema: JSONNode {
    var changes: [JSONNode] = [.schema("Delete"), .schema("DeleteAll")]
    for (index, entity) in model.entities.enumerated() where entity.isWritable {
      if !entity.inheritance.isAbstract {
        changes.append(
          .object(
            [
              "insert": ["const": "\(entity.name)"], "temporaryID": .string,
              "values": .schema("\(names[index])Insert"),
            ], required: ["insert", "values"]))
      }
      changes.append(
        .object(
          [
            "update": ["const": "\(entity.name)"], "id": .schema("ID"),
            "values": .schema("\(names[index])Update"), "ifMatch": .string,
            "base": ["type": "object"],
          ], required: ["update", "id", "values"]))
      changes.append(
        .object(
          [
            "update": ["const": "\(entity.name)"], "where": .string, "arguments": ["type": "array"],
            "variables": ["type": "object"], "values": .schema("\(names[index])Update"),
          ], required: ["update", "where", "values"]))
    }
    return ["anyOf": JSONNode(changes)]
  }

  // MARK: Snapshots

  private static let summary: JSONNode = [
    "count": .integer, "next": .string, "total": .integer,
    "truncated": .boolean, "digest": .string,
    "included": .schema("Included"),
  ]

  private func snapshotSchema(_ entity: Entity, _ name: String) -> JSONNode {
    let item: JSONNode = ["anyOf": [.schema(name), idSchema(entity), .schema("Dictionary")]]
    let section: JSONNode = [
      "allOf": [
        .schema("SectionInfo"),
        .object(["items": .array(item)], required: ["items"]),
      ]
    ]
    let properties: JSONNode = [
      "entity": ["const": "\(entity.name)"], "token": .schema("Token"),
      "sections": .array(section),
    ]
    return [
      "type": "object", "required": ["entity", "token", "count", "sections"],
      "properties": properties + Self.summary,
    ]
  }

  private func diffSchema(_ entity: Entity, _ name: String) -> JSONNode {
    let sections: JSONNode = .array(.schema("SectionChange"))
    let changed: JSONNode = .array(.schema("Changed"))
    let inserted: JSONNode = .object(
      ["to": .schema("Position"), "item": .schema(name), "id": idSchema(entity)], required: ["to"])
    let properties: JSONNode = [
      "entity": ["const": "\(entity.name)"], "from": .schema("Token"),
      "to": .schema("Token"),
      "sections": .object(
        ["deleted": sections, "inserted": sections], required: ["deleted", "inserted"]),
      "items": .object(
        [
          "deleted": .array(.schema("Deleted")), "inserted": .array(inserted), "moved": changed,
          "updated": changed,
        ], required: ["deleted", "inserted", "moved", "updated"]),
    ]
    return [
      "type": "object", "required": ["entity", "from", "to", "count", "sections", "items"],
      "properties": properties + Self.summary,
    ]
  }
}
