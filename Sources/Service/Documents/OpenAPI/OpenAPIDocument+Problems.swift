// The catalog of codes → the schemas and responses of problems.

import FetchModel

extension OpenAPIDocument {
  static let problemSchemas: JSONNode = [
    "ProblemCode": [
      "type": "string",
      "enum": JSONNode(unique(ProblemCatalog.entries.map(\.code))),
    ],
    "ChangeProblem": .object(
      [
        "change": ["type": "integer", "description": "The index of the change."],
        "property": .string,
        "code": [
          "type": "string", "enum": JSONNode(ChangeProblem.Code.allCases.map(\.rawValue)),
        ], "detail": .string, "hint": .string, "stored": ["description": "What the store holds."],
        "given": ["description": "What the save wanted."],
      ], required: ["change", "code", "detail"]),
    "Problem": [
      "type": "object", "description": "RFC 9457.",
      "required": ["type", "title", "status", "detail", "code"],
      "properties": [
        "type": .string, "title": .string,
        "status": .integer, "detail": .string,
        "code": .schema("ProblemCode"),
        "offset": ["type": "integer", "description": "The byte at which it went wrong."],
        "hint": ["type": "string", "description": "What may have been meant."],
        "found": .string, "expected": .string,
        "requestID": ["type": "string", "description": "With status 500, its id in the log."],
        "errors": .array(.schema("ChangeProblem")),
      ],
    ],
  ]

  private static func unique(_ codes: [String]) -> [String] {
    var seen: Set<String> = []
    return codes.filter { seen.insert($0).inserted }
  }

  /// One response for each status; its description names the codes.
  var problemResponses: JSONNode {
    JSONNode(members: ProblemCatalog.statuses.map { ("Problem\($0)", problemResponse($0)) })
  }

  private func problemResponse(_ status: Int) -> JSONNode {
    let codes = ProblemCatalog.codes(of: status)
    let list = codes.map { "- `\($0.code)`: \($0.meaning)" }.joined(separator: "\n")
    let properties: JSONNode = [
      "status": ["const": JSONNode(.number(String(status)))],
      "code": ["enum": JSONNode(codes.map(\.code))],
    ]
    let schema: JSONNode = [
      "allOf": [.schema("Problem"), ["type": "object", "properties": properties]]
    ]
    return [
      "description": "\(list)", "headers": Self.problemHeaders(status),
      "content": ["application/problem+json": ["schema": schema]],
    ]
  }

  private static func problemHeaders(_ status: Int) -> JSONNode {
    var headers: JSONNode = [
      "LiveFetch-Token": .ref("headers", "LiveFetch-Token")
    ]
    switch status {
    case 401: headers += ["WWW-Authenticate": .ref("headers", "WWW-Authenticate")]
    case 405: headers += ["Allow": .ref("headers", "Allow")]
    case 429, 503: headers += ["Retry-After": .ref("headers", "Retry-After")]
    default: break
    }
    return headers
  }

  /// The problems of every request, and `more`.
  func problems(_ more: [Int] = []) -> JSONNode {
    let common =
      [400, 404, 405, 414, 421, 429, 431, 500, 503, 505] + (isProtected ? [401, 403] : [])
    return JSONNode(
      members: Set(common + more).sorted().map { ("\($0)", .ref("responses", "Problem\($0)")) })
  }
}
