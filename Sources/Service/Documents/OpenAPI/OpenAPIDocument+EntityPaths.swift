// An entity → its paths: fetches, single objects, single values, batches.

import Bytes
import FetchModel

extension OpenAPIDocument {
  func paths(of index: Int) -> JSONNode {
    let entity = model.entities[index]
    let path = "/v1/objects/\(PercentEncoding.encodeComponent(entity.name))"
    let isWritable = entity.isWritable && !isReadOnly
    var all: JSONNode = ["get": fetch(index)]
    var one: JSONNode = [
      "parameters": [.pathParameter("id", idSchema(entity))], "get": object(index),
    ]
    if isWritable {
      if !entity.inheritance.isAbstract { all += ["post": insert(index)] }
      all += ["patch": batchUpdate(index), "delete": batchDelete(index)]
      one += [
        "patch": change(index, "update"), "put": change(index, "replace"),
        "delete": delete(index),
      ]
    }
    let paths: JSONNode = [path: all, "\(path)/{id}": one]
    guard entity.attributes.contains(where: { !$0.isHidden }) else { return paths }
    return paths + ["\(path)/{id}/{attribute}": value(index)]
  }

  private func operation(
    _ verb: String, entity index: Int, summary: String, parameters: [String],
    body: JSONNode? = nil, responses: JSONNode
  ) -> JSONNode {
    .operation(
      "\(verb)\(names[index])", tag: tag(model.entities[index]), summary: summary,
      parameters: parameters, body: body, responses: responses)
  }

  // MARK: Reading

  private func fetch(_ index: Int) -> JSONNode {
    let name = names[index]
    let result: JSONNode = [
      "anyOf": [
        .schema("\(name)Snapshot"), .schema("\(name)Diff"), .schema("Count"), .schema("Reset"),
        .schema("Unchanged"),
      ]
    ]
    return operation(
      "fetch", entity: index, summary: "A fetch of \(model.entities[index].name)",
      parameters: Self.allFetchParameters + ["ifNoneMatch", "lastEventID"],
      responses: [
        "200": .response("A snapshot or a diff", result, streams: true, headers: ["ETag"]),
        "304": Self.notModified,
      ] + problems([403, 410, 501, 504]))
  }

  private func object(_ index: Int) -> JSONNode {
    let result: JSONNode = ["anyOf": [.schema(names[index]), .schema("ObjectDiff")]]
    return operation(
      "get", entity: index, summary: "One \(model.entities[index].name), or its diff",
      parameters: [
        "select", "int64", "since", "wait", "subentities", "ifNoneMatch", "lastEventID",
      ],
      responses: [
        "200": .response("The object", result, streams: true, headers: ["ETag"]),
        "304": Self.notModified,
      ] + problems([410, 504]))
  }

  private func value(_ index: Int) -> JSONNode {
    let entity = model.entities[index]
    let bytes: JSONNode = ["*/*": ["schema": .string]]
    let operation = operation(
      "value", entity: index, summary: "One value of a \(entity.name), raw",
      parameters: ["ifNoneMatch"],
      responses: [
        "200": ["description": "The value", "content": bytes],
        "204": .empty("The value is nil"),
        "206": ["description": "A range of the value", "content": bytes],
        "304": Self.notModified,
      ] + problems([416, 504]))
    let names: JSONNode = [
      "type": "string", "enum": JSONNode(entity.attributes.filter { !$0.isHidden }.map(\.name)),
    ]
    return [
      "parameters": [
        .pathParameter("id", idSchema(entity)), .pathParameter("attribute", names),
      ],
      "get": operation,
    ]
  }

  // MARK: Saving

  private static let saveProblems = [403, 409, 412, 413, 415, 422, 507]

  private func insert(_ index: Int) -> JSONNode {
    operation(
      "insert", entity: index, summary: "Insert a \(model.entities[index].name)",
      parameters: ["int64", "prefer", "idempotencyKey"], body: .schema("\(names[index])Insert"),
      responses: [
        "201": .response(
          "The new object", .schema(names[index]), headers: ["Location", "ETag"])
      ] + problems(Self.saveProblems))
  }

  private func change(_ index: Int, _ verb: String) -> JSONNode {
    let schema = JSONNode.schema(names[index])
    let isReplace = verb == "replace"
    var responses: JSONNode = ["200": .response("The object", schema, headers: ["ETag"])]
    if isReplace {
      responses += ["201": .response("The new object", schema, headers: ["Location", "ETag"])]
    }
    responses += ["204": .empty("Saved, and nothing is shown of it")]
    return operation(
      verb, entity: index,
      summary: "\(isReplace ? "Replace or insert" : "Change") a \(model.entities[index].name)",
      parameters: ["int64", "ifMatch", "ifNoneMatch", "prefer", "idempotencyKey"],
      body: .schema("\(names[index])\(isReplace ? "Insert" : "Update")"),
      responses: responses + problems(Self.saveProblems))
  }

  private func delete(_ index: Int) -> JSONNode {
    operation(
      "delete", entity: index, summary: "Delete a \(model.entities[index].name)",
      parameters: ["ifMatch", "idempotencyKey"],
      responses: ["204": .empty("Deleted")] + problems([403, 409, 412, 422, 507]))
  }

  private func batchUpdate(_ index: Int) -> JSONNode {
    operation(
      "updateEach", entity: index,
      summary: "Change every \(model.entities[index].name) that matches",
      parameters: ["batchWhere", "arg", "prefer", "idempotencyKey"],
      body: .schema("\(names[index])Update"),
      responses: ["200": .response("How many", .schema("BatchUpdate"))]
        + problems(Self.saveProblems + [504]))
  }

  private func batchDelete(_ index: Int) -> JSONNode {
    operation(
      "deleteEach", entity: index,
      summary: "Delete every \(model.entities[index].name) that matches",
      parameters: ["batchWhere", "arg", "prefer", "idempotencyKey"],
      responses: ["200": .response("How many", .schema("BatchDelete"))]
        + problems([403, 409, 422, 504, 507]))
  }
}
