// The schemas that do not depend on the model: tokens, ids, diffs, saves, problems.

import FetchModel

extension OpenAPIDocument {
  static let sharedSchemas: [(String, OpenAPINode)] =
    basicSchemas + snapshotSchemas + saveSchemas + problemSchemas

  private static let basicSchemas: [(String, OpenAPINode)] = [
    (
      "Token",
      ["type": "string", "description": "A moment in the store's history; opaque."]
    ),
    ("ID", ["type": ["integer", "string"], "description": "The permanent id of an object."]),
    (
      "Position",
      [
        "type": "array", "items": ["type": "integer", "minimum": 0], "minItems": 2, "maxItems": 2,
        "description": "`[section, item]`",
      ]
    ),
    (
      "Model",
      [
        "type": "object", "required": ["entities", "fetchTemplates"],
        "properties": [
          "entities": ["type": "array", "items": ["type": "object"]],
          "fetchTemplates": ["type": "array", "items": ["type": "object"]],
        ],
      ]
    ),
    (
      "About",
      [
        "type": "object", "required": ["name", "version", "store", "readOnly", "token", "links"],
        "properties": [
          "name": ["type": "string"], "version": ["type": "string"], "store": ["type": "string"],
          "readOnly": ["type": "boolean"], "token": .schema("Token"),
          "links": ["type": "object", "additionalProperties": ["type": "string"]],
        ],
      ]
    ),
    ("Health", ["type": "object", "properties": ["status": ["type": "string"]]]),
  ]

  private static let snapshotSchemas: [(String, OpenAPINode)] = [
    (
      "SectionInfo",
      [
        "type": "object", "required": ["name", "value"],
        "properties": [
          "name": ["type": "string"], "value": [:], "indexTitle": ["type": "string"],
        ],
      ]
    ),
    (
      "SectionChange",
      [
        "allOf": [
          .schema("SectionInfo"),
          [
            "type": "object", "required": ["index"],
            "properties": ["index": ["type": "integer", "minimum": 0]],
          ],
        ]
      ]
    ),
    (
      "Included",
      [
        "type": "object", "description": "By entity, by id.",
        "additionalProperties": [
          "type": "object", "additionalProperties": ["type": "object"],
        ],
      ]
    ),
    (
      "Count",
      [
        "type": "object", "required": ["entity", "total"],
        "properties": [
          "entity": ["type": "string"], "token": .schema("Token"), "from": .schema("Token"),
          "to": .schema("Token"), "total": ["type": "integer"],
        ],
      ]
    ),
    (
      "Changed",
      [
        "type": "object", "required": ["from", "to", "id"],
        "properties": [
          "from": .schema("Position"), "to": .schema("Position"), "id": .schema("ID"),
          "changed": ["type": "object"],
        ],
      ]
    ),
    (
      "Deleted",
      [
        "type": "object", "required": ["from", "id"],
        "properties": ["from": .schema("Position"), "id": .schema("ID")],
      ]
    ),
    (
      "ObjectDiff",
      [
        "type": "object", "required": ["id", "from", "to"],
        "properties": [
          "id": .schema("ID"), "from": .schema("Token"), "to": .schema("Token"),
          "changed": ["type": "object"], "deleted": ["const": true],
        ],
      ]
    ),
    (
      "FetchBody",
      OpenAPINode(members: [
        ("type", "object"), ("required", ["entity"]), ("additionalProperties", false),
        ("properties", OpenAPINode(members: fetchBodyProperties)),
      ])
    ),
    (
      "LiveBody",
      [
        "type": "object", "required": ["fetches"],
        "properties": [
          "fetches": ["type": "object", "additionalProperties": .schema("FetchBody")],
          "wait": ["type": "number", "minimum": 0, "maximum": 60],
        ],
      ]
    ),
    (
      "LiveAnswer",
      [
        "type": "object", "required": ["token", "results"],
        "properties": [
          "token": .schema("Token"),
          "results": ["type": "object", "additionalProperties": ["type": "object"]],
        ],
      ]
    ),
  ]

