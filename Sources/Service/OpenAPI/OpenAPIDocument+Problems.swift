// The schemas and answers of problems, from the catalogue of codes.

import FetchModel

extension OpenAPIDocument {
  static let problemSchemas: [(String, OpenAPINode)] = [
    (
      "ProblemCode",
      [
        "type": "string",
        "enum": OpenAPINode(unique(ProblemCatalogue.entries.map(\.code))),
      ]
    ),
    (
      "ChangeProblem",
      [
        "type": "object", "required": ["change", "code", "detail"],
        "properties": [
          "change": ["type": "integer", "description": "The index of the change."],
          "property": ["type": "string"],
          "code": [
            "type": "string", "enum": OpenAPINode(ChangeProblem.Code.allCases.map(\.rawValue)),
          ],
          "detail": ["type": "string"], "hint": ["type": "string"],
          "stored": ["description": "What the store holds."],
          "given": ["description": "What the save wanted."],
        ],
      ]
    ),
    (
      "Problem",
      [
        "type": "object", "description": "RFC 9457.",
        "required": ["type", "title", "status", "detail", "code"],
        "properties": [
          "type": ["type": "string"], "title": ["type": "string"],
          "status": ["type": "integer"], "detail": ["type": "string"],
          "code": .schema("ProblemCode"),
          "offset": ["type": "integer", "description": "The byte at which it went wrong."],
          "hint": ["type": "string", "description": "What may have been meant."],
          "found": ["type": "string"], "expected": ["type": "string"],
          "errors": ["type": "array", "items": .schema("ChangeProblem")],
        ],
      ]
    ),
  ]

  private static func unique(_ codes: [String]) -> [String] {
    var seen: Set<String> = []
    return codes.filter { seen.insert($0).inserted }
  }

  /// One answer for each status, its description naming the codes.
  var problemResponses: OpenAPINode {
    OpenAPINode(
      members: ProblemCatalogue.statuses.map { status in
        let codes = ProblemCatalogue.codes(of: status)
        let list = codes.map { "- `\($0.code)`: \($0.meaning)" }.joined(separator: "\n")
        return (
          "Problem\(status)",
          [
            "description": "\(list)", "headers": Self.problemHeaders(status),
            "content": [
              "application/problem+json": [
                "schema": [
                  "allOf": [
                    .schema("Problem"),
                    [
                      "type": "object",
                      "properties": [
                        "status": ["const": OpenAPINode(.number(String(status)))],
                        "code": ["enum": OpenAPINode(codes.map(\.code))],
                      ],
                    ],
                  ]
                ]
              ]
            ],
          ]
        )
      })
  }

  private static func problemHeaders(_ status: Int) -> OpenAPINode {
    var headers: [(String, OpenAPINode)] = [
      ("LiveFetch-Token", .ref("headers", "LiveFetch-Token"))
    ]
    switch status {
    case 401: headers.append(("WWW-Authenticate", .ref("headers", "WWW-Authenticate")))
    case 405: headers.append(("Allow", .ref("headers", "Allow")))
    case 429, 503: headers.append(("Retry-After", .ref("headers", "Retry-After")))
    default: break
    }
    return OpenAPINode(members: headers)
  }

  /// The problems that every request can meet, and `more`.
  func problems(_ more: [Int] = []) -> [(String, OpenAPINode)] {
    let common = [400, 404, 405, 431, 500, 503, 505] + (isProtected ? [401, 403] : [])
    return Set(common + more).sorted().map { ("\($0)", .ref("responses", "Problem\($0)")) }
  }
}
