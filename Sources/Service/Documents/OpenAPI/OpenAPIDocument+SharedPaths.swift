// The paths that every model has.

import FetchModel

extension OpenAPIDocument {
  var sharedPaths: JSONNode { serverPaths + fetchPaths + savePaths }

  private var serverPaths: JSONNode {
    [
      "/": text("page", "The web page, where the server has one", type: "text/html"),
      "/v1": plain("about", "Name, version, store, newest token, links", .schema("About")),
      "/v1/model": plain("model", "The model", .schema("Model")),
      "/openapi.json": plain("openapi", "This document", ["type": "object"]),
      "/health/live": plain("live", "Whether the process runs", .schema("Health")),
      "/health/ready": plain(
        "ready", "Whether the store can be read, written and followed", .schema("Health")),
      "/metrics": text("metrics", "Prometheus' text format", type: "text/plain"),
    ]
  }

  private func plain(_ id: String, _ summary: String, _ schema: JSONNode) -> JSONNode {
    let responses: JSONNode = ["200": .response(summary, schema)]
    return [
      "get": .operation(id, tag: "server", summary: summary, responses: responses + problems())
    ]
  }

  private func text(_ id: String, _ summary: String, type: String) -> JSONNode {
    let responses: JSONNode = [
      "200": ["description": "\(summary)", "content": [type: ["schema": .string]]]
    ]
    return [
      "get": .operation(
        id, tag: "server", summary: summary, responses: responses + problems([501]))
    ]
  }

  // MARK: Fetches

  private var fetchPaths: JSONNode {
    let any: JSONNode = ["type": "object", "description": "A snapshot, or a diff."]
    let fetched = JSONNode.response(
      "A snapshot or a diff", any, streams: true, headers: ["ETag"])
    let answers = JSONNode.response(
      "What has something to say", .schema("LiveAnswer"), streams: true)
    return [
      "/v1/fetch": [
        "post": .operation(
          "fetch", tag: "fetches", summary: "A fetch of any entity, its request as the body",
          parameters: ["lastEventID"], body: .schema("FetchBody"),
          responses: ["200": fetched] + problems([403, 410, 413, 415, 501, 504]))
      ],
      "/v1/live": [
        "post": .operation(
          "liveFetches", tag: "fetches", summary: "Many fetches at once",
          parameters: ["lastEventID"], body: .schema("LiveBody"),
          responses: ["200": answers] + problems([403, 410, 413, 415, 501, 504]))
      ],
      "/v1/fetches/{name}": [
        "get": .operation(
          "fetchTemplate", tag: "fetches", summary: "A fetch template of the model",
          parameters: Self.allFetchParameters + ["ifNoneMatch"],
          responses: ["200": fetched, "304": Self.notModified] + problems([403, 410, 501, 504])),
        "parameters": [.pathParameter("name", .string)],
      ],
    ]
  }

  static let notModified = JSONNode.empty("Not modified", headers: ["ETag"])

  // MARK: Saves

  private var savePaths: JSONNode {
    let policies = JSONNode(MergePolicy.allCases.map(\.rawValue))
    let body: JSONNode = [
      "type": "object", "required": ["changes"], "additionalProperties": false,
      "properties": [
        "changes": .array(changeSchema), "mergePolicy": ["type": "string", "enum": policies],
      ],
    ]
    let saves = JSONNode.response("Saves, oldest first", .schema("History"), streams: true)
    return [
      "/v1/save": [
        "post": .operation(
          "save", tag: "saves", summary: "Many changes as one transaction",
          parameters: ["int64", "prefer", "idempotencyKey"], body: body,
          responses: ["200": .response("What was saved", .schema("SaveAnswer"))]
            + problems([403, 409, 412, 413, 415, 422, 507]))
      ],
      "/v1/changes": [
        "get": .operation(
          "changes", tag: "saves", summary: "The history of saves",
          parameters: ["since", "wait", "saves", "int64", "lastEventID"],
          responses: ["200": saves] + problems([410, 504]))
      ],
    ]
  }
}
