// Model → `/openapi.json`: the API for this model, as OpenAPI 3.1.
//
// Promises: every entity has paths and schemas of its own, so that a generator makes types of them;
// parts that are the same for all entities are once under `components`.

import FetchModel

/// The document of one served model.
struct OpenAPIDocument {
  let model: Model
  let version: String
  /// True if requests need a bearer token.
  let isProtected: Bool
  let isReadOnly: Bool
  /// For each entity the name of its schema: its own name, without the characters that are not allowed
  /// in a component's name. Also the ends of the ids of its operations.
  let names: [String]
  private static let schemaEnds = ["", "Insert", "Update", "Snapshot", "Diff"]
  private static let verbs = [
    "fetch", "get", "value", "insert", "update", "replace", "delete", "updateEach", "deleteEach",
  ]

  init(model: Model, version: String, isProtected: Bool, isReadOnly: Bool) {
    self.model = model
    self.version = version
    self.isProtected = isProtected
    self.isReadOnly = isReadOnly
    var schemas = Set(Self.sharedSchemas.members.map(\.name))
    var operations: Set = ["fetchTemplate"]
    names = model.entities.map { entity in
      var name = String(entity.name.unicodeScalars.map { Self.isPlain($0) ? Character($0) : "_" })
      while Self.schemaEnds.contains(where: { schemas.contains(name + $0) })
        || Self.verbs.contains(where: { operations.contains($0 + name) })
      { name += "_" }
      for end in Self.schemaEnds { schemas.insert(name + end) }
      for verb in Self.verbs { operations.insert(verb + name) }
      return name
    }
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
      || scalar == "_" || scalar == "-"
  }

  /// The document's bytes. O(n) in the model.
  var bytes: [UInt8] { node.bytes }

  private var node: JSONNode {
    var members: JSONNode = [
      "openapi": "3.1.0",
      "info": info,
      "servers": [["url": "/"]],
      "tags": tags,
      "paths": sharedPaths + JSONNode.merging(model.entities.indices.map(paths)),
      "components": components,
    ]
    if isProtected { members += ["security": [["bearer": []]]] }
    return members
  }

  private var info: JSONNode {
    [
      "title": "LiveFetch", "version": "\(version)",
      "license": ["name": "MIT", "identifier": "MIT"],
      "description": """
      Live, sorted, sectioned fetches over a database. A fetch is answered with a snapshot; with \
      `since` it waits and answers with the diff that leads from there to what is true now; with \
      `Accept: text/event-stream` it streams. A parameter `var.NAME` gives the value of `$NAME` \
      in a predicate.
      """,
    ]
  }

  private var tags: JSONNode {
    var tags: [JSONNode] = [
      ["name": "server", "description": "What the server says of itself"],
      ["name": "fetches", "description": "Fetches of any entity"],
      ["name": "saves", "description": "Changes, and the history of them"],
    ]
    tags += model.entities.map { entity in
      ["name": "\(tag(entity))", "description": "Objects of \(entity.name)"]
    }
    return JSONNode(tags)
  }

  func tag(_ entity: Entity) -> String { "entity \(entity.name)" }

  private var components: JSONNode {
    var members: JSONNode = [
      "schemas": Self.sharedSchemas + JSONNode.merging(model.entities.indices.map(schemas)),
      "parameters": Self.parameters,
      "headers": Self.headers,
      "responses": problemResponses,
    ]
    if isProtected {
      members += ["securitySchemes": ["bearer": ["type": "http", "scheme": "bearer"]]]
    }
    return members
  }
}
