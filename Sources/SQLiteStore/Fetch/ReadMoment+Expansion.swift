// The related objects that a plan sends along, whole.

import FetchModel

extension ReadMoment {
  func expandedObjects(
    of plan: FetchPlan, roots ids: Set<ObjectID>
  ) throws(StoreError) -> [ExpandedObject] {
    var reached: [Int: Set<ObjectID>] = [:]
    for path in plan.expansion where !ids.isEmpty {
      let end = composer.model.walk(path).end
      let statement = composer.reached(
        from: ids, of: plan.definition.entity, over: path.steps)
      try connection.withStatement(statement.text) { prepared throws(StoreError) in
        prepared.bind(statement.bindings)
        while try prepared.step() {
          if let id = prepared.id(0) { reached[end, default: []].insert(id) }
        }
      }
    }
    var objects: [ExpandedObject] = []
    for (entity, ids) in reached.sorted(by: { $0.key < $1.key }) {
      objects += try wholeObjects(ids, of: entity, like: plan)
    }
    return objects
  }

  private func wholeObjects(
    _ ids: Set<ObjectID>, of entity: Int, like plan: FetchPlan
  ) throws(StoreError) -> [ExpandedObject] {
    let whole = FetchPlan(
      definition: ResultDefinition(entity: entity, predicate: .everything),
      selection: FetchResolver(model: composer.model, maxItems: .max)
        .defaultSelection(of: entity),
      integersAsStrings: plan.integersAsStrings)
    return try rows(of: whole, ids: ids, at: .now)
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
