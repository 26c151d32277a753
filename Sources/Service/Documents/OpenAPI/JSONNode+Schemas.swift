// Schemas and references, as OpenAPI 3.1 writes them.

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
}
