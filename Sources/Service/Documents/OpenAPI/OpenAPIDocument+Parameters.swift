// The parameters and headers of the document.

import FetchModel

extension OpenAPIDocument {
  /// The parameters of a fetch, by the names of ``FetchRequest/parameterNames``.
  static let fetchParameters: [(name: String, schema: JSONNode, meaning: String)] = [
    ("where", .string, "A predicate in NSPredicate's format language."),
    (
      "arg", .array(.string),
      "Values for `%@ %K %ld …`, in order; repeated."
    ),
    ("sort", .string, "Comma list of key paths: `-population,name:cd`."),
    (
      "section", .string,
      "A key path that groups, or one with `:initial`, `:day`, `:month`, `:year`."
    ),
    ("limit", count, "The maximum number of items; the window stays exact while it is live."),
    ("offset", count, "How many items to pass over."),
    ("after", .string, "The `next` cursor of an earlier snapshot."),
    ("select", .string, "Comma list of what an item holds."),
    ("expand", .string, "Comma list of relationships whose objects are sent along."),
    (
      "as", ["type": "string", "enum": JSONNode(ResultShape.allCases.map(\.rawValue))],
      "The shape of the result."
    ),
    (
      "group", .string,
      "With `as=dictionaries`: comma list of key paths, or parts like `date:month`."
    ),
    ("having", .string, "With `as=dictionaries`: a predicate over the groups."),
    ("distinct", .boolean, "With `as=dictionaries`: each dictionary once."),
    ("count", ["const": "exact"], "Adds `total`, how many match without the window."),
    ("subentities", .boolean, "Whether objects of subentities are included."),
    ("digest", .boolean, "Adds a digest of the order, to check a diff by."),
    ("int64", ["const": "string"], "Integers beyond ±2^53 as strings."),
    (
      "since", .string,
      "A token, or `now`: answer with the diff from there, waiting for one."
    ),
    (
      "wait", ["type": "number", "minimum": 0, "maximum": 60],
      "Seconds to wait where nothing has changed since."
    ),
    ("explain", .boolean, "The plan instead of the result, where the server allows it."),
  ]

  private static let count: JSONNode = [
    "type": "integer", "minimum": 0, "maximum": 2_147_483_647,
  ]

  static let parameters: JSONNode =
    JSONNode(
      members: fetchParameters.map { ($0.name, parameter($0.name, $0.schema, $0.meaning)) })
    + otherParameters

  private static func parameter(
    _ name: String, _ schema: JSONNode, _ meaning: String, in place: String = "query"
  ) -> JSONNode {
    ["name": "\(name)", "in": "\(place)", "description": "\(meaning)", "schema": schema]
  }

  private static let otherParameters: JSONNode = [
    "batchWhere": parameter("where", .string, "Which objects; `TRUEPREDICATE` for all.")
      + ["required": true],
    "saves": parameter(
      "limit", ["type": "integer", "minimum": 1, "maximum": 1000], "The maximum number of saves."),
    "ifMatch": parameter(
      "If-Match", .string, "The ETag that the object has to have.", in: "header"),
    "ifNoneMatch": parameter(
      "If-None-Match", .string,
      "An ETag that the client has (304), or `*` for an object that must not be there.",
      in: "header"),
    "prefer": parameter(
      "Prefer", .string,
      "`return=minimal`, `return=representation`, `max-affected=N`, `handling=strict`.",
      in: "header"),
    "lastEventID": parameter(
      "Last-Event-ID", .string, "The id of the last received event; the stream continues after it.",
      in: "header"),
    "idempotencyKey": parameter(
      "Idempotency-Key", .string,
      "The same key with the same body is answered as the first time.", in: "header"),
  ]

  static let headers: JSONNode = [
    "LiveFetch-Token": [
      "description": "The token in the body; without one, the newest position of the history.",
      "schema": .schema("Token"),
    ],
    "ETag": [
      "description": "Changes exactly when the body does.", "schema": .string,
    ],
    "Location": ["description": "The path of the new object.", "schema": .string],
    "Allow": ["description": "The methods of the path.", "schema": .string],
    "Retry-After": [
      "description": "Seconds after which to try again.", "schema": .integer,
    ],
    "WWW-Authenticate": [
      "description": "How to authenticate.", "schema": .string,
    ],
  ]

  static var allFetchParameters: [String] { fetchParameters.map(\.name) }
}
