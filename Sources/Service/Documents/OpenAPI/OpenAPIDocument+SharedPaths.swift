// The paths that every model has.

import FetchModel

/// One operation of a path.
struct OpenAPIOperation {
  let id: String
  let tag: String
  let summary: String
  var parameters: [String] = []
  /// The schema of the body; nil if the operation takes none.
  var body: JSONNode?
  var responses: JSONNode

  var node: JSONNode {
    var members: JSONNode = [
      "operationId": "\(id)", "tags": ["\(tag)"], "summary": "\(summary)",
    ]
    if !parameters.isEmpty { members += ["parameters": OpenAPIDocument.use(parameters)] }
    if let body {
      members += [
        "requestBody": ["required": true, "content": ["application/json": ["schema": body]]]
      ]
    }
    return members + ["responses": responses]
  }
}

extension OpenAPIDocument {
  /// A response with a JSON body.
  static func response(
    _ description: String, _ schema: JSONNode, streams: Bool = false, headers: [String] = []
  ) -> JSONNode {
    var content: JSONNode = ["application/json": ["schema": schema]]
    if streams { content += ["text/event-stream": ["schema": .string]] }
    return [
      "description": "\(description)", "headers": refs(["LiveFetch-Token"] + headers),
      "content": content,
    ]
  }

  static func empty(_ description: String, headers: [String] = []) -> JSONNode {
    ["description": "\(description)", "headers": refs(["LiveFetch-Token"] + headers)]
  }

  private static func refs(_ names: [String]) -> JSONNode {
    JSONNode(members: names.map { ($0, .ref("headers", $0)) })
  }

  var sharedPaths: JSONNode { serverPaths + fetchPaths + savePaths }

  private func get(_ operation: OpenAPIOperation) -> JSONNode { ["get": operation.node] }

  private func plain(
    _ id: String, summary: String, _ schema: JSONNode, more: [Int] = []
  ) -> JSONNode {
    get(
      OpenAPIOperation(
        id: id, tag: "server", summary: summary,
        responses: ["200": Self.response(summary, schema)] + problems(more)))
  }

  private var serverPaths: JSONNode {
    [
      "/": text("page", summary: "The web page, where the server has one", type: "text/html"),
      "/v1": plain("about", summary: "Name, version, store, newest token, links", .schema("About")),
      "/v1/model": plain("model", summary: "The model", .schema("Model")),
      "/openapi.json": plain("openapi", summary: "This document", ["type": "object"]),
      "/health/live": plain("live", summary: "Whether the process runs", .schema("Health")),
      "/health/ready": plain(
        "ready", summary: "Whether the store can be read, written and followed", .schema("Health"),
        more: [503]),
      "/metrics": text("metrics", summary: "Prometheus' text format", type: "text/plain"),
    ]
  }

  private func text(_ id: String, summary: String, type: String) -> JSONNode {
    let content = [type: ["schema": .string]] as JSONNode
    return get(
      OpenAPIOperation(
        id: id, tag: "server", summary: summary,
        responses: ["200": ["description": "\(summary)", "content": content]]
          + problems([501])))
  }

  // MARK: Fetches

  private var fetchPaths: JSONNode {
    let any: JSONNode = ["type": "object", "description": "A snapshot, or a diff."]
    return [
      "/v1/fetch": post(
        "fetch", tag: "fetches", summary: "A fetch of any entity, its request as the body",
        body: .schema("FetchBody"),
        response: Self.response("A snapshot or a diff", any, streams: true, headers: ["ETag"]),
        problems: problems([403, 410, 413, 415, 501, 504]), parameters: ["lastEventID"]),
      "/v1/live": post(
        "liveFetches", tag: "fetches", summary: "Many fetches at once", body: .schema("LiveBody"),
        response: Self.response("What has something to say", .schema("LiveAnswer"), streams: true),
        problems: problems([403, 410, 413, 415, 501, 504]), parameters: ["lastEventID"]),
      "/v1/fetches/{name}": get(
        OpenAPIOperation(
          id: "fetchTemplate", tag: "fetches", summary: "A fetch template of the model",
          parameters: Self.allFetchParameters + ["ifNoneMatch"],
          responses: [
            "200": Self.response("A snapshot or a diff", any, streams: true, headers: ["ETag"]),
            "304": Self.empty("Not modified", headers: ["ETag"]),
          ] + problems([403, 410, 501, 504]))
      ) + ["parameters": [Self.pathParameter("name", .string)]],
    ]
  }

  static func pathParameter(_ name: String, _ schema: JSONNode) -> JSONNode {
    ["name": "\(name)", "in": "path", "required": true, "schema": schema]
  }

  private func post(
    _ id: String, tag: String, summary: String, body: JSONNode, response: JSONNode,
    problems: JSONNode, parameters: [String]
  ) -> JSONNode {
    [
      "post": OpenAPIOperation(
        id: id, tag: tag, summary: summary, parameters: parameters, body: body,
        responses: ["200": response] + problems
      ).node
    ]
  }

  // MARK: Saves

  private var savePaths: JSONNode {
    let body: JSONNode = [
      "type": "object", "required": ["changes"], "additionalProperties": false,
      "properties": [
        "changes": .array(changeSchema),
        "mergePolicy": [
          "type": "string", "enum": JSONNode(MergePolicy.allCases.map(\.rawValue)),
        ],
      ],
    ]
    return [
      "/v1/save": post(
        "save", tag: "saves", summary: "Many changes as one transaction", body: body,
        response: Self.response("What was saved", .schema("SaveAnswer")),
        problems: problems([403, 409, 412, 413, 415, 422, 507]),
        parameters: ["int64", "prefer", "idempotencyKey"]),
      "/v1/changes": get(
        OpenAPIOperation(
          id: "changes", tag: "saves", summary: "The history of saves",
          parameters: ["since", "wait", "saves", "int64", "lastEventID"],
          responses: [
            "200": Self.response("Saves, oldest first", .schema("History"), streams: true)
          ] + problems([410, 504]))),
    ]
  }
}
