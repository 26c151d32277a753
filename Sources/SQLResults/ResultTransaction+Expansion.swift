// Root objects and a plan's expanded relationships → the related objects, with all their values.

import FetchModel
import SQLComposer

extension ResultTransaction {
  package func expandedObjects(
    of plan: FetchPlan, roots ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ExpandedObject] {
    let position = normalized(position)
    var reached: [Int: Set<ObjectID>] = [:]
    for path in plan.expansion where !ids.isEmpty {
      let end = composer.model.walk(path).end
      let found = try self.reached(
        from: ids, over: path, at: position, access: plan.definition.access)
      reached[end, default: []].formUnion(found)
    }
    var objects: [ExpandedObject] = []
    var size = 0
    for (entity, ids) in reached.sorted(by: { $0.key < $1.key }) {
      let found = try wholeObjects(ids, of: entity, like: plan, at: position)
      size = found.reduce(size) { $0 + $1.json.count }
      try checkResponse(size)
      objects += found
    }
    return objects
  }

  private func reached(
    from ids: Set<ObjectID>, over path: PropertyPath, at position: ReadPosition, access: ReadRules?
  ) throws(StoreError) -> Set<ObjectID> {
    let statement = composer.reached(from: ids, over: path, at: position, access: access)
    let entity = composer.model.entities[composer.model.walk(path).end]
    var found: Set<ObjectID> = []
    try run(FetchStatement(statement)) { row throws(StoreError) in
      let text = row.utf8(0)
      guard row.admits(text.count, after: 0) else { return false }
      guard let json = try? JSON(parsing: Array(text)),
        case .array(let elements) = json
      else { return true }
      // An integer key may hold a text or a fraction.
      found.formUnion(
        elements.compactMap { json in
          json.string.map { entity.objectID($0) } ?? entity.objectID(json)
        })
      // Every id found becomes an object of the response.
      try checkResponse(found.count * ExpandedObject.fewestBytes)
      return true
    }
    return found
  }

  private func wholeObjects(
    _ ids: Set<ObjectID>, of entity: Int, like plan: FetchPlan, at position: ReadPosition
  ) throws(StoreError) -> [ExpandedObject] {
    let access = plan.definition.access
    let whole = FetchPlan(
      definition: ResultDefinition(entity: entity, predicate: .everything, access: access),
      selection: FetchResolver(model: composer.model, maxItems: .max)
        .defaultSelection(of: entity).filter { access?.hides($0, of: entity) != true },
      integersAsStrings: plan.integersAsStrings)
    return try limitedRows(of: whole, ids: ids, at: position)
      .map { ExpandedObject(entity: entity, id: $0.key, json: $0.value.json) }
      .sorted { $0.id < $1.id }
  }

  /// The JSON of `included`: `{"Country":{"1814991":{…}}}`.
  func included(_ objects: [ExpandedObject]) -> [UInt8] {
    var json: [UInt8] = [0x7B]
    var entity: Int?
    for object in objects {
      if object.entity != entity {
        json.append(json: entity == nil ? "" : "},")
        entity = object.entity
        json.append(jsonString: composer.model.entities[object.entity].name)
        json.append(json: ":{")
      } else {
        json.append(0x2C)
      }
      json.append(jsonString: object.id.description)
      json.append(0x3A)
      json.append(contentsOf: object.json)
    }
    json.append(json: entity == nil ? "}" : "}}")
    return json
  }
}

extension ExpandedObject {
  /// `"1":{"id":1}`
  fileprivate static let fewestBytes = 12
}
