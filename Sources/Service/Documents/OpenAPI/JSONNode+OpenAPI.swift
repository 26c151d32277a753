// The parts of an OpenAPI document: schemas, references, operations, responses.

extension JSONNode {
  static let string: JSONNode = ["type": "string"]
  static let integer: JSONNode = ["type": "integer"]
  static let boolean: JSONNode = ["type": "boolean"]

  static func array(_ items: JSONNode) -> JSONNode { ["type": "array", "items": items] }

  /// The schema of an object.
  static func object(_ properties: JSONNode, required: JSONNode) -> JSONNode {
    ["type": "object", "required": required, "properties": properties]
  }

  /// The same schema for a value that may be nil.
  var orNull: JSONNode { ["anyOf": [self, ["type": "null"]]] }

  /// `{"$ref": "#/components/KIND/NAME"}`
  static func ref(_ kind: String, _ name: String) -> JSONNode {
    ["$ref": "#/components/\(kind)/\(name)"]
  }

  static func schema(_ name: String) -> JSONNode { ref("schemas", name) }

  /// One operation of a path.
  ///
  /// - Parameters:
  ///   - parameters: their names among the document's.
  ///   - body: its schema; nil if the operation takes none.
  static func operation(
    _ id: String, tag: String, summary: String, parameters: [String] = [], body: JSONNode? = nil,
    responses: JSONNode
  ) -> JSONNode {
    var members: JSONNode = [
      "operationId": "\(id)", "tags": ["\(tag)"], "summary": "\(summary)",
    ]
    if !parameters.isEmpty {
      members += ["parameters": JSONNode(parameters.map { .ref("parameters", $0) })]
    }
    if let body {
      members += [
        "requestBody": ["required": true, "content": ["application/json": ["schema": body]]]
      ]
    }
    return members + ["responses": responses]
  }

  static func pathParameter(_ name: String, _ schema: JSONNode) -> JSONNode {
    ["name": "\(name)", "in": "path", "required": true, "schema": schema]
  }

  /// A response with a JSON body.
  static func response(
    _ description: String, _ schema: JSONNode, streams: Bool = false, headers: [String] = []
  ) -> JSONNode {
    var content: JSONNode = ["application/json": ["schema": schema]]
    if streams { content += ["text/event-stream": ["schema": .string]] }
    return empty(description, headers: headers) + ["content": content]
  }

  /// A response without a body.
  static func empty(_ description: String, headers: [String] = []) -> JSONNode {
    let all = ["LiveFetch-Token"] + headers
    return [
      "description": "\(description)",
      "headers": JSONNode(members: all.map { ($0, .ref("headers", $0)) }),
    ]
  }
}