  /// The parameters under the same names; lists are arrays here, or the query's comma lists.
  private static var fetchBodyProperties: [(String, OpenAPINode)] {
    let list: OpenAPINode = ["type": ["array", "string"], "items": ["type": "string"]]
    let lists = ["sort", "select", "expand", "group"]
    let shared = fetchParameters.filter { $0.name != "arg" }.map { parameter in
      (parameter.name, lists.contains(parameter.name) ? list : parameter.schema)
    }
    return [("entity", ["type": "string"])] + shared + [
      ("arguments", ["type": "array", "items": [:]]), ("variables", ["type": "object"]),
    ]
  }

  private static let saveSchemas: [(String, OpenAPINode)] = [
    (
      "SaveAnswer",
      [
        "type": "object", "required": ["token", "ids", "inserted", "updated", "deleted"],
        "properties": [
          "token": .schema("Token"),
          "ids": ["type": "object", "additionalProperties": .schema("ID")],
          "inserted": ["type": "integer"], "updated": ["type": "integer"],
          "deleted": ["type": "integer"], "included": .schema("Included"),
        ],
      ]
    ),
    ("BatchUpdate", batch("updated")),
    ("BatchDelete", batch("deleted")),
    (
      "Delete",
      [
        "type": "object", "required": ["delete", "id"],
        "properties": [
          "delete": ["type": "string"], "id": .schema("ID"), "ifMatch": ["type": "string"],
          "base": ["type": "object"],
        ],
      ]
    ),
    (
      "DeleteAll",
      [
        "type": "object", "required": ["delete", "where"],
        "properties": [
          "delete": ["type": "string"], "where": ["type": "string"],
          "arguments": ["type": "array"], "variables": ["type": "object"],
        ],
      ]
    ),
    (
      "TemporaryID",
      [
        "type": "object", "required": ["temporaryID"], "additionalProperties": false,
        "properties": ["temporaryID": ["type": "string"]],
      ]
    ),
    ("Reference", ["anyOf": [.schema("ID"), .schema("TemporaryID")]]),
    (
      "References",
      [
        "anyOf": [
          ["type": "array", "items": .schema("Reference")],
          [
            "type": "object", "additionalProperties": false,
            "properties": [
              "add": ["type": "array", "items": .schema("Reference")],
              "remove": ["type": "array", "items": .schema("Reference")],
            ],
          ],
        ]
      ]
    ),
    (
      "History",
      [
        "type": "object", "required": ["from", "to", "saves"],
        "properties": [
          "from": .schema("Token"), "to": .schema("Token"),
          "saves": ["type": "array", "items": .schema("SaveRecord")],
        ],
      ]
    ),
    (
      "SaveRecord",
      [
        "type": "object", "required": ["token", "at", "inserted", "updated", "deleted"],
        "properties": [
          "token": .schema("Token"), "at": ["type": "string", "format": "date-time"],
          "inserted": ids, "updated": updates, "deleted": ids,
        ],
      ]
    ),
  ]

  private static let ids: OpenAPINode = [
    "type": "object", "description": "Ids by entity.",
    "additionalProperties": ["type": "array", "items": .schema("ID")],
  ]

  private static let updates: OpenAPINode = [
    "type": "object", "description": "By entity.",
    "additionalProperties": [
      "type": "array",
      "items": [
        "type": "object", "required": ["id", "properties"],
        "properties": [
          "id": .schema("ID"),
          "properties": ["type": "array", "items": ["type": "string"]],
        ],
      ],
    ],
  ]

  private static func batch(_ name: String) -> OpenAPINode {
    [
      "type": "object", "required": ["token", "\(name)"],
      "properties": OpenAPINode(members: [
        ("token", .schema("Token")), (name, ["type": "integer"]),
      ]),
    ]
  }
}
