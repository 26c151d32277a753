// The schemas that do not depend on the model: tokens, ids, diffs, saves, problems.

import FetchModel

extension OpenAPIDocument {
  static let sharedSchemas: JSONNode =
    basicSchemas + snapshotSchemas + saveSchemas + problemSchemas

  private static let basicSchemas: JSONNode = [
    "Token": ["type": "string", "description": "A position in the store's history; opaque."],
    "ID": ["type": ["integer", "string"], "description": "The permanent id of an object."],
    "Position": [
      "type": "array", "items": ["type": "integer", "minimum": 0], "minItems": 2, "maxItems": 2,
      "description": "`[section, item]`",
    ],
    "Model": .object(
      ["entities": .array(["type": "object"]), "fetchTemplates": .array(["type": "object"])],
      required: ["entities", "fetchTemplates"]),
    "About": .object(
      [
        "name": .string, "version": .string, "store": .string, "database": .string,
        "readOnly": .boolean, "sample": .boolean,
        "token": .schema("Token"), "links": ["type": "object", "additionalProperties": .string],
      ], required: ["name", "version", "store", "readOnly", "token", "links"]),
    "Health": ["type": "object", "properties": ["status": .string]],
  ]

  private static let snapshotSchemas: JSONNode = [
    "SectionInfo": .object(
      ["name": .string, "value": [:], "indexTitle": .string], required: ["name", "value"]),
    "SectionChange": [
      "allOf": [
        .schema("SectionInfo"),
        .object(["index": ["type": "integer", "minimum": 0]], required: ["index"]),
      ]
    ],
    "Included": [
      "type": "object", "description": "By entity, by id.",
      "additionalProperties": [
        "type": "object", "additionalProperties": ["type": "object"],
      ],
    ],
    "Count": .object(
      [
        "entity": .string, "token": .schema("Token"), "from": .schema("Token"),
        "to": .schema("Token"), "total": .integer,
      ], required: ["entity", "total"]),
    "Changed": .object(
      [
        "from": .schema("Position"), "to": .schema("Position"), "id": .schema("ID"),
        "changed": ["type": "object"],
      ], required: ["from", "to", "id"]),
    "Deleted": .object(
      ["from": .schema("Position"), "id": .schema("ID")], required: ["from", "id"]),
    "Dictionary": ["type": "object", "description": "With `as=dictionaries`: values by name."],
    "Reset": .object(
      [
        "entity": .string, "from": .schema("Token"), "to": .schema("Token"),
        "reset": ["const": true], "count": .integer,
        "sections": .array([
          "allOf": [
            .schema("SectionInfo"),
            .object(["items": .array(.schema("Dictionary"))], required: ["items"]),
          ]
        ]),
      ], required: ["entity", "from", "to", "reset", "count", "sections"]),
    "Unchanged": .object(
      ["entity": .string, "from": .schema("Token"), "to": .schema("Token")],
      required: ["entity", "from", "to"])
      + [
        "additionalProperties": false,
        "description": "The diff of dictionaries of which none changed.",
      ],
    "ObjectDiff": .object(
      [
        "id": .schema("ID"), "from": .schema("Token"), "to": .schema("Token"),
        "changed": ["type": "object"], "deleted": ["const": true],
      ], required: ["id", "from", "to"]),
    "FetchBody": [
      "type": "object", "required": ["entity"], "additionalProperties": false,
      "properties": fetchBodyProperties,
    ],
    "LiveBody": .object(
      [
        "fetches": ["type": "object", "additionalProperties": .schema("FetchBody")],
        "wait": ["type": "number", "minimum": 0, "maximum": 60],
      ], required: ["fetches"]),
    "LiveAnswer": .object(
      [
        "token": .schema("Token"),
        "results": ["type": "object", "additionalProperties": ["type": "object"]],
      ], required: ["token", "results"]),
  ]

  /// The parameters under the same names; lists are arrays here, or the query's comma lists.
  private static var fetchBodyProperties: JSONNode {
    let list: JSONNode = ["type": ["array", "string"], "items": .string]
    let lists = ["sort", "select", "expand", "group"]
    let shared = fetchParameters.filter { $0.name != "arg" }.map { parameter in
      (parameter.name, lists.contains(parameter.name) ? list : parameter.schema)
    }
    return ["entity": .string] + JSONNode(members: shared) + [
      "arguments": .array([:]), "variables": ["type": "object"],
    ]
  }

  private static let saveSchemas: JSONNode = [
    "SaveAnswer": .object(
      [
        "token": .schema("Token"),
        "ids": ["type": "object", "additionalProperties": .schema("ID")], "inserted": .integer,
        "updated": .integer, "deleted": .integer, "included": .schema("Included"),
      ], required: ["token", "ids", "inserted", "updated", "deleted"]),
    "BatchUpdate": batch("updated"),
    "BatchDelete": batch("deleted"),
    "Delete": .object(
      ["delete": .string, "id": .schema("ID"), "ifMatch": .string, "base": ["type": "object"]],
      required: ["delete", "id"]),
    "DeleteAll": .object(
      [
        "delete": .string, "where": .string, "arguments": ["type": "array"],
        "variables": ["type": "object"],
      ], required: ["delete", "where"]),
    "TemporaryID": [
      "type": "object", "required": ["temporaryID"], "additionalProperties": false,
      "properties": ["temporaryID": .string],
    ],
    "Reference": ["anyOf": [.schema("ID"), .schema("TemporaryID")]],
    "References": [
      "anyOf": [
        .array(.schema("Reference")),
        [
          "type": "object", "additionalProperties": false,
          "properties": [
            "add": .array(.schema("Reference")),
            "remove": .array(.schema("Reference")),
          ],
        ],
      ]
    ],
    "History": .object(
      ["from": .schema("Token"), "to": .schema("Token"), "saves": .array(.schema("SaveRecord"))],
      required: ["from", "to", "saves"]),
    "SaveRecord": .object(
      [
        "token": .schema("Token"), "at": ["type": "string", "format": "date-time"], "inserted": ids,
        "updated": updates, "deleted": ids,
      ], required: ["token", "at", "inserted", "updated", "deleted"]),
  ]

  private static let ids: JSONNode = [
    "type": "object", "description": "Ids by entity.",
    "additionalProperties": .array(.schema("ID")),
  ]

  private static let updates: JSONNode = [
    "type": "object", "description": "By entity.",
    "additionalProperties": .array(
      .object(
        ["id": .schema("ID"), "properties": .array(.string)], required: ["id", "properties"])),
  ]

  private static func batch(_ name: String) -> JSONNode {
    .object(["token": .schema("Token"), name: .integer], required: ["token", "\(name)"])
  }
}
