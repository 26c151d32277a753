// Path and method → the operation that a request asks for.
//
// Enters: the raw path and the method. Leaves: a route. Promises: each path segment is decoded once;
// the table in `Route.init` is the only place that pairs paths and methods.

import Bytes
import FetchModel

/// A path that the API knows.
enum Resource: Hashable {
  case about, model, openAPI, liveness, readiness, metrics
  case objects(entity: String)
  case object(entity: String, id: String)
  case value(entity: String, id: String, attribute: String)
  case fetch, fetchGroup, save, changes
  case template(name: String)
  /// Any path that is not listed above: a file of the public directory.
  case file

  /// - Throws: 404 for an unknown path below `/v1`, 400 for a malformed escape.
  init(path: Substring) throws(Problem) {
    guard !path.utf8.starts(with: "/v1/".utf8) else {
      try self.init(segments: Self.segments(of: path.utf8.dropFirst(4)))
      return
    }
    switch path {
    case "/v1": self = .about
    case "/openapi.json": self = .openAPI
    case "/health/live": self = .liveness
    case "/health/ready": self = .readiness
    case "/metrics": self = .metrics
    default: self = .file
    }
  }

  private init(segments: [String]) throws(Problem) {
    switch (segments[0], segments.count) {
    case ("objects", 2): self = .objects(entity: segments[1])
    case ("objects", 3): self = .object(entity: segments[1], id: segments[2])
    case ("objects", 4):
      self = .value(entity: segments[1], id: segments[2], attribute: segments[3])
    case ("model", 1): self = .model
    case ("fetch", 1): self = .fetch
    case ("live", 1): self = .fetchGroup
    case ("save", 1): self = .save
    case ("changes", 1): self = .changes
    case ("fetches", 2): self = .template(name: segments[1])
    default: throw .noSuchPath
    }
  }

  /// Returns at least one segment.
  private static func segments(of path: Substring.UTF8View) throws(Problem) -> [String] {
    var segments: [String] = []
    segments.reserveCapacity(4)
    var rest: Substring.UTF8View? = path
    while let current = rest {
      let slash = current.firstIndex(of: UInt8(ascii: "/"))
      let part = current[..<(slash ?? current.endIndex)]
      rest = slash.map { current[current.index(after: $0)...] }
      guard let segment = PercentEncoding.decode(part, plus: .itself) else {
        throw .badRequest("malformed-encoding", "The path is not percent-encoded UTF-8.")
      }
      // An id may be the empty text.
      guard !segment.isEmpty || (segments.count == 2 && segments[0] == "objects") else {
        throw .noSuchPath
      }
      segments.append(segment)
    }
    return segments
  }

  /// The methods that the path takes, in the order of `Allow`.
  var allowedMethods: [String] {
    ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"]
      .filter { Route(self, method: $0) != nil }
  }

  /// The entity that the path names.
  var entity: String? {
    switch self {
    case .objects(let entity), .object(let entity, _), .value(let entity, _, _): entity
    default: nil
    }
  }
}

/// The operation that a request asks for.
enum Route: Hashable {
  /// The request was not routed, or its path is unknown.
  case unrouted
  case about, model, openAPI, liveness, readiness, metrics, file
  case options(Resource)
  /// `GET /v1/objects/{Entity}`
  case fetch(entity: String)
  /// `POST /v1/fetch`
  case postedFetch
  case template(name: String)
  case object(entity: String, id: String)
  case value(entity: String, id: String, attribute: String)
  /// `POST /v1/live`
  case fetchGroup
  case changes
  /// `POST /v1/save`
  case save
  case insert(entity: String)
  case change(ChangeDraft.Kind, entity: String, id: String)
  case batchUpdate(entity: String)
  case batchDelete(entity: String)

  /// Returns nil if the resource does not take the method.
  init?(_ resource: Resource, method: String) {
    switch (resource, method == "HEAD" ? "GET" : method) {
    case (.objects(let entity), "GET"): self = .fetch(entity: entity)
    case (_, "OPTIONS"): self = .options(resource)
    case (.object(let entity, let id), "GET"): self = .object(entity: entity, id: id)
    case (.value(let entity, let id, let name), "GET"):
      self = .value(entity: entity, id: id, attribute: name)
    case (.objects(let entity), "POST"): self = .insert(entity: entity)
    case (.objects(let entity), "PATCH"): self = .batchUpdate(entity: entity)
    case (.objects(let entity), "DELETE"): self = .batchDelete(entity: entity)
    case (.object(let entity, let id), "PATCH"): self = .change(.update, entity: entity, id: id)
    case (.object(let entity, let id), "PUT"): self = .change(.replace, entity: entity, id: id)
    case (.object(let entity, let id), "DELETE"): self = .change(.delete, entity: entity, id: id)
    case (.fetch, "POST"): self = .postedFetch
    case (.fetchGroup, "POST"): self = .fetchGroup
    case (.save, "POST"): self = .save
    case (.changes, "GET"): self = .changes
    case (.template(let name), "GET"): self = .template(name: name)
    case (.about, "GET"): self = .about
    case (.model, "GET"): self = .model
    case (.openAPI, "GET"): self = .openAPI
    case (.liveness, "GET"): self = .liveness
    case (.readiness, "GET"): self = .readiness
    case (.metrics, "GET"): self = .metrics
    case (.file, "GET"): self = .file
    default: return nil
    }
  }

  /// True if the request changes the store.
  var isSave: Bool {
    switch self {
    case .save, .insert, .change, .batchUpdate, .batchDelete: true
    default: false
    }
  }

  /// True if a response may be cached for further requests with the same target.
  var isCached: Bool {
    switch self {
    case .fetch, .template: true
    default: false
    }
  }

  /// The scope that the caller needs; nil if the route is open to everyone. Browsers send OPTIONS
  /// without a credential.
  var scope: Caller.Scopes? {
    switch self {
    case .unrouted, .liveness, .readiness, .file, .options: nil
    case .metrics: .admin
    default: isSave ? .write : .read
    }
  }

  /// The kind under which the metrics count the request.
  var kind: RequestKind {
    switch self {
    case .unrouted: .none
    case .about: .about
    case .model: .model
    case .openAPI: .openapi
    case .liveness, .readiness: .health
    case .metrics: .metrics
    case .file: .file
    case .options: .options
    case .fetch, .postedFetch, .template: .fetch
    case .object: .object
    case .value: .value
    case .fetchGroup: .live
    case .changes: .changes
    case .save: .save
    case .insert, .change: .write
    case .batchUpdate, .batchDelete: .batch
    }
  }
}
